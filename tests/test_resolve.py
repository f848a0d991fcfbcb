"""``trainlint resolve`` through the front door: what it says of sites and names is what ``check`` rests on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.facts import CtcLoss, Loss
from trainlint.report.resolution import as_json, as_table, as_text
from trainlint.resolve import NoPlace, Place, place, resolve
from trainlint.testing import sources

FIXTURES = Path(__file__).parent.parent / "fixtures"
EXAMPLE = Path(__file__).parent.parent / "examples" / "codec_lm"
FOLDERS = sorted(folder for folder in FIXTURES.glob("*/*_*/") if folder.name.startswith(("bad_", "good_")))[::9]

FILES = {
    "sizes.py": "PAD = 0\nTAGS = 12\n",
    "losses.py": (
        "import torch.nn.functional as F\nfrom sizes import PAD\n\n\n"
        "def loss(logits, tags, size=4):\n"
        "    return F.cross_entropy(\n        logits,\n        tags,\n        ignore_index=PAD,\n    )\n"
    ),
    "train.py": (
        "import os\nfrom torch import nn\nfrom losses import loss\nfrom sizes import TAGS\n\n"
        "head = nn.Linear(4, TAGS)\nother = nn.Linear(4, int(os.environ['WIDE']))\n"
        "loss(head(x), y)\nloss(other(x), y)\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainlint", "resolve", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def said(folder: Path, words: str) -> str:
    found = resolve(place(words, str(folder)), Request((), str(folder), isolated=True))
    return "".join(f"{''.join(text for _, text in line)}\n" for line in as_text(found, str(folder)))


def test_a_site_is_told_with_values_and_the_lines_behind_them(project: Path) -> None:
    told = said(project, "losses.py")
    assert told.startswith("losses.py:6:12: cross_entropy: ")
    assert "  head     head, 12 classes\n             TAGS = 12           sizes.py:2\n" in told
    assert "  skips    0, inside\n             PAD = 0  sizes.py:1\n" in told
    assert "  through  loss(head(x), y)  train.py:8\n" in told
    assert "  through  loss(other(x), y)  train.py:9\n" in told
    assert "int(os.environ['WIDE'])" in told


@pytest.mark.parametrize("row", range(6, 11))
def test_any_line_of_a_call_means_the_call(project: Path, row: int) -> None:
    assert said(project, f"losses.py:{row}").startswith("losses.py:6:12: cross_entropy: ")


@pytest.mark.parametrize("words", ["sizes.py:1", "sizes.py:2", "train.py:6", "train.py:8:3", "sizes.py", "."])
def test_a_line_of_evidence_means_the_sites_that_rest_on_it(project: Path, words: str) -> None:
    assert said(project, words).startswith("losses.py:6:12: cross_entropy: ")


def test_each_name_on_a_line_is_told_with_its_chain(project: Path) -> None:
    told = said(project, "losses.py:9")
    assert told.endswith("losses.py:9:\n  PAD        0\n               PAD = 0  sizes.py:1\n")
    assert "  TAGS       12\n               TAGS = 12  sizes.py:2\n" in said(project, "train.py:6")
    assert "  head       a layer, torch.nn.Linear, 12 classes\n" in said(project, "train.py:6")


def test_a_name_that_callers_give_several_values_has_them_all(project: Path) -> None:
    told = said(project, "losses.py:7")
    assert "  logits     a tensor: what head emits, 12 classes\n" in told
    assert "    through  loss(head(x), y)  train.py:8\n" in told
    assert "  logits     a tensor, not known: the width int(os.environ['WIDE']) of other: " in told
    assert "    through  loss(other(x), y)  train.py:9\n" in told


def test_what_is_not_known_says_why_and_what_would_settle_it(project: Path) -> None:
    (project / "open.py").write_text("def f(cfg):\n    return cfg.size + 1\n")
    assert "  cfg.size   cfg.size, not known: " in said(project, "open.py:2")
    assert "cfg.size would settle it" in said(project, "open.py:2")
    assert "x is not defined in the project" in said(project, "train.py:8")


def test_a_line_without_names_has_nothing_to_resolve(project: Path) -> None:
    assert said(project, "losses.py:3") == "nothing to resolve here\n"
    assert said(project, "losses.py:999") == "nothing to resolve here\n"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_what_a_site_holds_is_told_in_words(folder: Path) -> None:
    told = said(folder, "")
    assert not re.search(r"\b(Step|Span|Activation|Measured)\(|<[A-Z]\w+\.[A-Z]|^ .*\b[A-Z]\w+\.[A-Z_]{4,}$", told)


def test_parameters_loops_and_objects_have_words(project: Path) -> None:
    (project / "more.py").write_text(
        "from collections import OrderedDict\nimport sizes\n\n\nclass A:\n    n = 3\n\n\n"
        "def f(a, n=5):\n    table = {'a': 1, 'b': 2}\n    words = ['x', 'y']\n"
        "    return table['b'], words, A, f, sizes\n"
    )
    told = said(project, "more.py:12")
    assert "  table['b']  2\n" in told
    assert "  words       2 elements: 'x', 'y'\n" in told
    assert "  A           the class A\n" in told
    assert "  f           the function f\n" in told
    assert "  sizes       the module sizes\n" in told
    assert "  n          5\n" in said(project, "more.py:9")
    assert "2 entries: 'a', 'b'" in said(project, "more.py:10")


def test_a_line_of_a_notebook_is_named_with_its_cell() -> None:
    folder = FIXTURES / "sentinel_collision" / "bad_sentinel_in_another_cell"
    told = said(folder, "train.ipynb:cell 6:13:22")
    assert told.startswith("train.ipynb:cell 6:10:12: cross_entropy: flagged\n")
    assert "train.ipynb:cell 6:13:\n  STOP       40\n" in told
    with pytest.raises(NoPlace, match=r"name the cell too, as in train\.ipynb:cell 5:6"):
        place("train.ipynb:6", str(folder))


def test_a_path_may_look_like_a_place(tmp_path: Path) -> None:
    (tmp_path / "a.py:3").write_text("")
    assert place("a.py:3", str(tmp_path)) == Place(str(tmp_path / "a.py:3"))


def test_the_table_is_one_line_for_each_site(project: Path) -> None:
    table = run(EXAMPLE, ".", "--table").stdout.splitlines()
    assert [line.split() for line in table] == [
        ["head", "classes", "loss", "skips", "position", "dtype", "verdict", "place"],
        [
            "FirstStage.to_codes",
            "1025",
            "cross_entropy",
            "1024",
            "inside",
            "float32",
            "flagged",
            "TL101",
            "objective.py:9:12",
        ],
        ["-", "-", "AdamW", "-", "-", "float32", "safe", "train.py:32:17"],
    ]


def test_the_json_holds_what_the_text_says(project: Path) -> None:
    document = json.loads(run(project, "losses.py:9", "--output-format", "json").stdout)
    (site,) = document["sites"]
    assert (site["filename"], site["location"], site["what"]) == (
        "losses.py",
        {"row": 6, "column": 12},
        "cross_entropy",
    )
    assert {way["head"]["number"] for way in site["ways"] if "head" in way} >= {12}
    (name,) = document["names"]
    assert (name["name"], name["worth"][0]["text"]) == ("PAD", "0")
    assert name["worth"][0]["chain"][0]["filename"] == "sizes.py"


def test_what_cannot_be_done_is_said(project: Path) -> None:
    (project / "broken.py").write_text("x = (\n")
    for words, reason in (
        (("nope.py",), "nope.py: no such file or folder"),
        ((), "give a file, a folder, or a line"),
        (("sizes.py", "--output-format", "xml"), "--output-format must be one of text, json, not 'xml'"),
        (("broken.py",), "'(' was never closed"),
        (("broken.py:1",), "'(' was never closed"),
    ):
        done = run(project, *words)
        assert done.returncode == 2
        assert reason in done.stderr
    assert run(project, "sizes.py").returncode == 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_its_verdicts_are_those_of_check_and_every_line_can_be_asked_for(folder: Path) -> None:
    request = Request((str(folder),), str(folder), isolated=True)
    found = resolve(Place(str(folder)), request)
    losses = Counter(
        site.verdict for site in found.sites if any(isinstance(fact, Loss | CtcLoss) for fact in site.facts)
    )
    tally = check(request).judged["losses"]
    assert (losses["safe"], losses["flagged"], losses["not judged"]) == (tally.safe, tally.flagged, tally.unjudged)
    assert len(list(as_table(found, str(folder)))) == 1 + len(found.sites)
    for path in sources(folder)[:1]:
        for row in range(1, len(path.read_text().splitlines()) + 1, 7):
            json.loads(as_json(resolve(Place(str(path.resolve()), row), request), str(folder)))


def test_an_optimizer_is_told_with_its_weights_its_numbers_and_the_defaults_behind_them() -> None:
    told = said(FIXTURES / "low_precision_master_weights" / "bad_option", "train.py")
    assert told.startswith("train.py:11:17: AdamW: flagged\n  error TL301 AdamW trains bfloat16 weights: lr*wd = 2e-07")
    assert '  weights  bfloat16\n             nn.Linear(16, 4).to(device="cpu", dtype=kind)  train.py:10\n' in told
    assert '    assumed  parser.add_argument("--rate", type=float, default=2e-5)  settings.py:11\n' in told
    assert "  eps      1e-08\n  beta2    0.95\n  state    bfloat16\n" in told


def test_a_line_of_a_settings_file_is_not_read_as_python(tmp_path: Path) -> None:
    (tmp_path / "sizes.yaml").write_text("pad: 0\ntags: 12\n")
    (tmp_path / "train.py").write_text(
        "import torch.nn.functional as F\nimport yaml\nfrom torch import nn\n\n"
        "with open('sizes.yaml') as file:\n    sizes = yaml.safe_load(file)\n"
        "F.cross_entropy(nn.Linear(4, sizes['tags'])(x), y, ignore_index=3)\n"
    )
    assert said(tmp_path, "sizes.yaml:2").startswith("train.py:7:1: cross_entropy: safe")
    with pytest.raises(NoPlace, match="no Python code"):
        said(tmp_path, "sizes.yaml:1")
