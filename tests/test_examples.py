from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from test_cli import trainlint

TOP = Path(__file__).parent.parent


@pytest.fixture
def first_stage(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm"))


@pytest.fixture
def second_stage(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TOP / "examples" / "codec_lm_second_stage", tmp_path / "codec_lm_second_stage"))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def codes(folder: Path, *words: str) -> list[str]:
    document = json.loads(trainlint(folder, *words, "--output-format", "json").stdout)
    return [finding["code"] for finding in document["findings"]]


def test_the_example_is_told_as_the_readme_shows_it() -> None:
    run = trainlint(TOP, "examples/codec_lm")
    assert (run.returncode, run.stderr) == (1, "")
    assert f"```\n{run.stdout}```" in (TOP / "README.md").read_text()


def test_the_twin_gets_a_note_and_passes(second_stage: Path) -> None:
    run = trainlint(second_stage, ".")
    assert run.returncode == 0
    assert "note TL102 sentinel-one-past-end" in run.stdout
    assert "is one past the last of the 1024 classes" in run.stdout
    assert run.stdout.endswith("1 finding (1 note) in 4 files; losses: 1 safe; optimizers: 1 safe\n")
    assert trainlint(second_stage, ".", "--fail-on", "note").returncode == 1


def test_the_twins_differ_in_no_line_of_the_constant_and_the_loss() -> None:
    first, second = TOP / "examples" / "codec_lm", TOP / "examples" / "codec_lm_second_stage"
    for name in ("sizes.py", "objective.py"):
        assert (first / name).read_text() == (second / name).read_text()


def test_the_cure_that_the_help_names_silences_the_finding(first_stage: Path) -> None:
    change(first_stage / "objective.py", "ignore_index=CODES", "ignore_index=-100")
    change(first_stage / "train.py", "pad_sequence(targets, batch_first=True, padding_value=CODES)",
           "pad_sequence(targets, batch_first=True, padding_value=-100)")  # fmt: skip
    run = trainlint(first_stage, ".")
    assert (run.returncode, run.stdout) == (0, "no findings in 4 files; losses: 1 safe; optimizers: 1 safe\n")


@pytest.mark.parametrize("name", ["sizes.py", "stage.py", "objective.py", "train.py"])
def test_a_hook_that_is_given_one_file_reports_what_it_takes_part_in(first_stage: Path, name: str) -> None:
    (first_stage / ".git").mkdir()
    run = trainlint(first_stage, "check", "--hook", name)
    assert run.returncode == 1
    beside = "; optimizers: 1 safe" if name == "train.py" else ""
    assert run.stdout.endswith(f"1 finding (1 error) in 1 file; losses: 1 flagged{beside}\n")
    assert codes(first_stage, name) == ["TL101"]


def test_a_file_that_takes_no_part_gets_no_finding(first_stage: Path) -> None:
    (first_stage / "plot.py").write_text("print(1)\n")
    run = trainlint(first_stage, "plot.py")
    assert (run.returncode, run.stdout) == (0, "no findings in 1 file; no loss to judge\n")


def test_a_comment_silences_and_is_counted(first_stage: Path) -> None:
    change(
        first_stage / "objective.py", "ignore_index=CODES,", "ignore_index=CODES,  # trainlint: ignore[TL101] a demo"
    )
    run = trainlint(first_stage, ".")
    assert (run.returncode, run.stdout) == (
        0,
        "no findings in 4 files; losses: 1 flagged; optimizers: 1 safe; 1 suppressed\n",
    )


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--select", "TL101"), 1),
        (("--select", "sentinel-collision"), 1),
        (("--ignore", "TL1"), 0),
        (("--exit-zero",), 0),
        (("--fail-on", "never"), 0),
        (("--config", "severity = {TL101 = 'note'}"), 0),
        (("--config", "severity = {TL101 = 'warning'}", "--fail-on", "error"), 0),
        (("--per-file-ignores", "objective.py:TL101"), 0),
        (("nope.py", "."), 2),
        (("nope.py", ".", "--exit-zero"), 2),
    ],
)
def test_selection_gate_and_settings_decide_the_exit_status(
    first_stage: Path, words: tuple[str, ...], status: int
) -> None:
    assert trainlint(first_stage, *words).returncode == status


def test_settings_beside_the_code_count_wherever_the_run_starts(first_stage: Path) -> None:
    (first_stage / "pyproject.toml").write_text("[tool.trainlint]\nignore = ['TL101']\n")
    assert trainlint(first_stage.parent, "codec_lm").returncode == 0
    assert trainlint(first_stage.parent, "codec_lm/objective.py").returncode == 0
    assert trainlint(first_stage.parent, "codec_lm", "--isolated").returncode == 1


def test_a_named_file_with_a_syntax_error_is_never_passed_over(first_stage: Path) -> None:
    (first_stage / "notes.py").write_text("def f(:\n")
    assert codes(first_stage, "notes.py") == ["TL902"]
    run = trainlint(first_stage, "notes.py", "--fail-on", "never", "--select", "TL101")
    assert run.returncode == 1
    assert "notes.py:1:" in run.stdout


def test_json_is_complete_on_exit_1_and_2_alike(first_stage: Path) -> None:
    one = trainlint(first_stage, ".", "--output-format", "json")
    two = trainlint(first_stage, ".", "nope", "--output-format", "json")
    assert (one.returncode, two.returncode) == (1, 2)
    assert json.loads(one.stdout)["findings"] == json.loads(two.stdout)["findings"] != []


def test_each_finding_takes_one_line_when_concise(first_stage: Path) -> None:
    run = trainlint(first_stage, ".", "--output-format", "concise")
    assert run.stdout.startswith("objective.py:12:22: error TL101 sentinel-collision: ignore_index=1024 is one of")
    assert run.stdout.count("\n") == 1
    assert run.stderr == "1 finding (1 error) in 4 files; losses: 1 flagged; optimizers: 1 safe\n"


def test_colour_comes_only_when_it_is_wanted(first_stage: Path) -> None:
    assert "\x1b[" in trainlint(first_stage, ".", "--color", "always", NO_COLOR="1").stdout
    assert "\x1b[" not in trainlint(first_stage, ".").stdout
