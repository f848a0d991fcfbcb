"""Where numbers come from: small programs, each with the verdict that it must get."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.report import Report

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

EOS = 9
"""
LOSS = "\n\ndef step(x, y):\n    return F.cross_entropy(logits(x), y, ignore_index={ignored})\n"


def report(folder: Path, files: dict[str, str | bytes]) -> Report:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return check(Request((str(folder),), str(folder), isolated=True))


def verdict(folder: Path, lines: str, ignored: str = "EOS", **files: str | bytes) -> str:
    """``flagged``, ``noted`` one past the end, ``safe`` or ``open`` of the one loss of a program."""
    text = f"{HEAD}{lines}{LOSS.format(ignored=ignored)}"
    found = report(folder, {"train.py": text, **{name.replace("__", "."): data for name, data in files.items()}})
    codes = {finding.code for finding in found.findings}
    assert codes <= {"TL101", "TL102"}, codes
    if any(each.question.startswith("does the loss skip") for each in found.unjudged):
        return "open"
    return "flagged" if "TL101" in codes else "noted" if codes else "safe"


MODELS = {
    "torchvision": (
        "from torchvision.models import resnet18\nmodel = resnet18(num_classes={n})\n",
        "lambda x: model(x)",
    ),
    "torchvision, its last layer replaced": (
        "from torchvision.models import resnet18\nmodel = resnet18()\nmodel.fc = nn.Linear(512, {n})\n",
        "lambda x: model(x)",
    ),
    "segmentation of torchvision": (
        "from torchvision.models.segmentation import fcn_resnet50\nmodel = fcn_resnet50(num_classes={n})\n",
        "lambda x: model(x)['out']",
    ),
    "timm": ("import timm\nmodel = timm.create_model('vit_tiny', num_classes={n})\n", "lambda x: model(x)"),
    "smp": (
        "import segmentation_models_pytorch as smp\nmodel = smp.Unet('resnet18', classes={n})\n",
        "lambda x: model(x)",
    ),
    "labels of transformers": (
        "from transformers import AutoModelForTokenClassification as Auto\n"
        "model = Auto.from_pretrained('bert-base-cased', num_labels={n})\n",
        "lambda x: model(x).logits",
    ),
    "vocabulary of transformers": (
        "from transformers import GPT2Config, GPT2LMHeadModel\nmodel = GPT2LMHeadModel(GPT2Config(vocab_size={n}))\n",
        "lambda x: model(x)[0]",
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_of_a_library_has_the_classes_that_it_is_made_with(tmp_path: Path, kind: str) -> None:
    lines, logits = MODELS[kind]
    for number, expected in (("EOS + 1", "flagged"), ("EOS", "noted")):
        program = f"{lines.format(n=number)}\n\ndef logits(x):\n    return ({logits})(x)\n"
        assert verdict(tmp_path, program) == expected


CHANGED = {
    "a part of the head": "from torchvision.models import vgg16\nmodel = vgg16()\n"
    "model.classifier[6] = nn.Linear(4096, 10)\n",
    "elsewhere": "from torchvision.models import resnet18\nmodel = resnet18(num_classes=10)\n\n\n"
    "def shrink(net):\n    net.fc = nn.Linear(512, 5)\n\n\nshrink(model)\n",
    "a checkpoint": "import timm\nmodel = timm.create_model('vit_tiny', pretrained=True)\n",
    "resized": "from transformers import GPT2Config, GPT2LMHeadModel\n"
    "model = GPT2LMHeadModel(GPT2Config(vocab_size=10))\n"
    "model.resize_token_embeddings(12)\n",
    "features": "import timm\nmodel = timm.create_model('vit_tiny', num_classes=0)\n",
}


@pytest.mark.parametrize("kind", CHANGED)
def test_a_model_whose_classes_something_else_decides_is_not_guessed(tmp_path: Path, kind: str) -> None:
    assert verdict(tmp_path, f"{CHANGED[kind]}\n\ndef logits(x):\n    return model(x)\n") == "open"


def test_the_size_of_the_logits_is_no_class_of_theirs(tmp_path: Path) -> None:
    lines = "layer = torch.load('layer.pt')\n\n\ndef logits(x):\n    return layer(x)\n"
    loss = (
        "\n\ndef step(x, y):\n    scores = logits(x)\n    last = scores.size({place})\n"
        "    return F.cross_entropy(scores, y, ignore_index=last)\n"
    )
    for place, unjudged in (("1", 0), ("2", 1)):
        found = report(tmp_path, {"train.py": f"{HEAD}{lines}{loss.format(place=place)}"})
        assert not found.findings
        assert sum(each.question.startswith("does the loss skip") for each in found.unjudged) == unjudged


def test_a_name_that_nobody_settles_is_followed_to_each_candidate(tmp_path: Path) -> None:
    table = "import sys\nmodels = {{'a': nn.Linear, 'b': nn.LazyLinear}}\nmake = {{'a': a, 'b': b}}[sys.argv[1]]\n"
    pair = "def a():\n    return nn.Linear(4, {0})\n\n\ndef b():\n    return nn.Linear(4, {1})\n\n\n"
    end = "model = make()\n\n\ndef logits(x):\n    return model(x)\n"
    for widths, expected in (((10, 10), "flagged"), ((10, 5), "flagged"), ((5, 5), "safe")):
        assert verdict(tmp_path, f"{pair.format(*widths)}{table.format()}{end}") == expected


def test_a_setattr_doubts_only_what_it_can_write(tmp_path: Path) -> None:
    lines = (
        "class Base:\n    def __init__(self, **others):\n        for name, value in others.items():\n"
        "            setattr(self, name, value)\n\n\n"
        "class Model(Base):\n    def __init__(self, size, **others):\n        super().__init__(**others)\n"
        "        self.size = size\n        self.head = nn.Linear(4, self.size)\n\n\n"
        "model = Model({size}{more})\n\n\ndef logits(x):\n    return model.head(x)\n"
    )
    assert verdict(tmp_path, lines.format(size="EOS + 1", more="")) == "flagged"
    assert verdict(tmp_path, lines.format(size="EOS + 1", more=", rate=2")) == "flagged"
    assert verdict(tmp_path, lines.format(size="EOS", more=", rate=2")) == "noted"


def weights(**tensors: list[int]) -> bytes:
    """A file of weights, all of them zero."""
    header, start = {}, 0
    for name, sizes in tensors.items():
        count = 4 * sizes[0] * sizes[1]
        header[name.replace("__", ".")] = {"dtype": "F32", "shape": sizes, "data_offsets": [start, start + count]}
        start += count
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(start)


SAVED = (
    "from safetensors.torch import load_file\nsaved = load_file('model.safetensors')\n"
    "{take}\n\n\ndef logits(x):\n    return F.linear(x, torch.zeros(3)) if False else head(x)\n"
)


@pytest.mark.parametrize(
    "take",
    [
        "head = nn.Linear(4, saved['head.weight'].shape[0])",
        "head = nn.Linear(4, saved['head.weight'].size(0))",
        "rows, columns = saved['head.weight'].shape\nhead = nn.Linear(columns, rows)",
    ],
)
def test_the_shape_of_a_saved_tensor_is_read_from_its_header(tmp_path: Path, take: str) -> None:
    for rows, expected in ((10, "flagged"), (9, "noted")):
        data = weights(head__weight=[rows, 4])
        assert verdict(tmp_path, SAVED.format(take=take), model__safetensors=data) == expected


@pytest.mark.parametrize("data", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0[]", struct.pack("<Q", 9) + b'{"head":1'])
def test_a_file_of_weights_without_a_header_says_nothing(tmp_path: Path, data: bytes) -> None:
    take = "head = nn.Linear(4, saved['head.weight'].shape[0])"
    assert verdict(tmp_path, SAVED.format(take=take), model__safetensors=data) == "open"


FOLDERS = {
    "labels": ("AutoModelForTokenClassification as Auto", {"id2label": {str(each): "x" for each in range(10)}}),
    "vocabulary": ("AutoModelForCausalLM as Auto", {"vocab_size": 10, "eos_token_id": 9}),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_model_out_of_a_folder_of_the_project_has_the_classes_of_its_config(tmp_path: Path, kind: str) -> None:
    name, config = FOLDERS[kind]
    lines = f"from transformers import {name}\nmodel = Auto.from_pretrained('saved')\n"
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "config.json").write_text(json.dumps(config))
    assert verdict(tmp_path, f"{lines}\n\ndef logits(x):\n    return model(x).logits\n") == "flagged"


def test_an_id_out_of_a_saved_config_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "config.json").write_text('{"vocab_size": 10, "eos_token_id": 9}')
    lines = (
        "from transformers import AutoConfig\nconfig = AutoConfig.from_pretrained('saved')\n"
        "head = nn.Linear(4, config.vocab_size)\n\n\ndef logits(x):\n    return head(x)\n"
    )
    assert verdict(tmp_path, lines, ignored="config.eos_token_id") == "flagged"
