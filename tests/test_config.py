from __future__ import annotations

from pathlib import Path

import pytest

from trainlint import config
from trainlint.config import ConfigError, Layer, Settings
from trainlint.finding import Severity
from trainlint.selection import Selection


def settings(tmp_path: Path, text: str, name: str = "trainlint.toml") -> Settings:
    (tmp_path / name).write_text(text)
    layer = config.nearest(str(tmp_path))
    assert layer is not None
    return config.settings([layer])


def test_every_key_reaches_the_settings(tmp_path: Path) -> None:
    text = """
        select = ["TL1"]
        ignore = ["TL103"]
        extend-select = ["TL205"]
        extend-ignore = ["TL102"]
        fail-on = "note"
        exclude = ["old"]
        extend-exclude = ["older"]
        src = ["src", "lib/python"]
        values = { "cfg.vocab_size" = 1025, cfg.codes = 8 }
        per-file-ignores = { "tests/*" = ["TL1"], "a.py" = "TL2" }
        output-format = "concise"
        [severity]
        TL205 = "warning"
    """
    assert settings(tmp_path, text) == Settings(
        selections=(Selection(("TL1",), ("TL103",), ("TL205",), ("TL102",)),),
        severity={"TL205": Severity.WARNING},
        fail_on="note",
        exclude=("old", "older"),
        src=(str(tmp_path / "src"), str(tmp_path / "lib" / "python")),
        values={"cfg.vocab_size": 1025, "cfg.codes": 8},
        per_file_ignores={"tests/*": ("TL1",), "a.py": ("TL2",)},
        output_format=("concise",),
    )


def test_the_nearest_settings_count(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.trainlint]\nfail-on = 'error'\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert config.nearest(str(inner)) == Layer(str(tmp_path / "pyproject.toml"), str(tmp_path), {"fail-on": "error"})
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\ndependencies = ['trainlint']\n")
    found = config.nearest(str(inner))
    assert found and found.folder == str(tmp_path)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.trainlint]\n")
    (tmp_path / "a" / "trainlint.toml").write_text("fail-on = 'never'\n")
    found = config.nearest(str(inner))
    assert found and found.table == {"fail-on": "never"}


def test_a_broken_file_that_does_not_speak_of_trainlint_is_not_our_business(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")
    above = config.nearest(str(tmp_path))
    assert above is None or above.folder != str(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = ['TL1']", r"unknown key 'selct'; did you mean select\?"),
        ("fail_on = 'note'", r"unknown key 'fail_on'; did you mean fail-on\?"),
        ("zzz = 1", r"unknown key 'zzz'$"),
        ("select = 'TL1'", "select must be a list of strings, not a string"),
        ("ignore = [1]", "ignore must be a list of strings, not a list of other things"),
        ("exclude = true", "exclude must be a list of strings, not a truth value"),
        ("fail-on = 'eror'", r"fail-on must be one of error, warning, note, never, not 'eror'; did you mean error\?"),
        ("fail-on = 1", "fail-on must be one of error, warning, note, never, not a whole number"),
        ("severity = ['TL1']", "severity must be a table, not a list of other things"),
        ("severity = {TL1 = 'off'}", "severity of TL1 must be one of error, warning, note, not 'off'"),
        ("values = {'a.b' = 1.5}", "values 'a.b' must be a whole number, not a number"),
        ("values = {a.b = true}", "values 'a.b' must be a whole number, not a truth value"),
        ("per-file-ignores = {'a' = 1}", "per-file-ignores must be a list of strings, not a whole number"),
        ("output-format = {}", "output-format must be a list of strings, not a table"),
        ("x = [\n\n", r"not valid TOML: .*line"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        settings(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "trainlint.toml"))


def test_a_file_that_is_not_text_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "trainlint.toml").write_bytes(b"fail-on = 'note'\nselect = ['\xff']\n")
    with pytest.raises(ConfigError, match=r"not UTF-8 \(at line 2\)"):
        config.nearest(str(tmp_path))


def test_the_table_of_pyproject_must_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool.trainlint = 1\n")
    with pytest.raises(ConfigError, match=r"tool\.trainlint must be a table, not a whole number"):
        config.nearest(str(tmp_path))


def test_later_layers_weigh_more_and_extensions_add_up(tmp_path: Path) -> None:
    first = Layer("a", str(tmp_path), {"exclude": ["x"], "fail-on": "error", "values": {"n": 1, "m": 2}, "src": ["s"]})
    second = Layer("b", str(tmp_path), {"extend-exclude": ["y"], "fail-on": "note", "values": {"n": 3}})
    third = Layer("c", str(tmp_path), {"extend-exclude": ["z"], "exclude": ["w"], "select": []})
    assert config.settings([first, second]) == Settings(
        selections=(Selection(), Selection()),
        fail_on="note",
        exclude=("x", "y"),
        values={"n": 3, "m": 2},
        src=(str(tmp_path / "s"),),
    )
    assert config.settings([first, second, third]).exclude == ("w", "z")
    assert config.settings([third]).selections == (Selection(select=()),)


def test_one_setting_may_be_written_on_the_command_line(tmp_path: Path) -> None:
    layer = config.from_text("values = {n = 4}", str(tmp_path))
    assert config.settings([layer]).values == {"n": 4}
    with pytest.raises(ConfigError, match=r"--config 'fail-on=note': not valid TOML"):
        config.from_text("fail-on=note", str(tmp_path))


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        config.from_file(str(tmp_path / "none.toml"))
    (tmp_path / "pyproject.toml").write_text("[tool.trainlint]\nsrc = ['x']\n")
    assert config.settings([config.from_file(str(tmp_path / "pyproject.toml"))]).src == (str(tmp_path / "x"),)
