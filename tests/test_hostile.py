"""Projects that no one would write: each must end in findings or in a message, soon, and never in an error of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from trainlint.facts import Crash, Fact
from trainlint.source import Project, link, observe, sites
from trainlint.source.linkers import LINKERS
from trainlint.source.linkers.site import Site
from trainlint.source.world import Impossible, World

SOON = 120
"""Seconds after which a run counts as one that never ends; all of them take a few."""

HEAD = "import torch.nn as nn\nimport torch.nn.functional as F\n"
STEP = "\n\ndef step(x, y):\n    return F.cross_entropy(head(x), y, ignore_index=IGNORE)\n"
SITE = f"head = nn.Linear(4, N)\nIGNORE = N - 1{STEP}"
DEEP = 100_000


def program(lines: str) -> dict[str, str]:
    """One file whose width and sentinel are N, which these lines define."""
    return {"train.py": f"{HEAD}{lines}\n{SITE}"}


def bodies(many: int, line: str) -> str:
    return "\n".join(line.format(number, number + 1) for number in range(many))


NUMBERS = {
    "power of a power": "N = 2 ** 10 ** 10",
    "tower": "N = 9 ** 9 ** 9 ** 9",
    "negative power": "N = 2 ** -(10 ** 10)",
    "large shift": "N = 1 << 10 ** 9",
    "shift by a negative": "N = 1 << -1",
    "shift of a shift": "N = 1 << (1 << (1 << 100))",
    "factorial by products": "N = 1\n" + "N = N * 10 ** 4000\n" * 2000,
    "squares of squares": "a0 = 10 ** 100\n" + bodies(100, "a{1} = a{0} * a{0}") + "\nN = a100",
    "modular": "N = pow(7, 10 ** 10 ** 10, 13)",
    "division by zero": "N = 1 // 0 + 1 % 0 + int(1 / 0)",
    "infinite": "N = int(float('inf')) + int(1e400) + round(float('nan'))",
    "digits": f"N = int('{'9' * 10**6}')",
    "literal of digits": f"N = {'9' * 10**5}",
    "hexadecimal digits": f"N = 0x{'f' * 10**6}",
    "long string": "N = len('x' * 10 ** 12)",
    "long bytes": "N = len(b'x' * 10 ** 12)",
    "long list": "N = len([0] * 10 ** 12)",
    "long tuple": "N = len((0,) * 10 ** 12 + (1,))",
    "long range": "N = len(range(10 ** 18)) + len(list(range(10 ** 15)))",
    "comprehension": "N = len([i for i in range(10 ** 18)])",
    "set comprehension": "N = len({i % 7 for i in range(10 ** 18)})",
    "nested comprehension": "N = len([i for i in range(10 ** 6) for j in range(10 ** 6) if i < j])",
    "dictionary comprehension": "N = len({i: [j for j in range(10 ** 9)] for i in range(10 ** 9)})",
    "sum": "N = sum(range(10 ** 18)) + sum(1 for i in range(10 ** 18))",
    "max": "N = max(range(10 ** 18)) + max(i for i in range(10 ** 18))",
    "enumerate": "N = len(dict(enumerate(range(10 ** 12)))) + len(list(zip(range(10 ** 12), range(10 ** 12))))",
    "fromkeys": "N = len(dict.fromkeys(range(10 ** 12)))",
    "product": "from itertools import product\nN = len(list(product(range(10 ** 6), repeat=10)))",
    "padding of a format": "N = len('%1000000000000d' % 1) + len(f'{1:1000000000000}') + len('a'.ljust(10 ** 12))",
    "joined": "N = len(','.join(['a' * 10 ** 6] * 10 ** 6).split(','))",
    "replaced": "N = len(('a' * 10 ** 5).replace('a', 'b' * 10 ** 5).replace('b', 'c' * 10 ** 5))",
    "doubled strings": "s0 = 'ab'\n" + bodies(100, "s{1} = s{0} + s{0}") + "\nN = len(s100)",
    "doubled lists": "s0 = [1]\n" + bodies(100, "s{1} = s{0} + s{0}") + "\nN = len(s100)",
    "doubled tuples": "s0 = (1,)\n" + bodies(100, "s{1} = (s{0}, s{0})") + "\nN = len(s100)",
    "doubled dictionaries": (
        "s0 = {}\n" + bodies(100, "s{1} = {{'a': s{0}, 'b': s{0}}}") + "\nN = s100" + "['a']" * 100
    ),
    "doubled numbers": "import config\na0 = config.n\n" + bodies(200, "a{1} = a{0} + a{0}") + "\nN = a200",
    "doubled calls": "def f0(n): return n\n" + bodies(60, "def f{1}(n): return f{0}(n) + f{0}(n)") + "\nN = f60(1)",
    "doubled arguments": "def f0(a, b): return a + b\n"
    + bodies(60, "def f{1}(a, b): return f{0}(a + b, a + b)")
    + "\nN = f60(1, 1)",
    "doubled lambdas": "f0 = lambda n: n\n" + bodies(60, "f{1} = lambda n: f{0}(f{0}(n))") + "\nN = f60(1)",
    "sum of a thousand": "N = " + " + ".join(["1"] * 1000),
    "sum of a hundred thousand": "N = " + " + ".join(["1"] * DEEP),
    "a thousand minuses": "N = " + "-" * 1000 + "5",
    "names one after another": "a0 = 5\n" + bodies(10_000, "a{1} = a{0}") + "\nN = a10000",
    "a name set ten thousand times": bodies(10_000, "N = {0}"),
    "a name grown ten thousand times": "N = 1\n" + "N += 1\n" * 10_000,
    "a name of two names": "A, B = 1, 2\n" + "A, B = B, A\n" * 5_000 + "N = A",
    "endless loop": "N = 1\nwhile True:\n    N = N + 1",
    "loop over itself": "N = 3\nfor N in range(N):\n    N = N + 1\n    for N in [N]:\n        N += N",
    "40 branches": "import config\nN = 1\n" + bodies(40, "if config.a{0}:\n    N = N * 2 + {0}"),
    "1500 branches": "import config\nN = 1\n" + bodies(1500, "if config.a{0}:\n    N = N + {0}"),
    "50 thousand branches": (
        "import config\nif config.a:\n    N = 1\n" + bodies(50_000, "elif config.a{0}:\n    N = {0}")
    ),
    "90 nested branches": "import config\n"
    + "".join(" " * depth + f"if config.a{depth}:\n" for depth in range(90))
    + " " * 90
    + "N = 5\n",
    "choices of choices": "import config\nN = " + "1 if config.a else 2 if config.b else " * 300 + "3",
    "choices of sums": ("import config\nN = " + " + ".join(f"({n} if config.a{n} else {n + 1})" for n in range(60))),
    "name of itself": "N = N",
    "names of each other": "N = M\nM = N",
    "names of each other in functions": "def f():\n    return g()\n\n\ndef g():\n    return f()\n\n\nN = f()",
    "defaults of each other": "def f(n=g()):\n    return g(n)\n\n\ndef g(n=f()):\n    return f(n)\n\n\nN = f()",
    "default of itself": "def f(n=f):\n    return n()\n\n\nN = f()",
    "recursion": "def f(n):\n    return n if n < 1 else f(n - 1) + f(n - 2)\n\n\nN = f(10 ** 6)",
    "ackermann": (
        "def f(m, n):\n    if m == 0:\n        return n + 1\n    if n == 0:\n"
        "        return f(m - 1, 1)\n"
        "    return f(m - 1, f(m, n - 1))\n\n\nN = f(4, 4)"
    ),
    "lambda of itself": "f = lambda n: f(f)\nN = f(f)",
    "omega": "N = (lambda f: f(f))(lambda f: f(f))",
    "partial of itself": "from functools import partial\nf = partial(f, f)\nN = f(f)",
    "decorator of itself": "@f\ndef f(g):\n    return f(g)\n\n\nN = f(f)",
    "class of itself": "class A(A):\n    n = A.n\n\n\nN = A().n",
    "classes of each other": "class A(B):\n    n = B.n\n\n\nclass B(A):\n    n = A.n\n\n\nN = A.n + B().m",
    "metaclass of itself": "class A(type, metaclass=A):\n    n = A\n\n\nN = A.n.n.n",
    "attribute of itself": (
        "class A:\n    def __init__(self):\n        self.n = self.m\n        self.m = self.n\n\n\nN = A().n"
    ),
    "property of itself": (
        "class A:\n    @property\n    def n(self):\n        return self.n + self.m\n\n    m = n\n\n\nN = A().n"
    ),
    "field of itself": "from dataclasses import dataclass, field\n\n\n@dataclass\nclass A:\n    n: int = n\n"
    "    a: 'A' = field(default_factory=lambda: A())\n\n\nN = A().a.a.a.n",
    "constructed in its own constructor": (
        "class A:\n    def __init__(self, n=1):\n        self.a = A(n + 1)\n        self.n = self.a.n\n\n\nN = A().n"
    ),
    "attribute access of itself": (
        "class A:\n    def __getattr__(self, name):\n        return getattr(self, name)\n\n\nN = A().n"
    ),
    "dictionary of itself": "d = {}\nd['d'] = d\nd = {**d, 'n': d}\nN = d['n']['d']['n']",
    "list of itself": "d = [1]\nd.append(d)\nd += d\nd = [*d, *d]\nN = len(d) + d[1][1][0]",
    "enumeration of itself": (
        "from enum import IntEnum\n\n\nclass A(IntEnum):\n    a = b\n    b = a\n    c = A.c\n\n\nN = A.c + len(A)"
    ),
    "a thousand base classes": (
        "class A0:\n    n = 5\n\n\n" + bodies(1000, "class A{1}(A{0}):\n    pass\n") + "\nN = A1000.n"
    ),
    "a diamond of sixty": "class A0:\n    n = 5\n\n\n"
    + bodies(60, "class B{1}(A{0}):\n    pass\n\n\nclass A{1}(B{1}, A{0}):\n    pass\n")
    + "\nN = A60().n",
    "a thousand functions": (
        "def f0():\n    return 5\n\n\n" + bodies(1000, "def f{1}():\n    return f{0}()\n") + "\nN = f1000()"
    ),
    "a chain of attributes": "import config\nN = config" + ".a" * 3000,
    "a chain of subscripts": "import config\nN = config" + "[0]" * 3000,
    "a chain of calls": "import config\nN = config" + ".a()" * 1500,
    "a hundred thousand labels": ("LABELS = [" + ", ".join(f"'l{n}'" for n in range(DEEP)) + "]\nN = len(LABELS)"),
    "a large enumeration": "from enum import IntEnum\n\n\nclass A(IntEnum):\n"
    + bodies(20_000, "    a{0} = {0}")
    + "\n\n\nN = len(A)",
    "ten thousand arguments": "def f(*a, **k):\n    return len(a)\n\n\nN = f(" + "1, " * 10_000 + ")",
    "ten thousand keywords": "N = dict(" + bodies(10_000, "a{0}={0},") + ")['a9999']",
    "options": "import argparse\np = argparse.ArgumentParser()\n"
    + bodies(3000, "p.add_argument('--a{0}', type=int, default={0})")
    + "\nN = p.parse_args().a2999",
    "top-level code": "exec('N = 5')\neval('N')\n__import__('os').system('true')\nN = __import__('config').N",
    "globals": (
        "globals()['N'] = 5\nsetattr(__import__('sys').modules[__name__], 'M', 6)\nN = globals()['N'] + vars()['M']"
    ),
    "deleted": "N = 5\ndel N\nN: 'N'\nglobal N",
    "bound in odd places": (
        "try:\n    import N\nexcept N as N:\n    pass\nwith N as N:\n    pass\nfor N in N:\n    pass\n"
        "[N := N for N in N]\n*N, = N\nN, *N = N\nN = [N for N in N]\nN = lambda N=N: N\n"
        "async def f(N=N):\n    async for N in N:\n        yield N\n"
        "match N:\n    case [N, *_] | {'N': N}:\n        pass\n    case N.N(N=N):\n        pass\n"
    ),
    "odd words": (
        "N = len('\\ud800\\n\\x1b[31m\\0')\nLABELS = ['\\ud800', '\\x1b[2J', '\\n', '\\0', 'stop']\nN = len(LABELS)"
    ),
    "imports beyond the top": (
        "from ........ import N\nfrom . import N\nfrom .. import *\nimport train.train.train\nN = train.N"
    ),
    "imports of itself": "import train\nfrom train import *\nfrom train import N, head\nN = train.N",
    "odd exports": "__all__ = [1, None, *__all__, 'N']\n__all__ += __all__\nfrom train import *\nN = 5",
}

LAYERS = {
    "module of itself": (
        "class A(nn.Module):\n    def __init__(self):\n        self.a = A()\n        self.b = self.a\n"
        "    def forward(self, x):\n        return self.forward(self.a(self(x)))\n\n\nhead = A()"
    ),
    "modules of each other": "class A(nn.Module):\n    def forward(self, x):\n        return B()(x)\n\n\n"
    "class B(nn.Module):\n    def forward(self, x):\n        return A()(x)\n\n\nhead = A()",
    "sequence of itself": "head = nn.Sequential()\nhead = nn.Sequential(head, head)\nhead.append(head)",
    "doubled sequences": ("s0 = nn.Linear(4, 4)\n" + bodies(60, "s{1} = nn.Sequential(s{0}, s{0})") + "\nhead = s60"),
    "doubled modules": "class A0(nn.Module):\n    def forward(self, x):\n        return x\n\n\n"
    + bodies(
        40,
        "class A{1}(nn.Module):\n    def __init__(self):\n        self.a = A{0}()\n        self.b = A{0}()\n\n"
        "    def forward(self, x):\n        return self.a(x) + self.b(x)\n",
    )
    + "\nhead = A40()",
    "a thousand layers": "head = nn.Sequential(" + "nn.Linear(4, 4), " * 1000 + ")",
    "layers of a long list": "head = nn.Sequential(*[nn.Linear(4, 4) for _ in range(10 ** 15)])",
    "layers of a long product": "head = nn.ModuleList([nn.Linear(4, 4)] * 10 ** 12)[10 ** 11]",
    "a chain of methods": "inner = nn.Linear(4, 5)\nhead = lambda x: inner(x)" + ".relu()" * 1000,
    "a function a thousand deep": "h0 = nn.Linear(4, 5)\n"
    + bodies(1000, "def h{1}(x):\n    return h{0}(x)\n")
    + "\nhead = h1000",
    "a tensor set ten thousand times": "inner = nn.Linear(4, 5)\n\n\ndef head(x):\n    x = inner(x)\n"
    + "    x = x.relu()\n" * 10_000
    + "    return x",
    "a tensor on 40 branches": "inner = nn.Linear(4, 5)\n\n\ndef head(x):\n    x = inner(x)\n"
    + bodies(40, "    if x.a{0}:\n        x = x.relu() + x")
    + "\n    return x",
}

OPTIMIZERS = {
    "a decay that no float holds": "lr=1e-4, betas=(0.9, 10 ** 400), weight_decay=10 ** 400",
    "a rate that is no number": "lr=float('nan'), eps=float('nan'), weight_decay=float('inf')",
    "no rate": "lr=0, eps=-1, weight_decay=-1",
    "rates of other kinds": "lr='1e-3', betas=0.9, eps=None, weight_decay=[]",
}
MADE = f"import torch\n{HEAD}IGNORE = 3\nhead = nn.Linear(4, 4).bfloat16()\n"

PROJECTS: dict[str, Mapping[str, str | bytes]] = {
    **{f"number: {name}": program(lines) for name, lines in NUMBERS.items()},
    **{f"layer: {name}": {"train.py": f"{HEAD}{lines}\nIGNORE = 3{STEP}"} for name, lines in LAYERS.items()},
    **{
        f"optimizer: {name}": {"train.py": f"{MADE}optimizer = torch.optim.AdamW(head.parameters(), {given}){STEP}"}
        for name, given in OPTIMIZERS.items()
    },
    "imports in a circle": {"a.py": "from b import N", "b.py": "from c import N", "c.py": "from a import N"}
    | program("from a import N"),
    "packages in a circle": {
        "p/__init__.py": "from p.q import *\nfrom . import q",
        "p/q/__init__.py": "from .. import *\nfrom p import N, q\nfrom . import q",
    }
    | program("from p.q.q.q import N"),
    "200 files that import each other": {f"m{n}.py": bodies(200, "from m{0} import *") for n in range(200)}
    | program("from m0 import *"),
    "a thousand files in a row": {f"m{n}.py": f"from m{n + 1} import N" for n in range(1000)}
    | {"m1000.py": "N = 5"}
    | program("from m0 import N"),
    "500 callers": {
        "lib.py": f"{HEAD}def loss(x, y, n=3):\n    return F.cross_entropy(x, y, ignore_index=n)\n",
        "train.py": f"from lib import loss\n{HEAD}head = nn.Linear(4, 5)\n\n\n"
        + bodies(500, "def step{0}(x, y):\n    return loss(head(x), y, n={0})\n\n"),
    },
    "callers of callers": {
        "train.py": f"{HEAD}def f0(x, y, n):\n    return F.cross_entropy(x, y, ignore_index=n)\n\n\n"
        + bodies(60, "def f{1}(x, y, n):\n    return f{0}(x, y, n) + f{0}(x, y, n + 1)\n\n")
        + "head = nn.Linear(4, 5)\n\n\ndef step(x, y):\n    return f60(head(x), y, 1)\n"
    },
    "callers in a circle": {
        "train.py": f"{HEAD}def f(x, y, n):\n    g(x, y, n)\n    return F.cross_entropy(x, y, ignore_index=n)\n\n\n"
        "def g(x, y, n):\n    return f(x, y, n + 1)\n"
    },
    "300 losses": {
        "train.py": f"{HEAD}head = nn.Linear(4, 5)\n\n\n"
        + bodies(300, "def step{0}(x, y):\n    return F.cross_entropy(head(x), y, ignore_index={0})\n\n")
    },
    "deep parentheses": program("N = " + "(" * DEEP + "5" + ")" * DEEP),
    "deep minuses": program("N = " + "-" * DEEP + "5"),
    "deep attributes": program("N = a" + ".a" * DEEP),
    "deep calls": program("N = a" + "()" * DEEP),
    "deep conditions": program("N = " + "1 if a else " * DEEP + "2"),
    "deep lambdas": program("N = " + "lambda: " * DEEP + "2"),
    "deep blocks": program("".join(" " * depth + "if a:\n" for depth in range(2000))),
    "NUL bytes": {"train.py": f"{HEAD}N = 5\0\n{SITE}"},
    "UTF-16": {"train.py": f"{HEAD}N = 5\n{SITE}".encode("utf-16")},
    "Latin-1 without a word of it": {"train.py": f"{HEAD}S = 'é'\nN = 5\n{SITE}".encode("latin-1")},
    "an encoding that takes hours": {
        "train.py": b"# coding: punycode\n# " + b"a" * 10**6 + b"-b9" * 10**5 + SITE.encode()
    },
    "a line of ten million characters": program("N = 5; S = '" + "cross_entropy " * 700_000 + "'"),
    "a line of ten million numbers": program("N = len([" + "1," * 3_000_000 + "])"),
    "too large": program("N = 5\n" + "#" * 17_000_000),
    "not Python": {"train.py": "<html>cross_entropy</html>", "b.py": os.urandom(10**5) + b"cross_entropy"},
}


def written(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def run(folder: Path, *words: str, form: str = "json") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainlint", "--output-format", form, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )


@pytest.mark.parametrize("name", PROJECTS)
def test_it_ends_soon_and_says_what_it_found(tmp_path: Path, name: str) -> None:
    written(tmp_path, PROJECTS[name])
    ended = run(tmp_path, "--isolated", ".")
    assert ended.returncode in {0, 1}, ended.stderr[-2000:] + ended.stdout[:2000]
    report = json.loads(ended.stdout)
    assert report["files_checked"] == len(PROJECTS[name])
    unread = any(finding["code"] == "TL902" for finding in report["findings"])
    assert unread or report["judged"]["losses"]["total"] >= 1


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_labels_that_no_terminal_takes_are_printed_in_every_form(tmp_path: Path, form: str) -> None:
    written(tmp_path, PROJECTS["number: odd words"])
    ended = run(tmp_path, "--isolated", ".", "--show-unjudged", form=form)
    assert ended.returncode in {0, 1}, ended.stderr
    assert "\x1b" not in ended.stdout
    assert "\0" not in ended.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_is_no_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    written(tmp_path, {"folder.py/train.py": f"{HEAD}N = 5\n{SITE}"})
    os.mkfifo(tmp_path / "x.py")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "gone.py").symlink_to("nowhere")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "up").symlink_to(".")
    report = json.loads(run(tmp_path, "--isolated", ".").stdout)
    assert report["judged"]["losses"]["total"] == 1
    assert {each["filename"]: each["reason"] for each in report["files_skipped"]} == {
        "gone.py": "a link to nothing",
        "loop.py": "a link that leads back to itself",
        "up": "a link to a folder is not followed; name it to read what is behind it",
        "x.py": "it is a FIFO, no file",
        "zero.py": "it is a device, no file",
    }
    for name in ("x.py", "loop.py", "gone.py", "zero.py"):
        ended = run(tmp_path, "--isolated", name)
        assert name in ended.stderr
        assert "0 files checked" in ended.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
@pytest.mark.parametrize("name", ["pyproject.toml", "trainlint.toml"])
def test_settings_that_are_no_file_are_never_waited_for(tmp_path: Path, name: str) -> None:
    written(tmp_path, program("N = 5"))
    os.mkfifo(tmp_path / name)
    assert run(tmp_path, ".").returncode in {0, 1, 2}


def test_a_site_that_no_path_reaches_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreached(world: World, site: Site) -> Iterator[Fact]:
        raise Impossible

    linkers = tuple(replace(linker, facts=unreached) for linker in LINKERS)
    monkeypatch.setattr(link, "LINKERS", linkers)
    written(tmp_path, program("N = 5"))
    project = Project(str(tmp_path), (str(tmp_path / "train.py"),))
    assert list(observe(project, sites(project))) == []


ADAPTED = """
from peft import LoraConfig, get_peft_model
from transformers import PreTrainedTokenizerFast, Trainer

tokenizer = PreTrainedTokenizerFast.from_pretrained("gpt2")
model.resize_token_embeddings(len(tokenizer))
config = LoraConfig(r=2)
model = get_peft_model(model, config)
rows = [{"input_ids": 1, "labels": 1}] * 4
Trainer(model=model, args=arguments, train_dataset=rows).train()
"""


def test_a_model_that_is_adapted_out_of_itself_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(ADAPTED)
    facts = observe(Project(str(tmp_path), (str(file),)), [str(file)])
    assert not list(facts.of(Crash))
