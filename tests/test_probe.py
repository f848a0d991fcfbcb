"""Training under watch, through the front doors: a script in, its own output, a report and an exit status out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trainlint.probe import launch
from trainlint.probe.record import SUFFIX, read

torch = pytest.importorskip("torch")

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}

HEAD = """\
import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy

LETTERS = 8
STOP = LETTERS

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(LETTERS + 1, 16), nn.Linear(16, LETTERS + 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


def batch():
    rows = torch.randint(LETTERS, (8, 10))
    for row, length in zip(rows, torch.randint(4, 10, (8,)).tolist()):
        row[length:] = STOP
    rows[0, :-1], rows[0, -1] = torch.randint(LETTERS, (9,)), STOP
    return rows[:, :-1], rows[:, 1:]


def train(steps, ignored):
    for _ in range(steps):
        inputs, targets = batch()
        loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=ignored)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


"""
LOSS = HEAD[: HEAD.index("        loss = cross")].count("\n") + 1
COLLIDING = HEAD + "print('loss', train(40, STOP))\n"
HEALTHY = HEAD + "print('loss', train(40, -100))\n"


def probe(folder: Path, *words: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainlint", "probe", *words],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def script(folder: Path, text: str, name: str = "train.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def records(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


@pytest.fixture(scope="module")
def collision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script and, in ``seen``, what a watched run of it left."""
    folder = tmp_path_factory.mktemp("collision")
    script(folder, COLLIDING)
    run = probe(folder, "run", "--report", "seen", "train.py")
    assert run.returncode == 1, run.stderr
    (folder / "told.txt").write_text(run.stdout)
    return folder


def test_a_collision_is_told_at_the_line_of_the_call(collision: Path) -> None:
    told = (collision / "told.txt").read_text()
    assert told.startswith("loss ")
    assert f"train.py:{LOSS}:16: warning TL101 sentinel-collision" in told
    assert "ignore_index=8 is one of the 9 classes that the layer before this loss emits" in told
    assert "320 sequences in 40 batches: the fullest of each lost one target" in told


def test_numbers_of_the_run_stand_in_a_table(collision: Path) -> None:
    told = (collision / "told.txt").read_text()
    (row,) = (line.split() for line in told.splitlines() if line.startswith(f"train.py:{LOSS}  "))
    assert row[1:4] == ["9", "8", "2,880"]
    assert "AdamW     40  297 float32" in told
    assert told.endswith("1 finding after 40 optimizer steps; losses: 1 flagged\n")


def test_the_healthy_twin_is_silent(tmp_path: Path) -> None:
    script(tmp_path, HEALTHY)
    run = probe(tmp_path, "run", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    assert run.stdout.endswith("no findings after 40 optimizer steps; losses: 1 safe\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_records_are_judged_again_in_other_forms(collision: Path) -> None:
    document = json.loads(probe(collision, "report", "seen", "--output-format", "json").stdout)
    (finding,) = document["findings"]
    assert (finding["code"], finding["observer"], finding["filename"]) == ("TL101", "probe", "train.py")
    assert finding["location"] == {"row": LOSS, "column": 16}
    measured = finding["measured"]
    assert (measured["classes"], measured["ignore_index"], measured["calls"]) == (9, 8, 40)
    assert measured["rows"] == 2880 and measured["dropped"] > 320
    assert sum(measured["margins"]) > 0 and measured["zero_signal"] == 0
    assert measured["sequences"]["least"] == 1
    assert document["not_observed"] == []
    concise = probe(collision, "report", "seen", "--output-format", "concise")
    assert concise.stdout.startswith(f"train.py:{LOSS}:16: warning TL101 sentinel-collision: ")
    assert probe(collision, "report", "seen", "--ignore", "TL101").returncode == 0


def test_code_scanning_gets_the_line_of_the_caller(collision: Path) -> None:
    document = json.loads(probe(collision, "report", "seen", "--output-format", "sarif").stdout)
    (run,) = document["runs"]
    (result,) = run["results"]
    assert document["version"] == "2.1.0"
    assert (result["ruleId"], result["level"]) == ("TL101", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == LOSS
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "TL101"
    assert run["invocations"][0]["executionSuccessful"] is True


def test_a_comment_silences_what_a_run_found(tmp_path: Path) -> None:
    script(
        tmp_path, COLLIDING.replace("ignore_index=ignored)", "ignore_index=ignored)  # trainlint: ignore[TL101] why")
    )
    assert probe(tmp_path, "run", "-q", "train.py").returncode == 0


def test_for_programs_the_report_is_alone_on_the_standard_output(tmp_path: Path) -> None:
    script(tmp_path, COLLIDING)
    run = probe(tmp_path, "run", "--output-format", "json", "train.py")
    assert run.returncode == 1
    assert [finding["code"] for finding in json.loads(run.stdout)["findings"]] == ["TL101"]
    assert run.stderr.startswith("loss ")


def test_a_report_goes_to_a_file(tmp_path: Path) -> None:
    script(tmp_path, COLLIDING)
    run = probe(tmp_path, "run", "--output-format", "json", "-o", "found.json", "train.py")
    assert run.stdout.startswith("loss ")
    assert json.loads((tmp_path / "found.json").read_text())["findings"]


def test_a_script_that_fails_keeps_its_status_and_is_reported_on(tmp_path: Path) -> None:
    script(tmp_path, COLLIDING + "sys.exit(7)\n")
    run = probe(tmp_path, "run", "train.py")
    assert run.returncode == 7
    assert "TL101" in run.stdout
    script(tmp_path, HEALTHY + "raise ValueError('of the script')\n")
    run = probe(tmp_path, "run", "train.py")
    assert run.returncode == 1
    assert "ValueError: of the script" in run.stderr


def test_a_script_that_is_not_there_is_said_before_anything_runs(tmp_path: Path) -> None:
    run = probe(tmp_path, "run", "--report", "records", "trian.py")
    assert (run.returncode, run.stdout, run.stderr) == (2, "", "trainlint: trian.py: no such file\n")
    assert not (tmp_path / "records").exists()


def test_a_report_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    script(tmp_path, "open('ran', 'w')\n")
    run = probe(tmp_path, "run", "-o", "nowhere/report.txt", "train.py")
    said = "trainlint: nowhere/report.txt: its folder cannot be written to: nothing was run\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", said)
    assert not (tmp_path / "ran").exists()


def test_without_torch_it_is_said_before_anything_runs(tmp_path: Path) -> None:
    script(tmp_path, "print('here')\n")
    script(tmp_path, "import sys\n\nsys.modules['torch'] = None\n", "sitecustomize.py")
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(tmp_path), ENVIRONMENT["PYTHONPATH"]))}
    run = subprocess.run(
        [sys.executable, "-m", "trainlint", "probe", "run", "train.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "trainlint: this needs torch: pip install 'trainlint[probe]'\n"


def test_words_behind_the_script_are_the_script_s(tmp_path: Path) -> None:
    script(tmp_path, HEAD + "train(2, -100)\nprint(sys.argv[1:])\n")
    assert (
        "['--steps', '9', '-o', '--', 'x']"
        in probe(tmp_path, "run", "train.py", "--steps", "9", "-o", "--", "x").stdout
    )


def test_a_module_and_another_program_can_be_run(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    script(package, COLLIDING)
    assert f"package/train.py:{LOSS}:16: warning TL101" in probe(tmp_path, "run", "-m", "package.train", "a").stdout
    script(tmp_path, COLLIDING)
    assert "TL101" in probe(tmp_path, "run", "--", sys.executable, "train.py").stdout


def test_a_run_without_training_is_told_in_one_line(tmp_path: Path) -> None:
    run = probe(tmp_path, "run", "--", sys.executable, "-c", "")
    assert (run.returncode, run.stdout) == (2, "no findings after 0 optimizer steps; losses: none seen\n")


def test_a_smoke_run_ends_after_so_many_steps(tmp_path: Path) -> None:
    script(tmp_path, HEAD + "train(10**9, STOP)\n")
    run = probe(tmp_path, "run", "--steps", "12", "train.py")
    assert run.returncode == 1, run.stderr
    assert "after 12 optimizer steps" in run.stdout


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('nothing')\n", "nothing was trained"),
        ("with torch.no_grad():\n    cross_entropy(torch.randn(4, 3), torch.arange(4) % 3)\n", "without gradients"),
        ("x = torch.ones(2, requires_grad=True)\no = torch.optim.SGD([x], 0.1)\nx.sum().backward()\no.step()\n",
         "1 optimizer step and no loss that is known"),
        ("cross_entropy(model(torch.arange(8)), torch.arange(8)).backward()\n", "no optimizer stepped"),
        ("torch.func.grad(lambda x: cross_entropy(x, torch.arange(3)))(torch.randn(3, 4))\n", "torch.func"),
    ],
)  # fmt: skip
def test_what_was_not_seen_is_never_called_safe(tmp_path: Path, body: str, why: str) -> None:
    script(tmp_path, HEAD + body)
    run = probe(tmp_path, "run", "train.py")
    assert run.returncode == 2
    assert "not observed: " in run.stderr and why in run.stderr


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    script(tmp_path, "print('it ran')\n")
    (tmp_path / "file").write_text("")
    run = probe(tmp_path, "run", "--report", "file/seen", "train.py")
    assert run.returncode == 2
    assert "nothing was run" in run.stderr and "it ran" not in run.stdout


@pytest.mark.parametrize(
    "words", [("run",), ("run", "--every", "0", "x.py"), ("report",), ("report", "nowhere"), ("run", "--")]
)
def test_what_cannot_be_done_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    run = probe(tmp_path, *words)
    assert run.returncode == 2
    assert run.stderr.startswith("trainlint: ")


WORKERS = (
    HEAD
    + """
from torch.utils.data import DataLoader, Dataset


class Letters(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, place):
        return torch.randint(LETTERS, (6,))


if __name__ == "__main__":
    for rows in DataLoader(Letters(), 8, shuffle=True, num_workers=2, multiprocessing_context=sys.argv[1]):
        loss = cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print([each.double().sum().item() for each in model.parameters()], torch.rand(1).item())
"""
)


@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_workers_leave_no_file_and_the_run_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    path = script(tmp_path, WORKERS)
    plain = subprocess.run(
        [sys.executable, str(path), kind], env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    run = probe(tmp_path, "run", "--every", "1", "--report", "seen", "train.py", kind)
    assert plain.returncode == 0, plain.stderr
    assert run.stdout.splitlines()[0] == plain.stdout.splitlines()[0]
    (found,) = records(tmp_path / "seen")
    assert read(found).steps == 8


FORKED = (
    HEAD
    + """
import multiprocessing


def work(place):
    train(5 + place, -100)


if __name__ == "__main__":
    several = [multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(place,)) for place in range(2)]
    for each in several:
        each.start()
    for each in several:
        each.join()
"""
)


@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_processes_that_train_leave_a_record_each(tmp_path: Path, kind: str) -> None:
    script(tmp_path, FORKED)
    run = probe(tmp_path, "run", "--report", "seen", "train.py", kind)
    assert run.returncode == 0, run.stderr
    assert sorted(read(each).steps for each in records(tmp_path / "seen")) == [5, 6]


def test_a_run_that_is_told_to_end_leaves_its_record(tmp_path: Path) -> None:
    script(tmp_path, HEAD + "train(200, STOP)\nopen('ready', 'w').close()\ntrain(10**9, STOP)\n")
    words = [sys.executable, "-m", "trainlint", "probe", "run", "--report", "seen", "train.py"]
    process = subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    try:
        for _ in _until(tmp_path / "ready", 300):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM
    assert "TL101" in told
    (found,) = records(tmp_path / "seen")
    assert not read(found).complete and read(found).steps >= 200


def _until(path: Path, seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end
        yield
        time.sleep(0.05)


def test_a_sitecustomize_that_was_there_still_runs(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "sitecustomize.py").write_text("import builtins\nbuiltins.CUSTOM = 'still here'\n")
    path = script(tmp_path, HEAD + "train(2, -100)\nprint(CUSTOM)\n")
    base = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(there), ENVIRONMENT["PYTHONPATH"]))}
    folder = tmp_path / "seen"
    launch.prepare(folder)
    watched = launch.environment(base, {}, folder)
    run = subprocess.run([sys.executable, str(path)], env=watched, capture_output=True, text=True, timeout=300)
    assert run.stdout == "still here\n", run.stderr
    assert len(records(folder)) == 1


RANKS = (
    HEAD
    + """
import os

torch.distributed.init_process_group("gloo")
torch.manual_seed(int(os.environ["RANK"]))
model = nn.parallel.DistributedDataParallel(model)
train(10, STOP)
torch.distributed.destroy_process_group()
"""
)


def test_ranks_are_added_up(tmp_path: Path) -> None:
    script(tmp_path, RANKS)
    command = ["--", sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    run = probe(tmp_path, "run", "--report", "seen", *command, timeout=300)
    assert run.returncode == 1, run.stderr
    assert [read(each).rank for each in records(tmp_path / "seen")] == [0, 1]
    document: dict[str, Any] = json.loads(probe(tmp_path, "report", "seen", "--output-format", "json").stdout)
    assert document["findings"][0]["measured"]["calls"] == 20
    assert "after 10 optimizer steps in 2 processes" in run.stdout


def test_a_torch_that_names_its_losses_otherwise_is_watched_at_the_public_names(tmp_path: Path) -> None:
    renamed = "import trainlint.probe.attach as attach\n\nattach.LOW = {'one': 'cross_entropy', 'other': 'nll_loss'}\n"
    late = HEAD.replace("from torch.nn.functional import cross_entropy\n", "").replace(
        "cross_entropy(", "nn.functional.cross_entropy("
    )
    body = "import trainlint.probe\n\nwith trainlint.probe.watch():\n    train(40, STOP)\n"
    path = script(tmp_path, late + renamed + body)
    run = subprocess.run([sys.executable, str(path)], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert "TL101 sentinel-collision" in run.stderr
    assert "names imported before are not watched" in run.stderr


class Full:
    """A count in the middle of which a run is cut off."""

    def __iadd__(self, more: object) -> Full:
        raise KeyboardInterrupt


def test_a_batch_in_whose_count_a_run_is_cut_off_is_no_batch() -> None:
    from trainlint.probe.losses import SequenceMeter

    targets = torch.tensor([[1, 2, 0], [1, 0, 0]])
    call: Any = SimpleNamespace(target=targets, logits=None, ignore_index=0)
    meter = SequenceMeter(targets.device)
    meter.see(call)
    filled, meter.filled = meter.filled, Full()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        meter.see(call)
    meter.filled = filled
    found = meter.record()
    assert found is not None
    assert (found.batches, found.sequences, found.filled) == (1, 2, 1)
