from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import pytest
from as_read import as_read

import trainlint
from trainlint.facts import Fact, Unreadable
from trainlint.knowledge import checkpoints, losses, metrics, optimizers, torch, torchvision, transformers
from trainlint.knowledge import effects as known_effects
from trainlint.source import Project, observe, sites
from trainlint.source.evaluate import Evaluator
from trainlint.source.find import find
from trainlint.source.linkers import LINKERS
from trainlint.source.linkers.targets.losses import SKIPS
from trainlint.source.nodes import statements
from trainlint.source.sift import relevant, spelling, words
from trainlint.source.summary import Module, summarize
from trainlint.source.text import Fault, parse, read, rows
from trainlint.source.workspace import Workspace
from trainlint.source.world import Path as Way
from trainlint.testing import findings

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOSSES = (
    *torch.LOSS_FUNCTIONS,
    *torch.LOSS_CLASSES,
    *torch.BINARY_FUNCTIONS,
    *torch.BINARY_CLASSES,
    *torch.CTC_FUNCTIONS,
    *torch.CTC_CLASSES,
    *losses.CTC_CLASSES,
)
TABLES = {
    "LOSS": [*(known.name for known in LOSSES), *(known.word for known in losses.CONTRACTS)],
    "SEGMENTING": [known.word for known in losses.SEGMENTING],
    "METRIC": [*metrics.CLASSES, *metrics.FUNCTIONS],
    "TRAINER": transformers.TRAINERS,
    "DETECTOR": [known.name for known in torchvision.WITH_BACKGROUND],
    "COLLATOR": [transformers.COLLATOR, transformers.COMPLETIONS],
    "SAMPLED": torch.SAMPLING - {"max"},
    "OPTIMIZER": optimizers.WORDS,
    "TRACKER": [checkpoints.TRACKERS.name],
    "DIVERGENCE": [torch.DIVERGENCE_FUNCTION.name, torch.DIVERGENCE_CLASS.name],
    "MATCHING": [*torch.MATCHING_FUNCTIONS, *torch.MATCHING_CLASSES],
    "OPERATIONS": [*known_effects.METHODS, *known_effects.FUNCTIONS],
    "CASTS": known_effects.CASTS,
    "MISSPELLED": known_effects.MISSPELLED,
}
CALLED = sorted({known.last for known in LOSSES})
COUNTED = sorted({name.rpartition(".")[2] for name in (*metrics.CLASSES, *metrics.FUNCTIONS)})
TRAINED = sorted({name.rpartition(".")[2] for name in transformers.TRAINERS})


@pytest.mark.parametrize("table", TABLES)
def test_files_are_sifted_by_the_words_of_the_tables(table: str) -> None:
    known = {name.rpartition(".")[2].encode() for name in TABLES[table]}
    assert getattr(words, table) == known, f"words.{table}: {b' '.join(sorted(known)).decode()}"


@pytest.mark.parametrize("word", CALLED)
def test_every_known_loss_makes_its_file_relevant(word: str) -> None:
    assert relevant(f"from x import {word} as y\nz = y(a, b)\n".encode())


@pytest.mark.parametrize("word", COUNTED)
def test_every_known_metric_makes_its_file_relevant_if_it_skips_a_class(word: str) -> None:
    assert relevant(f"from x import {word} as y\nz = y(ignore_index=2)\n".encode())


@pytest.mark.parametrize("word", TRAINED)
@pytest.mark.parametrize("given", ["train_dataset=a", "data_collator=a", "**a"])
def test_every_known_trainer_makes_its_file_relevant_if_it_is_given_data(word: str, given: str) -> None:
    assert relevant(f"from x import {word} as y\nz = y({given})\n".encode())


@pytest.mark.parametrize("skipped", SKIPS)
@pytest.mark.parametrize(
    "text",
    [
        "masked_acc(a, {}=2)",
        "self.Accuracy (a, {}=2)",
        "(ACC)(a, {}=2)",
        "(accuracy  # of the tokens\n    )(a, {}=2)",
        "from x import accuracy as score\nscore(a, {}=2)",
        "from x import (accuracy\\\n    as score)\nscore(a, {}=2)",
    ],
)
def test_an_accuracy_of_the_project_makes_its_file_relevant_if_it_skips_a_class(skipped: str, text: str) -> None:
    assert relevant(text.format(skipped).encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import torch\nloss = model(x)\n",
        "x = pandas.concat(frames, ignore_index=True)\n",
        "self.pad = Pad(10, 3, padding_idx=0)  # access is according to accumulated counts\n",
        "self.embed = nn.Embedding(10, 3)\n",
        "longest = max(lengths)\nvalues = table.max()\n",
        "from transformers import Trainer\ntrainer = Trainer(model)\n",
        "accuracy(a, b)\n",
        "warnings.filterwarnings('ignore')\n",
        "ids[ids == pad_token_id] = 0\n",
        "labels[labels == image_id] = -100  # padding stays\n",
    ],
)
def test_a_word_without_its_partner_is_not_enough(text: str) -> None:
    assert not relevant(text.encode())


@pytest.mark.parametrize("codec", ["utf-7", "unicode_escape", "shift_jis", "utf-8"])
def test_a_word_is_found_in_any_encoding(codec: str) -> None:
    word = {"utf-7": b"+AGM-ross_entropy", "unicode_escape": b"\\x63ross_entropy"}.get(codec, b"cross_entropy")
    assert relevant(b"# coding: " + codec.encode() + b"\n" + word + b"(a, b)\n")


def test_a_file_in_utf_16_is_never_passed_over_in_silence() -> None:
    assert relevant("cross_entropy(a, b)".encode("utf-16"))


@pytest.mark.parametrize(
    "text", ["x.argmax(-1)", "torch.max(x, 1)", "x.max(dim=1)", "x.max( -1 )", "multinomial(p, 1)", "x.topk(5)"]
)
def test_a_prediction_makes_its_file_relevant_if_something_is_looked_up(text: str) -> None:
    assert relevant(f"best = {text}\nprint(NAMES[best], itos[best.item()])\n".encode())
    assert not relevant(f"best = {text}\nx[best] = ACT2FN[best]\n".encode())


def test_an_embedding_makes_its_file_relevant_if_it_has_a_padding_index() -> None:
    assert relevant(b"from torch.nn import Embedding as E\nE(10, 3, padding_idx=0)\n")


COMMON = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn import CrossEntropyLoss
from torch.nn.functional import cross_entropy as ce
from transformers import Trainer as Fitter

STOP = 7
settings = {"data_collator": collate, "model": model}
head = nn.Linear(4, 8)
NAMES = ("a", "b", "c", "d")
IDS = {"<pad>": 0, "a": 1, "b": 2}

def predicted(x):
    return head(x).argmax(-1)

def target(boxes, names):
    return {"boxes": boxes, "labels": torch.tensor([NAMES.index(name) for name in names])}

def loss(x, y, reduce=F.cross_entropy):
    return reduce(head(x), y, ignore_index=STOP)

def masked_accuracy(x, y, ignore_label=None):
    return (x.argmax(-1) == y).mean()

def collate(batch):
    return {"labels": nn.utils.rnn.pad_sequence(batch, padding_value=0)}

def relabel(batch):
    return {"input_ids": batch["input_ids"], "labels": batch["input_ids"].clone()}

EOS = 9
EOT = 9
IGNORED = -100
"""
IMPORTS = (
    "import torch.nn as nn, torch.nn.functional as F, torchmetrics as tm, transformers as hf",
    "from torch.nn import *",
    "from torch.nn import CrossEntropyLoss as CE, NLLLoss, CTCLoss as CTC",
    "from torch.nn.functional import cross_entropy as ce, nll_loss",
    "from torchmetrics import Accuracy as A",
    "from torchmetrics.functional import accuracy as score, jaccard_index",
    "from transformers import Trainer as Fitter, Seq2SeqTrainer, DataCollatorForLanguageModeling as Collator",
    "from trl import DataCollatorForCompletionOnlyLM as Completions",
    "from common import *",
    "import common as c",
    "from common import loss as ce, masked_accuracy as score, CrossEntropyLoss as CE",
    "from functools import partial",
    "from torch.nn import BCELoss as Binary, BCEWithLogitsLoss",
    "from torch.utils.data import DataLoader, DataLoader as Loads",
    "from torchvision.models.detection.faster_rcnn import FastRCNNPredictor",
)
USES = (
    "ce(head(x), y, ignore_index=7)",
    "F.cross_entropy(head(x), y)",
    "c.F.nll_loss(head(x), y, ignore_index=STOP)",
    "CE(ignore_index=7)(head(x), y)",
    "criterion = nn.CrossEntropyLoss(ignore_index=7)\nz = criterion(head(x), y)",
    "loss(x, y)",
    "c.loss(x, y, CE)",
    "CTC(blank=7)(head(x), y, a, b)",
    "part = partial(F.cross_entropy, ignore_index=7)\npart(head(x), y)",
    "getattr(F, 'cross' + '_entropy')(head(x), y, ignore_index=7)",
    "A(num_classes=8, ignore_index=7)(head(x), y)",
    "tm.Accuracy(task='multiclass', num_classes=8, ignore_index=7).update(head(x), y)",
    "score(head(x), y, ignore_index=7)",
    "masked_accuracy (head(x), y, ignore_label=7)",
    "c.masked_accuracy(head(x), y, padding_idx=7)",
    "Fitter(model, data_collator=collate)",
    "Fitter(**settings)",
    "hf.Trainer(model, train_dataset=c.data)",
    "fit(data_collator=Collator(words, mlm=False))",
    "fit(data_collator=hf.DataCollatorForLanguageModeling(words, mlm=False))",
    "fit(data_collator=Completions('A:', tokenizer=words))",
    "DataLoader(data, collate_fn=c.relabel)",
    "Loads(data, **{'collate_fn': c.relabel})",
    "token = head(x).argmax()\nif token == c.EOT:\n    quit()",
    "token = head(x).argmax()\nif (c.EOT) != token:\n    quit()",
    "lm = hf.GPT2LMHeadModel()\nlm(input_ids=y[:, :-1], labels=y[:, 1:]).loss.backward()",
    "model = hf.AutoModelForCausalLM.from_pretrained('m')\nmodel(**{'input_ids': y, 'labels': y}).loss.backward()",
    "class Own(Collator):\n    pass\nfit(data_collator=Own(words, mlm=False))",
    "labels[labels == words.pad_token_id] = -100",
    "labels[PADDING\\\n != labels] = 0\nlabels = where(labels != (  # all but\n    c.EOS), labels, - 100)",
    "labels = labels.masked_fill(labels.eq(c.EOS), c.IGNORED)",
    "mask = labels.ne(c.EOS)\nlabels[~mask] = c.IGNORED",
    "rows = [[-100 if each == c.EOS else each for each in row] for row in rows]",
    "class Own(nn.CrossEntropyLoss):\n    pass\nOwn(ignore_index=7)(head(x), y)",
    "losses = {'ce': CE, 'nll': NLLLoss}\nlosses['ce'](ignore_index=7)(head(x), y)",
    "def nll(z, t, pad):\n    return -z.gather(1, t).masked_fill(t.eq(pad), 0)\nnll(head(x), y, 7)",
    "def loss_of(z, t, c):\n    return -(F.one_hot(t) * z.log_softmax(1))[t  # all but\n != c.IGNORED]",
    "Binary()(head(x).sigmoid(), y)",
    "BCEWithLogitsLoss()(head(x), y)",
    "F.binary_cross_entropy_with_logits(head(x), y)",
    "print(c.NAMES[c.head(x).argmax(-1).item()])",
    "place = c.head(x).max(1)[1]\nprint(c.NAMES[place])",
    "WIDE = 9\nembed = nn.Embedding(WIDE, 4, padding_idx=c.IDS['<pad>'])\nout = nn.Linear(4, WIDE)",
    "FastRCNNPredictor(8, 3)",
    "def f(x):\n    c.F.relu(x)\n    return x.backward()  # torch",
    "c.torch.clamp(y, 0)\ny.backward()",
    "def own(x, y, ignore_index=7):\n    return ce(head(x), y)",
    "class OwnLoss(nn.Module):\n    def __init__(self, pad_id=7):\n        self.pad_id = pad_id\n"
    "    def forward(self, x, y):\n        return -x.log_softmax(-1).gather(-1, y).mean()",
    "print(c.NAMES[c.predicted(x).item()])",
    "z = c.head(x)[..., :STOP].argmax(-1)\nprint(z == STOP)",
    "z = head(x)\nz[..., STOP:] = -float('inf')\nprint(z.argmax(-1) == STOP)",
    "F.one_hot(nn.utils.rnn.pad_sequence(target, padding_value=-1))",
    "labels = nn.utils.rnn.pad_sequence(y, padding_value=-1)\nz = x[labels]",
    "right = target == 1\nloss = (x * right).sum() / right.sum()",
    "right = y_target == 1\nloss = x[right].mean()",
    "head = nn.Linear(4, 8)",
    "STOP = 7",
)


def judged(project: Project, files: tuple[str, ...]) -> list[Fact]:
    return [fact for fact in observe(project, files) if not isinstance(fact, Unreadable)]


@pytest.mark.parametrize("use", USES)
def test_what_is_sifted_out_holds_nothing_to_judge(tmp_path: Path, use: str) -> None:
    (tmp_path / "common.py").write_text(COMMON)
    for number, imports in enumerate(combinations(IMPORTS, 2)):
        (tmp_path / f"program{number}.py").write_text("\n".join((*imports, use, "")))
    project = Project(str(tmp_path), find([str(tmp_path)]).files)
    others = tuple(path for path in project.files if path not in sites(project))
    assert judged(project, others) == []


@pytest.mark.parametrize("use", USES[:-3])
def test_the_programs_hold_something_to_judge(tmp_path: Path, use: str) -> None:
    (tmp_path / "common.py").write_text(COMMON)
    (tmp_path / "program.py").write_text("\n".join((*IMPORTS, use, "")))
    project = Project(str(tmp_path), find([str(tmp_path)]).files)
    assert judged(project, sites(project))


def test_what_is_sifted_out_of_the_fixtures_holds_nothing_to_judge() -> None:
    for folder in sorted(FIXTURES.glob("*/*")):
        project = Project(str(folder), find([str(folder)]).files)
        others = tuple(path for path in project.files if path not in sites(project))
        assert judged(project, others) == [], folder


def test_the_words_of_the_tables_are_words_of_a_call() -> None:
    assert {"cross_entropy", "CrossEntropyLoss", "ctc_loss"} <= set(CALLED)
    assert all(word.isidentifier() for word in (*CALLED, *COUNTED, *TRAINED))
    assert {known.last for known in torch.LOSS_FUNCTIONS} <= set(CALLED)


@pytest.mark.parametrize(
    "text",
    [
        "from x import ModelCheckpoint as y\nfrom pytorch_lightning.callbacks import z\ny(monitor='val_acc')\n",
        "args = TrainingArguments(load_best_model_at_end=True)\n",
        "options = {'metric_for_best_model': 'wer'}\n",
        "from ignite.handlers import Checkpoint\nCheckpoint(a, b, score_function=c)\n",
        "SaveModelCallback(monitor='accuracy')\n",
        "scheduler = ReduceLROnPlateau(optimizer)\n",
        "self.lr_schedulers[0].step(val_loss)\n",
        "if val_loss < best_loss:\n    best_loss = val_loss\n    torch.save(model, 'x')\n",
        "if acc <= self.lowest:\n    self.counter += 1\n",
        "if loss_min > loss:\n    loss_min, kept = loss, deepcopy(model)\n",
        "loss.backward()\ntorch.save(model.state_dict(), 'best.pt')\n",
    ],
)
def test_a_choice_of_a_model_makes_its_file_relevant(text: str) -> None:
    assert relevant(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "best_practice = 'save often'\n",
        "if score > best_score:\n    best_score = score\n",
        "optimizer.step(closure)\nbest = 1\n",
        "torch.save(best, 'best.pt')\n",
        "if step > max_steps:\n    save(step)\n",
    ],
)
def test_a_record_without_anything_that_is_kept_is_not_enough(text: str) -> None:
    assert not relevant(text.encode())


def test_no_finding_depends_on_where_lines_are_broken(tmp_path: Path) -> None:
    """The fixtures, written anew in narrow lines: each keeps its findings."""
    copy = tmp_path / "fixtures"
    shutil.copytree(FIXTURES, copy)
    narrow = [sys.executable, "-m", "ruff", "format", "-q", "--isolated", "--line-length", "40", str(copy)]
    subprocess.run(narrow, check=True, timeout=300)
    for folder in sorted(FIXTURES.glob("*/bad_*")):
        now = findings(copy / folder.relative_to(FIXTURES))
        assert sorted(each.code for each in now) == sorted(each.code for each in as_read(folder)), folder


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.clamp(w, 0)\n",
        "from torch import Tensor\ndef f(x: Tensor):\n    x.masked_fill(m, 0)\n    return x\n",
        "import torch\n\tself.scale [0].clamp(0)\n\tself.scales[0, 1].data.clamp(0)\n",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=self.p)\n",
        "F.scaled_dot_product_attention(q, k, v, None, self.drop)\n",
        "class M(nn.Module):\n    x = F.dropout(x, self.p)\n",
        "class M(nn.Module):\n    x = F.dropout(x, p('a)'))\n    x = f.dropout2d(x)\n",
        "class M(nn.Module):\n    x = nn.Dropout(self.p)(x)\n",
        "class M(nn.Module):\n    x = F.dropout(x, self.training)\n",
        "class M(nn.Module):\n    x = F.dropout(x, p=self.training)\n",
        "class M(nn.Module):\n    x = nn.AlphaDropout(\n        0.5\n    )(x)\n",
        "model.encoder.requires_grad = False\n",
        "for layer in layers: layer.requires_grad=False\n",
        "p.require_grad = False\n",
    ],
)
def test_a_line_that_may_do_nothing_makes_its_file_relevant(text: str) -> None:
    assert relevant(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nx = torch.clamp(w, 0)\n",
        "import torch\nreturn x.reshape(2, 2)\n",
        "import torch\nx.clamp_(0)\n",
        "x.clamp(0)\n",
        "F.scaled_dot_product_attention(q, k, v)\n",
        "class M(nn.Module):\n    x = F.dropout(x, self.p, training=self.training)\n",
        "class M(nn.Module):\n    x = F.dropout(\n        x, self.p, self.training and self.noisy\n    )\n",
        "class M(nn.Module):\n    x = self.dropout(x)\n    self.drop = nn.Dropout(0.1)\n",
        "x = F.dropout(x, 0.5)\n",
        "param.requires_grad = False\n",
        "for p in parameters: p.requires_grad = False\n",
        "if model.requires_grad == False:\n    pass\n",
    ],
)
def test_an_order_that_is_taken_is_not_enough(text: str) -> None:
    assert not relevant(text.encode())


WRITTEN = b"""
from codec import (  # sizes, and the shapes
    shapes,
    rates as speeds,
)
import codec.tables as tables, codec
import trees \\
    as woods

def step(model): return (model.forward)(
    1)
class Layer: build = staticmethod(step)
known = {"layer": Layer, step: [Layer]}, Layer
wrapped = compile(step)(Layer) if step else codec.Layer
step (1), step  # calls
(2)
run(step
    , key=Layer); print(f"{Layer}{step=}")
async  def \\
  later (): ...
(low), [high, *rest] = wide = 1, [2]; deep: int = 3; far  += 1
import codec . near, codec.far.off as off, speech . sounds
for turn in (): pass
with open("a") as file, (open("b")) as (
    other): pass
try: pass
except OSError as error: pass
match far:
    case {"a": taken, **left} if taken: pass
    case [first, *others] | (first, others): pass
    case Layer(far=inside): pass
    case whole: pass
if (found := far): del found
"""


def files_to_read() -> Iterator[bytes]:
    yield WRITTEN
    yield from (path.read_bytes() for path in sorted((Path(trainlint.__file__).parent / "source").glob("*.py")))


@pytest.mark.parametrize("which", ["called", "handed on", "imported", "bound"])
def test_what_is_done_with_a_name_is_seen_in_the_bytes(which: str) -> None:
    for data in files_to_read():
        tree = parse(data, "some.py")
        assert not isinstance(tree, Fault)
        module = summarize("some", "some", "some.py", tree, rows(data))
        calls: set[ast.AST] = {each.func for each in module.calls}
        # ``case Layer():`` reads a class, but hands nothing on.
        matched: set[ast.AST] = {each.cls for each in module.of_kind(ast.MatchClass)}
        match which:
            case "called":
                names = {name for name, nodes in module.loads.items() if not calls.isdisjoint(nodes)}
                missed = [name for name in names if not spelling.called(name).search(data)]
            case "handed on":
                names = {name for name, nodes in module.loads.items() if not (calls | matched).issuperset(nodes)}
                missed = [name for name in names if not spelling.handed_on(name).search(data)]
            case "bound":
                names = {name for node in statements(tree) for name in module.binds(node) if name.isidentifier()}
                missed = [name for name in names if not spelling.bound(name).search(data)]
            case _:
                names = {full.rpartition(".")[2] for full in module.imports.values()}
                missed = [name for name in names if not spelling.imported(name).search(data)]
        assert not missed, (missed, data[:200])


def test_a_definition_an_import_and_a_text_are_no_use_of_a_name() -> None:
    said = b'"""The step."""\nfrom .step import run\ndef step(): "step"\nclass step(Base): ...\n'
    assert not spelling.called("step").search(said)
    assert not spelling.imported("step").search(said)
    assert not spelling.handed_on("run").search(b"run(1), self.run (2), 'run'\ndef run(self): ...")


def test_a_linker_that_is_not_loaded_for_a_file_would_find_nothing_there() -> None:
    for folder in FIXTURES.glob("*/bad_*"):
        files = tuple(sorted(map(str, folder.rglob("*.py"))))
        workspace = Workspace(str(folder), files, (), {}, read)
        modules = [module for path in files if isinstance(module := workspace.module(path), Module)]
        for module, linker in product(modules, LINKERS):
            if not linker.may_look_at(module):
                assert list(linker.sites(Evaluator(workspace, Way(), None), module)) == [], linker.doing
