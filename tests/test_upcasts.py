"""In which numbers a loss is computed: small programs, each with the format that we must read in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.facts import Device, LossArithmetic
from trainlint.finding import Severity
from trainlint.report import Report
from trainlint.source import Project, observe
from trainlint.value import Unknown

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(8, 5){cast}
"""
STEP = """

def step(x, y):
    logits = model(x)
    return F.cross_entropy({logits}, y)
"""


def report(folder: Path, text: str, **files: str) -> Report:
    for name, content in {"train": text, **files}.items():
        (folder / f"{name}.py").write_text(content)
    return check(Request((str(folder),), str(folder), isolated=True))


def facts(folder: Path, text: str, **files: str) -> list[LossArithmetic]:
    for name, content in {"train": text, **files}.items():
        (folder / f"{name}.py").write_text(content)
    paths = [str(folder / f"{name}.py") for name in ("train", *files)]
    return list(observe(Project(str(folder), tuple(paths), (), {}), paths, 1).of(LossArithmetic))


def computed(folder: Path, text: str, **files: str) -> set[str]:
    """In which formats the losses of a program are computed; ``open`` for what is not settled."""
    arithmetics = (fact.arithmetic for fact in facts(folder, text, **files))
    return {"open" if isinstance(each, Unknown) else each.value for each in arithmetics}


CASTS = {
    "logits": "bfloat16",
    "logits.float()": "float32",
    "logits.double()": "float64",
    "logits.to(torch.float32)": "float32",
    "logits.to(dtype=torch.float)": "float32",
    "logits.to('cpu')": "bfloat16",
    "logits.to('cpu', torch.float32)": "float32",
    "logits.type(torch.float32)": "float32",
    "logits.type('torch.FloatTensor')": "float32",
    "logits.half()": "float16",
    "logits.float().half()": "float16",
    "logits.view(-1, 5)": "bfloat16",
    "logits.view(-1, 5).contiguous().float()": "float32",
    "logits[:, :4]": "bfloat16",
    "logits.float()[:, :4]": "float32",
    "logits / 2": "bfloat16",
    "logits / 2.0": "bfloat16",
    "logits.float() / 2.0": "float32",
    "2 * logits": "bfloat16",
    "-logits": "bfloat16",
    "logits.clamp(-9, 9)": "bfloat16",
    "torch.tanh(logits / 30) * 30": "bfloat16",
    "30 * torch.tanh(logits.float() / 30)": "float32",
    "logits.detach() + logits - logits": "bfloat16",
    "logits * scale": "open",
    "logits.to(y.dtype)": "open",
    "logits.to(other_dtype)": "open",
    "logits.type_as(scale)": "open",
    "logits.masked_fill(y > 3, -1e4)": "bfloat16",
    "torch.cat([logits, logits])": "bfloat16",
}


@pytest.mark.parametrize(("logits", "format"), CASTS.items())
def test_what_is_done_to_the_logits_decides(tmp_path: Path, logits: str, format: str) -> None:
    step = STEP.replace("def step(x, y):", "def step(x, y, scale, other_dtype):").format(logits=logits)
    assert computed(tmp_path, HEAD.format(cast=".bfloat16()") + step) == {format}


MODELS = {
    "": "float32",
    ".half()": "float16",
    ".bfloat16()": "bfloat16",
    ".to(torch.bfloat16)": "bfloat16",
    ".to(dtype=torch.half)": "float16",
    ".half().float()": "float32",
    ".double()": "float64",
}


@pytest.mark.parametrize(("cast", "format"), MODELS.items())
def test_the_format_of_the_model_is_that_of_its_logits(tmp_path: Path, cast: str, format: str) -> None:
    note = "\n# in bfloat16 or in another format\n"
    assert computed(tmp_path, HEAD.format(cast=cast) + note + STEP.format(logits="logits")) == {format}


REGIONS = {
    "torch.autocast('cuda')": "float32",
    "torch.autocast('cuda', dtype=torch.bfloat16)": "float32",
    "torch.autocast(device_type='cuda:0')": "float32",
    "torch.cuda.amp.autocast()": "float32",
    "torch.autocast('mps', torch.float16)": "float32",
    "torch.autocast('xpu', torch.bfloat16)": "float32",
    "torch.amp.autocast('cpu')": "bfloat16",
    "torch.cpu.amp.autocast()": "bfloat16",
    "torch.autocast('cpu', torch.float16)": "float16",
    "torch.autocast('cuda', enabled=False)": "float32",
    "torch.autocast(device)": "open",
    "torch.autocast('cuda', enabled=flag)": "open",
    "autocast_context()": "open",
    "torch.profiler.record_function('loss')": "float32",
}


@pytest.mark.parametrize(("region", "format"), REGIONS.items())
def test_a_region_decides_for_log_softmax(tmp_path: Path, region: str, format: str) -> None:
    step = f"""

def step(x, y, device, flag, autocast_context):
    with {region}:
        return F.nll_loss(F.log_softmax(model(x), -1), y)


half = torch.float16
"""
    assert computed(tmp_path, HEAD.format(cast="") + step) == {format}


@pytest.mark.parametrize(
    ("around", "device"),
    [
        ("with torch.autocast('cpu'):\n        return inner(x, y)", Device.CPU),
        ("with torch.autocast('cuda'):\n        return inner(x, y)", Device.CUDA),
        ("return inner(x, y)", None),
    ],
)
def test_a_region_around_the_caller_holds(tmp_path: Path, around: str, device: Device | None) -> None:
    text = HEAD.format(cast=".bfloat16()") + (
        f"\n\ndef inner(x, y):\n    return F.cross_entropy(model(x), y)\n\n\ndef step(x, y):\n    {around}\n"
    )
    (fact,) = facts(tmp_path, text)
    assert fact.autocast is device


def test_a_region_switched_off_inside_another_is_none(tmp_path: Path) -> None:
    text = (
        HEAD.format(cast=".bfloat16()")
        + """

def step(x, y):
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            return F.cross_entropy(model(x), y)
"""
    )
    assert computed(tmp_path, text) == {"bfloat16"}


DEVICES = {
    "": (Severity.WARNING, None),
    "device = 'cpu'": (Severity.WARNING, Device.CPU),
    "device = 'cuda'": (Severity.NOTE, Device.CUDA),
    "torch.cuda.manual_seed(0)": (Severity.NOTE, Device.CUDA),
    "device = 'cuda' if torch.cuda.is_available() else 'cpu'": (Severity.NOTE, Device.CUDA),
    "device = torch.device('mps')": (Severity.WARNING, Device.OTHER),
    "# on cuda, torch.cuda.amp": (Severity.WARNING, None),
}


@pytest.mark.parametrize(("line", "expected"), DEVICES.items())
def test_only_cuda_makes_it_a_note(tmp_path: Path, line: str, expected: tuple[Severity, Device | None]) -> None:
    text = HEAD.format(cast=".bfloat16()") + line + STEP.format(logits="logits")
    (fact,) = facts(tmp_path, text)
    (finding,) = report(tmp_path, text).findings
    assert (finding.code, finding.severity, fact.device) == ("TL302", *expected)


@pytest.mark.parametrize("spelling", ["torch.logsumexp(z, -1)", "z.logsumexp(-1)"])
def test_what_is_written_by_hand_rounds_on_cuda_too(tmp_path: Path, spelling: str) -> None:
    text = (
        HEAD.format(cast=".cuda().half()")
        + f"""

def nll_loss(x, y):
    z = model(x)
    return ({spelling} - z.gather(-1, y[:, None])[:, 0]).mean()
"""
    )
    (finding,) = report(tmp_path, text).findings
    assert (finding.code, finding.severity) == ("TL302", Severity.WARNING)
    assert "about 6.0" in finding.message


@pytest.mark.parametrize("wrapped", ["torch.no_grad()", "torch.inference_mode()"])
def test_nothing_is_said_of_an_evaluation_by_a_caller(tmp_path: Path, wrapped: str) -> None:
    text = HEAD.format(cast=".bfloat16()") + (
        "\n\ndef inner(x, y):\n    return F.cross_entropy(model(x), y)\n\n\n"
        f"def evaluate(x, y):\n    with {wrapped}:\n        return inner(x, y)\n"
    )
    assert not facts(tmp_path, text)


def test_where_nothing_mentions_16_bits_no_question_is_left(tmp_path: Path) -> None:
    text = "import torch.nn.functional as F\n\n\ndef step(logits, y):\n    return F.cross_entropy(logits, y)\n"
    assert computed(tmp_path, text) == {"float32"}
    open_one = computed(tmp_path, text, other="import torch\nhalf = torch.bfloat16\n")
    assert open_one == {"float32"}, "the other file has nothing to do with this one"


def test_what_a_file_imports_may_mention_16_bits(tmp_path: Path) -> None:
    text = "import torch.nn.functional as F\nimport other\n" + STEP.replace("    logits = model(x)\n", "")
    text = text.replace("step(x, y)", "step(logits, y)").format(logits="logits")
    assert computed(tmp_path, text, other="import torch\nhalf = torch.bfloat16\n") == {"open"}


SHARDED = {
    "fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))": "bfloat16",
    "fully_shard(model, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))": "bfloat16",
    "fully_shard(model, mp_policy=MixedPrecisionPolicy(torch.bfloat16, output_dtype=torch.float32))": "float32",
    "fully_shard(model, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.bfloat16))": "float32",
    "fully_shard(model)": "float32",
    "fully_shard(other, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))": "float32",
}


@pytest.mark.parametrize(("call", "format"), SHARDED.items())
def test_a_policy_of_fsdp_decides_without_a_region(tmp_path: Path, call: str, format: str) -> None:
    text = (
        "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard\n"
        + HEAD.format(cast="")
        + f"other = nn.Linear(8, 5)\n{call}\n"
        + STEP.format(logits="logits")
    )
    assert computed(tmp_path, text) == {format}


TRAINERS = {
    "precision='bf16-true'": "bfloat16",
    "precision='16-true'": "float16",
    "precision='bf16-mixed'": "float32",
    "precision=32": "float32",
    "": "float32",
    "precision=choose()": "open",
    "precision='bf16-true', strategy='deepspeed'": "open",
}


@pytest.mark.parametrize(("given", "format"), TRAINERS.items())
def test_the_precision_of_a_trainer_decides_in_a_step(tmp_path: Path, given: str, format: str) -> None:
    text = f"""
import lightning as L
import torch.nn.functional as F
from torch import nn


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 5)

    def training_step(self, batch, _):
        return F.cross_entropy(self.head(batch[0]), batch[1])


half = "bf16"
L.Trainer({given}).fit(Tagger())
"""
    assert computed(tmp_path, text) == {format}


@pytest.mark.parametrize("compiler", ["@torch.compile", "@torch.compile(dynamic=True)"])
def test_a_compiled_function_stays_in_32_bits(tmp_path: Path, compiler: str) -> None:
    text = HEAD.format(cast=".bfloat16()") + f"\n\n{compiler}" + STEP.format(logits="logits").lstrip()
    assert computed(tmp_path, text.replace(f"{compiler}def", f"{compiler}\ndef")) == {"float32"}


@pytest.mark.parametrize(
    "maker",
    [
        "Accelerator(mixed_precision=flag)",
        "Accelerator()",
        "TrainingArguments('out')",
        "Fabric()",
        "Fabric(precision='bf16-true')",
    ],
)
def test_a_library_that_may_open_a_region_leaves_it_open(tmp_path: Path, maker: str) -> None:
    imports = ("accelerate import Accelerator", "transformers import TrainingArguments", "lightning import Fabric")
    text = (
        "".join(f"from {each}\n" for each in imports)
        + HEAD.format(cast=".bfloat16()")
        + f"flag = input()\n{maker}\n"
        + STEP.format(logits="logits")
    )
    assert computed(tmp_path, text) == {"open"}


def test_accelerate_without_mixed_precision_opens_none(tmp_path: Path) -> None:
    text = "from accelerate import Accelerator\n" + HEAD.format(cast=".bfloat16()")
    assert computed(tmp_path, text + "Accelerator(mixed_precision='no')\n" + STEP.format(logits="logits")) == {
        "bfloat16"
    }
