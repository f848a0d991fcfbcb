"""Models of libraries that are made with their class count: of torchvision 0.28, timm 1.0, segmentation_models_pytorch
0.5 and transformers 5.24. Only a count that the code states is taken: what a checkpoint holds is its own business.
"""

from __future__ import annotations

from trainlint.record import record


@record
class Head:
    """Which parameter counts the classes, its default where the library has one, and where the classes stand.

    ``keys`` are the entries of a dictionary of outputs, ``attributes`` the last layers that programs replace.
    """

    parameter: str
    default: int | None = None
    dim: int = -1
    keys: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


REPLACED = ("fc", "classifier", "head", "heads", "last_linear")
CLASSIFIER = Head("num_classes", 1000, attributes=REPLACED)
SEGMENTER = Head("num_classes", 21, 1, ("out", "aux"), ("classifier", "aux_classifier", "backbone"))
NAMED = Head("num_classes", attributes=REPLACED)
MASKS = Head("classes", 1, 1, attributes=("segmentation_head",))
LANGUAGE = Head("num_labels", attributes=("lm_head", "classifier", "score", "cls"))

FAMILIES = (
    "alexnet", "convnext_", "densenet", "efficientnet_", "maxvit_", "mnasnet", "mobilenet_", "regnet_", "resnet",
    "resnext", "shufflenet_", "squeezenet", "swin_", "vgg", "vit_", "wide_resnet",
)  # fmt: skip
"""How the names of torchvision's classifiers begin that return one tensor; GoogLeNet and Inception return more."""

SEGMENTERS = ("deeplabv3_", "fcn_", "lraspp_")
MASK_MODELS = frozenset(
    {
        "Unet", "UnetPlusPlus", "FPN", "PSPNet", "DeepLabV3", "DeepLabV3Plus", "MAnet", "Linknet", "PAN", "Segformer",
        "UPerNet", "DPT", "create_model",
    }
)  # fmt: skip

LABELS = ("ForTokenClassification", "ForSequenceClassification", "ForImageClassification", "ForAudioClassification")
WORDS = ("ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForConditionalGeneration", "ForSeq2SeqLM")


def head(name: str) -> Head | None:
    """How a callable of a library makes its last layer; None where that is not known.

    >>> names = ("torchvision.models.resnet18", "timm.create_model", "torchvision.models.inception_v3")
    >>> [known.parameter if (known := head(name)) else None for name in names]
    ['num_classes', 'num_classes', None]
    """
    library, _, _ = name.partition(".")
    last = name.rpartition(".")[2]
    if library == "torchvision" and ".segmentation." in name and last.startswith(SEGMENTERS):
        return SEGMENTER
    if library == "torchvision" and ".models." in name and name.count(".") < 4 and last.startswith(FAMILIES):
        return None if any(part in name for part in (".detection.", ".video.", ".quantization.")) else CLASSIFIER
    if name == "timm.create_model" or name == "timm.models.create_model":
        return NAMED
    return MASKS if library == "segmentation_models_pytorch" and last in MASK_MODELS else None


def counted_by(name: str) -> str | None:
    """Which setting of a transformers model counts its classes, by how its name ends."""
    last = name.rpartition(".")[2]
    if not name.startswith("transformers."):
        return None
    return "num_labels" if last.endswith(LABELS) else "vocab_size" if last.endswith(WORDS) else None
