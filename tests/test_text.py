from __future__ import annotations

import ast
import gc
import os
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainlint.source.text import LARGEST, Fault, column, parse, read, rows

DEPTH = 100_000


def fault(data: bytes | str) -> tuple[str, int, int]:
    found = parse(data.encode() if isinstance(data, str) else data, "a.py")
    assert isinstance(found, Fault)
    return found.reason, found.row, found.column


def reason(path: Path | str) -> str:
    found = read(str(path))
    assert isinstance(found, Fault)
    return found.reason


def test_the_bytes_of_a_file_are_read_as_they_are(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfx = 1\r\n\0\xff"
    (tmp_path / "a.py").write_bytes(data)
    assert read(str(tmp_path / "a.py")) == data
    (tmp_path / "empty.py").touch()
    assert read(str(tmp_path / "empty.py")) == b""


def test_a_file_whose_size_the_system_does_not_tell_is_read_whole() -> None:
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("needs /proc")
    data = read("/proc/self/maps")
    assert isinstance(data, bytes)
    assert data.count(b"\n") > 10


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    assert reason(tmp_path) == "it is a folder, no file"
    assert reason(tmp_path / "none.py") == "no such file or folder"
    assert reason(tmp_path / "loop.py") == "a link that leads back to itself"
    assert reason("nul\0.py") == "no such file or folder"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_a_socket_and_a_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert reason(tmp_path / "pipe.py") == "it is a FIFO, no file"
    assert (
        reason("/dev/zero")
        == reason("/dev/tty").replace("the system will not open it: ", "")[:0] + "it is a device, no file"
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "s.py"))
        assert reason(tmp_path / "s.py") == "it is a socket, no file"


def test_a_file_over_the_limit_is_refused_and_one_at_the_limit_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "a.py", "wb") as file:
        file.truncate(LARGEST)
    assert read(str(tmp_path / "a.py")) == bytes(LARGEST)
    with open(tmp_path / "a.py", "ab") as file:
        file.write(b"\n")
    assert reason(tmp_path / "a.py") == "it is larger than 16 MB"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("x = = 1\n", ("invalid syntax", 1, 5)),
        ("\n\nx = (\n\n", ("'(' was never closed", 3, 5)),
        ('x = "é" y\n', ("invalid syntax", 1, 9)),
        ("if a:\n  b\n c\n", ("unindent does not match any outer indentation level", 3, 3)),
        (b"a\n\xc3\xa9 = \0", ("it holds a NUL byte", 2, 5)),
        (b"a\r\r\n\xc3\xa9\0\n", ("it holds a NUL byte", 3, 2)),
        ("x = 1".encode("utf-16"), ("it is UTF-16, which Python does not read; save it as UTF-8", 1, 1)),
        (b"x = 1\ny = '\xe9'\n", ("the byte 0xe9 is not UTF-8", 2, 6)),
        (b"# coding: ascii\ny = '\xc3\xa9'\n", ("the byte 0xc3 is not ASCII", 2, 6)),
        (b"\n# coding: foo\n", ("it declares the encoding foo, which Python does not know", 2, 1)),
        (b"# coding: os.path\n", ("it declares the encoding os.path, which Python does not know", 1, 1)),
        (b"# coding: hex\n78\n", ("it declares the encoding hex, which is none for source text", 1, 1)),
        (b"\xef\xbb\xbf# coding: latin-1\n", ("it starts with the mark of UTF-8 and declares iso-8859-1", 1, 1)),
    ],
)  # fmt: skip
def test_a_file_that_is_no_python_says_why_and_where(data: bytes | str, expected: tuple[str, int, int]) -> None:
    assert fault(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        b"#!/usr/bin/python\r\n# vim: set fileencoding=iso-8859-15 :\r\nx = '\xe9'\r\n",
        b"#!/usr/bin/python\r# coding=latin-1-unix\rx = '\xe9'\r",
        b"\x0c# coding: cp1252\nx = '\xe9'\n",
        b"\n\t # coding: latin_1\nx = '\xe9'\n",
        "# coding: utf-8-unix\nx = 'é'\n".encode(),
        "\ufeff# coding: utf-8\nx = 'é'\n".encode(),
        "\ufeffx = 'é'\n".encode(),
        "x = 'é'\n# coding: latin-1\n".encode(),
        "\n\n# coding: latin-1\nx = 'é'\n".encode(),
        "# recoding\n# coding: utf8\nx = 'é'".encode(),
    ],
)
def test_the_encoding_is_the_one_that_python_reads(data: bytes) -> None:
    tree = parse(data, "a.py")
    assert isinstance(tree, ast.Module)
    assert [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)] == ["é"]
    assert any("é" in row for row in rows(data))


@pytest.mark.parametrize("codec", ["punycode", "idna"])
def test_an_encoding_that_takes_hours_is_refused(codec: str) -> None:
    assert "none for source text" in fault(b"# coding: " + codec.encode() + b"\n#" + b"a" * 10**6 + b"-b9" * 10**6)[0]


NEW = {
    (3, 11): ["try:\n    pass\nexcept* A:\n    pass\n", "a[*b]\n", "def f(*a: *T): pass\n"],
    (3, 12): [
        "def f[T, U: (int, list[int])](a: T): pass\n",
        "class A[T]: pass\n",
        "type X[T] = list[T]\n",
        "type X = int\n",
        'f"{x["a"]}"\n',
        "f\"{'\\n'.join(a)}\"\n",
        'f"""{x # why\n}"""\n',
        "f'{\na}'\n",
        'f"{f"{f"{1!r:>{w["x"]}}"}"}"\n',
    ],
    (3, 13): ["class A[T = int]: pass\n", 'class A[T = int]:\n    x = f"{a["b"]}"\n'],
    (3, 14): ['t"{a}"\n', "x = rt'{a}'\n"],
}  # fmt: skip


@pytest.mark.parametrize(
    "text", ["x = [" + "1," * 1_100_000 + "]", "x = " + "a or " * 1_100_000 + "a", "a\n" * 1_100_000]
)
def test_a_tree_that_would_fill_the_memory_is_not_made(text: str) -> None:
    assert fault(text)[0].startswith("it holds more than 1000000 words or signs")


def test_a_long_text_of_few_words_is_read() -> None:
    assert isinstance(parse(b"x = '" + b"a, " * 300_000 + b"'\n#" + b"a" * 8_000_000, "a.py"), ast.Module)


OLD = """
def plain(x):
    'It\\'s "f".'
    return f"{{x}} {x!r:>5}"  # f"{{"


"""


@pytest.mark.parametrize(("version", "text"), [(version, text) for version, texts in NEW.items() for text in texts])
def test_what_a_newer_python_reads_is_told_apart_from_a_mistake(version: tuple[int, int], text: str) -> None:
    text = OLD + text
    if sys.version_info >= version:
        assert isinstance(parse(text.encode(), "a.py"), ast.Module)
    else:
        assert fault(text)[0] == f"needs Python >= {version[0]}.{version[1]} to read"


@pytest.mark.parametrize(
    "text",
    [
        "print 'a'\n",
        "try:\n    pass\nexcept A, b:\n    pass\n",
        "exec 'x' in y\n",
        'f"{a b}"\n',
        'f"{a"\n',
        'f"{}"\n',
        'f"{a)}"\n',
        'f"{x["a"]}"\nx = = 1\n',
        "type X = int\ntype = = 1\n",
        "class A[T]: pass\nclass B[]: pass\n",
        "type type type\n",
        "def f[T: pass\n",
        't"{a}" = = 1\n',
    ],
)
def test_a_mistake_in_every_python_is_told_as_one(text: str) -> None:
    assert not fault(text)[0].startswith("needs Python")


DEEP = {
    "parentheses": "(" * DEPTH + "1" + ")" * DEPTH,
    "open parentheses": "(" * DEPTH,
    "lists": "[" * DEPTH + "]" * DEPTH,
    "dictionaries": "{1:" * DEPTH + "1" + "}" * DEPTH,
    "calls of calls": "f(" * DEPTH + ")" * DEPTH,
    "sums": "x = " + "a + " * DEPTH + "a",
    "minuses": "x = " + "-" * DEPTH + "a",
    "nots": "x = " + "not " * DEPTH + "a",
    "powers": "x = " + "a ** " * DEPTH + "a",
    "comparisons": "x = " + "a < " * DEPTH + "a",
    "attributes": "x = a" + ".a" * DEPTH,
    "subscripts": "x = a" + "[0]" * DEPTH,
    "call chain": "x = a" + "()" * DEPTH,
    "lambdas": "x = " + "lambda: " * DEPTH + "a",
    "conditions": "x = " + "a if a else " * DEPTH + "a",
    "elifs": "if a:\n    pass\n" + "elif a:\n    pass\n" * DEPTH,
    "blocks": "".join(" " * depth + "if a:\n" for depth in range(1000)) + " " * 1000 + "pass\n",
    "f-strings": "x = " + 'f"{' * DEPTH + "1" + '}"' * DEPTH,
    "targets": "a = " * DEPTH + "1",
    "decorators": "@a\n" * DEPTH + "def f(): pass",
    "comprehension": "x = [a " + "for a in a " * DEPTH + "]",
    "patterns": "match a:\n case " + "[" * DEPTH + "1" + "]" * DEPTH + ": pass",
    "digits": "x = " + "9" * DEPTH,
    "statements": "a;" * DEPTH,
}


@pytest.mark.parametrize("name", DEEP)
def test_no_depth_kills_the_interpreter(name: str) -> None:
    code = "import sys; from trainlint.source.text import *; found = parse(sys.stdin.buffer.read(), '')\n"
    code += "print(found.reason if isinstance(found, Fault) else type(found).__name__); del found"
    run = subprocess.run(
        [sys.executable, "-c", code], input=DEEP[name].encode(), capture_output=True, check=False, timeout=60
    )
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.strip()


@pytest.mark.parametrize("name", DEEP)
def test_no_depth_kills_a_thread(name: str) -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(parse(DEEP[name].encode(), "a.py")))
    thread.start()
    thread.join(60)
    assert len(found) == 1


def test_what_python_warns_of_is_not_printed() -> None:
    text = r"x = '\d'; 1 is 1; [0x1for x in y]"
    code = f"from trainlint.source.text import *\nassert not isinstance(parse({text.encode()!r}, ''), Fault)"
    for flags in ([], ["-W", "error"], ["-W", "always"]):
        run = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, check=False, timeout=60)
        assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(parse(rb"x = '\d'", "a.py"), ast.Module)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_mistake_is_not_looked_up_in_the_file_of_that_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    assert isinstance(parse(b"x = = 1\n", str(tmp_path / "a.py")), Fault)


def test_collecting_garbage_goes_on_as_before() -> None:
    assert gc.isenabled()
    parse(b"x = 1\n", "a.py")
    parse(b"x = = 1\n", "a.py")
    assert gc.isenabled()
    gc.disable()
    try:
        parse(b"x = 1\n", "a.py")
        assert not gc.isenabled()
    finally:
        gc.enable()


PIECES = (
    "x = 1",
    "é = '漢'",
    "'''",
    "# \u2028 \x85 \x0b \x1c",
    "\x0c",
    "\n",
    "\r\n",
    "\r",
    "  ",
    "y",
    ";",
    "+",
    "\ufeff",
    "(",
    ")",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_rows_and_columns_are_those_of_the_tree(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    tree = parse(data, "a.py")
    if isinstance(tree, Fault):
        assert tree.row >= 1
        assert tree.column >= 1
        return
    lines = rows(data)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            start = column(lines[node.lineno - 1], node.col_offset)
            assert lines[node.lineno - 1][start - 1 :].startswith(node.id)


@given(
    st.binary(max_size=60),
    st.sampled_from((b"", b"# coding: latin-1\n", b"# coding: utf-7\n", b"\n#coding:shift_jis\n", b"\xef\xbb\xbf")),
)
def test_no_bytes_make_reading_fail(data: bytes, start: bytes) -> None:
    assert isinstance(parse(start + data, "a.py"), ast.Module | Fault)
    rows(start + data)


@given(st.text(max_size=60))
def test_python_agrees_on_what_can_be_read(text: str) -> None:
    data = text.encode(errors="replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected: str | None = ast.dump(ast.parse(data), include_attributes=True)
        except (SyntaxError, ValueError):
            expected = None
    tree = parse(data, "a.py")
    assert (ast.dump(tree, include_attributes=True) if isinstance(tree, ast.Module) else None) == expected


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('def f():\n    print "done"\n', "it looks like Python 2 (a print statement)"),
        ("try:\n    f()\nexcept IOError, error:\n    pass\n", "it looks like Python 2 (`except ..., name`)"),
        ("text = `number`\n", "it looks like Python 2 (backticks)"),
        ("x = x.cuda(async=True)\n", "it looks like a Python before 3.7 (`async` as a name)"),
    ],
)
def test_an_old_file_is_named_as_such(code: str, reason: str) -> None:
    fault = parse(code.encode(), "old.py")
    assert isinstance(fault, Fault)
    assert fault.reason == reason


@pytest.mark.parametrize("code", ["x = (1,\n", "print(\n", "# print 'x'\nx ==\n"])
def test_a_mistake_of_today_is_not_called_old(code: str) -> None:
    fault = parse(code.encode(), "new.py")
    assert isinstance(fault, Fault)
    assert "looks like" not in fault.reason
