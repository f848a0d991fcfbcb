"""What some paths leave open and others settle: small programs, and whether their one loss is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.report import Tally
from trainlint.report.resolution import as_text
from trainlint.resolve import Place, resolve

HEAD = """
import argparse
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

"""


def tally(folder: Path, **files: str) -> Tally:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return check(Request((str(folder),), str(folder), isolated=True)).judged["losses"]


def judged(folder: Path, lines: str, **files: str) -> str:
    """``flagged``, ``safe`` or ``open`` of the one loss of a program."""
    found = tally(folder, **{"train__py": HEAD + lines, **files})
    assert found.safe + found.flagged + found.unjudged == 1, found
    return "flagged" if found.flagged else "safe" if found.safe else "open"


UNBOUND = """
class Focal(nn.Module):
    def forward(self, x, y):
        return -x.gather(1, y[:, None]).mean()


def main(kind, x, y):
    if kind == "focal":
        criterion = Focal()
    elif kind == "plain":
        criterion = nn.CrossEntropyLoss(ignore_index={index})
    {rest}
    loss = criterion(nn.Linear(4, 5)(x), y)
    loss.backward()


main(sys.argv[1], torch.randn(2, 4), torch.tensor([1, 2]))
"""


def test_a_path_on_which_a_name_is_not_bound_cannot_be(tmp_path: Path) -> None:
    assert judged(tmp_path, UNBOUND.format(index=255, rest="")) == "safe"


def test_a_path_on_which_something_unknown_is_bound_stays_open(tmp_path: Path) -> None:
    rest = "else:\n        criterion = made_elsewhere()"
    assert judged(tmp_path, UNBOUND.format(index=255, rest=rest)) == "open"


OTHER = """
def main(smoothing, x, y):
    if smoothing:
        criterion = {other}
    else:
        criterion = nn.CrossEntropyLoss(ignore_index=255)
    loss = criterion(nn.Linear(4, 5)(x), y)
    loss.backward()


main(float(sys.argv[1]), torch.randn(2, 4), torch.tensor([1, 2]))
"""


def test_a_loss_of_a_library_that_skips_nothing_leaves_nothing_open(tmp_path: Path) -> None:
    assert judged(tmp_path, OTHER.format(other="nn.MultiMarginLoss()")) == "safe"


def test_a_loss_of_a_library_that_nobody_knows_stays_open(tmp_path: Path) -> None:
    assert judged(tmp_path, "import lossy\n" + OTHER.format(other="lossy.Smooth()")) == "open"


FORKS = "".join(f"    if sys.argv[{place}] == 'a':\n        classes = classes + {place}\n" for place in range(1, 9))
MANY = f"""
def logits(x):
    classes = 8
{FORKS}
    return nn.Linear(4, classes)(x)


{{name}} = {{index}}


def loss(x, y):
    return F.cross_entropy(logits(x), y, ignore_index={{name}})
"""


@pytest.mark.parametrize(
    ("name", "index", "expected"), [("pad_id", 3, "safe"), ("other", 3, "open"), ("end", 3, "open")]
)
def test_the_index_alone_may_tell_where_the_layer_is_on_too_many_paths(
    tmp_path: Path, name: str, index: int, expected: str
) -> None:
    assert judged(tmp_path, MANY.format(name=name, index=index)) == expected


CHAINS = "".join(
    f"    {'elif' if arm else 'if'} sys.argv[{place}] == '{arm}':\n        logits = logits * {arm + 1}\n"
    for place in (1, 2)
    for arm in range(9)
)
SAME = f"""
def loss(x, y):
    classes = 30 if sys.argv[3] == "small" else 40
    logits = nn.Linear(4, classes)(x)
{CHAINS}
    return F.cross_entropy(logits, y, ignore_index={{index}})
"""


@pytest.mark.parametrize(("index", "expected"), [(255, "safe"), (30, "safe")])
def test_a_chain_of_tests_that_changes_nothing_hides_no_path(tmp_path: Path, index: int, expected: str) -> None:
    assert judged(tmp_path, SAME.format(index=index)) == expected


FIELD = """
from torchtext.legacy.data import Field

target = Field(init_token="<sos>", eos_token="<eos>"{more})
index = target.vocab.stoi[target.{token}]
model = torch.jit.load("model.pt")


def loss(x, y):
    return F.cross_entropy(model(x), y, ignore_index=index)
"""


@pytest.mark.parametrize(
    ("token", "more", "expected"),
    [
        ("pad_token", "", "safe"),
        ("pad_token", ', pad_token="<void>"', "safe"),
        ("pad_token", ', pad_token="</s>"', "open"),
        ("eos_token", "", "open"),
    ],
)
def test_the_padding_of_a_field_is_its_padding(tmp_path: Path, token: str, more: str, expected: str) -> None:
    assert judged(tmp_path, FIELD.format(token=token, more=more)) == expected


RESTORED = """
def main():
    with open("config.json") as file:
        config = json.load(file)
    if len(sys.argv) > 1:
        config = torch.load(sys.argv[1])["config"]
    head = nn.Linear(4, config["classes"])
    loss = F.cross_entropy(head(torch.randn(2, 4)), torch.tensor([1, 2]), ignore_index=config["ignore_index"])
    loss.backward()


main()
"""


def test_settings_out_of_a_checkpoint_are_those_of_the_run_that_saved_it(tmp_path: Path) -> None:
    assert judged(tmp_path, RESTORED, config__json='{"classes": 9, "ignore_index": 255}') == "safe"


def test_settings_that_are_only_known_out_of_a_checkpoint_stay_open(tmp_path: Path) -> None:
    lines = RESTORED.replace('with open("config.json") as file:\n        config = json.load(file)', "pass")
    assert judged(tmp_path, lines.replace("if len(sys.argv) > 1", "if True")) == "open"


TABLE = """
class {first}(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Linear(4, classes)
        self.criterion = nn.CrossEntropyLoss(ignore_index={one})

    def forward(self, x, y):
        return self.criterion(self.head(x), y)


class {second}(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.tail = nn.Linear(4, classes)
        self.criterion = nn.CrossEntropyLoss(ignore_index={two})

    def forward(self, x, y):
        return self.criterion(self.tail(x), y)


MODELS = {{"first": ({first}, "a"), "second": ({second}, "b")}}
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="first", choices=list(MODELS))
make, title = MODELS[parser.parse_args().model]
model = make(5)
model(torch.randn(2, 4), torch.tensor([1, 2])).backward()
"""


def test_what_another_entry_of_a_table_is_made_with_is_known(tmp_path: Path) -> None:
    found = tally(tmp_path, train__py=HEAD + TABLE.format(first="One", second="Two", one=255, two=7))
    assert (found.safe, found.unjudged) == (2, 0)


LOOKED_UP = """
class Tokens:
    PAD = "{text}"
    END = "</s>"


def loss(vocabularies, model, x, y):
    index = vocabularies.get("target", x)[Tokens.{token}]
    return F.cross_entropy(model(x), y, ignore_index=index)
"""


@pytest.mark.parametrize(
    ("token", "text", "expected"),
    [("PAD", "<pad>", "safe"), ("PAD", "<blank>", "safe"), ("PAD", "</s>", "open"), ("END", "<pad>", "open")],
)
def test_what_is_looked_up_as_padding_is_padding_whatever_the_table(
    tmp_path: Path, token: str, text: str, expected: str
) -> None:
    assert judged(tmp_path, LOOKED_UP.format(token=token, text=text)) == expected


GUARDED = """
class Smoothed(nn.Module):
    def forward(self, x, y):
        return (x.log_softmax(-1) * y).mean()


def make():
    if sys.argv[1] == "smooth":
        return Smoothed()
    return nn.CTCLoss(blank=int(sys.argv[2]))


def step(x, y, lengths):
    criterion = make()
    if isinstance(criterion, {kind}):
        return criterion(nn.Linear(4, 5)(x), y)
    return torch.tensor(0.0)


step(torch.randn(2, 4), torch.tensor([1, 2]), None).backward()
"""


def test_a_call_behind_a_test_of_its_kind_is_no_call_of_another_kind(tmp_path: Path) -> None:
    assert tally(tmp_path, train__py=HEAD + GUARDED.format(kind="Smoothed")) == Tally()


def test_a_call_behind_a_test_of_its_own_kind_is_one(tmp_path: Path) -> None:
    assert tally(tmp_path, train__py=HEAD + GUARDED.format(kind="nn.CTCLoss")) == Tally(unjudged=1)


HANDED_UP = """
class Focal(nn.Module):
    def __init__(self, ignore_index):
        super().__init__()
        self.inner = nn.CrossEntropyLoss(ignore_index=ignore_index, reduction="none")

    def forward(self, scores, y):
        return self.inner(scores, y).pow(2).mean()


class Wrapped(nn.DataParallel):
    def scatter(self, inputs, kwargs, device_ids):
        return super().scatter(inputs, kwargs, device_ids)


class Base:
    def __init__(self, model, criterion):
        self.model = Wrapped(model)
        self.criterion = criterion


class Trainer(Base):
    def __init__(self, model, criterion):
        super().__init__(model, criterion)

    def step(self, x, y):
        return self.criterion(self.model(x), y)


Trainer(nn.Linear(4, {classes}), Focal(255)).step(torch.randn(2, 4), torch.tensor([1, 2])).backward()
"""


@pytest.mark.parametrize(("classes", "expected"), [("19", "safe"), ("int(sys.argv[1])", "open")])
def test_a_criterion_is_followed_through_the_base_of_a_trainer(tmp_path: Path, classes: str, expected: str) -> None:
    assert judged(tmp_path, HANDED_UP.format(classes=classes)) == expected


ALIGNED = """
def loss(attention, keys, queries):
    scores = F.pad(attention, (1, 0), value=-1.0)
    places = torch.arange({arguments}, dtype=torch.long){cut}
    targets = places.unsqueeze(0).repeat(keys.numel(), 1)
    return F.ctc_loss(scores.log_softmax(-1), targets, queries, keys)
"""


@pytest.mark.parametrize(
    ("arguments", "cut", "expected"),
    [("1, keys.max() + 1", "", "safe"), ("keys.max() + 1", "[1:]", "safe"), ("keys.max() + 1", "", "open")],
)
def test_a_blank_below_all_targets_is_none_of_them(tmp_path: Path, arguments: str, cut: str, expected: str) -> None:
    assert judged(tmp_path, ALIGNED.format(arguments=arguments, cut=cut)) == expected


SETTINGS = """
class Settings(dict):
    def __getattr__(self, name):
        return self[name]


def loss(text, x, y):
    settings = Settings(json.loads(text))
    return F.cross_entropy(nn.Linear(4, settings.classes)(x), y, ignore_index=settings.{name})
"""


@pytest.mark.parametrize(("name", "expected"), [("pad_id", "safe"), ("classes", "safe"), ("other", "open")])
def test_what_a_dictionary_gives_as_an_attribute_keeps_its_name(tmp_path: Path, name: str, expected: str) -> None:
    assert judged(tmp_path, SETTINGS.format(name=name)) == expected


DEFAULT = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--smooth", action="store_true")
options = parser.parse_args()


class Model(nn.Module):
    def __init__(self, index={default}):
        super().__init__()
        self.criterion = nn.CrossEntropyLoss(ignore_index=index)

    def forward(self, x, y):
        classes = 8
{forks}
        return self.criterion(nn.Linear(8, classes)(x), y)


def make(kind):
    return Model({given})


make("a")(torch.randn(2, 8), torch.tensor([1, 2])).backward()
make("b")(torch.randn(2, 8), torch.tensor([1, 2])).backward()
"""


def test_a_path_that_is_not_followed_leaves_a_loss_open_whatever_the_first_one_shows(tmp_path: Path) -> None:
    forks = FORKS.replace("    if", "        if").replace("        classes", "            classes")
    pad = "PAD_ID = 3\n"
    given = "PAD_ID if kind == 'a' else int(sys.argv[1])"
    text = HEAD + pad + DEFAULT.format(default=0, forks=forks, given=given)
    found = tally(tmp_path, train__py=text)
    assert (found.safe, found.unjudged) == (0, 1)


def test_resolve_says_that_the_index_alone_settles_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HEAD + MANY.format(name="pad_id", index=3))
    found = resolve(Place(str(tmp_path / "train.py")), Request((), str(tmp_path), isolated=True))
    told = "".join(text for line in as_text(found, str(tmp_path)) for _, text in line)
    assert "3, no class is lost wherever it stands" in told


RAISING = """
def make(kind):
    if kind == "plain":
        return nn.CrossEntropyLoss(ignore_index=255)
    else:
        {otherwise}


def step(x, y):
    return make(sys.argv[1])(nn.Linear(4, 5)(x), y)


step(torch.randn(2, 4), torch.tensor([1, 2])).backward()
"""


@pytest.mark.parametrize(
    ("otherwise", "expected"), [("raise ValueError(kind)", "safe"), ("return made_elsewhere(kind)", "open")]
)
def test_a_path_that_ends_in_an_error_leaves_nothing_open(tmp_path: Path, otherwise: str, expected: str) -> None:
    assert judged(tmp_path, RAISING.format(otherwise=otherwise)) == expected
