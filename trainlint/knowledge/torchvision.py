"""torchvision: the detectors that keep a class for the background. Names as torchvision 0.28 spells them, since 0.3.

``RetinaNet`` and ``FCOS`` are not among them: their documentation counts the background in ``num_classes`` too, but
each class has a sigmoid of its own, and label 0 is an object like any other.
"""

from __future__ import annotations

from trainlint.knowledge.signature import Signature

HOME = "torchvision.models.detection"
_BUILDER = ("weights", "progress", "num_classes", "weights_backbone", "trainable_backbone_layers")

WITH_BACKGROUND = (
    Signature("FastRCNNPredictor", ("in_channels", "num_classes")),
    Signature("MaskRCNNPredictor", ("in_channels", "dim_reduced", "num_classes")),
    *(Signature(name, ("backbone", "num_classes")) for name in ("FasterRCNN", "MaskRCNN", "KeypointRCNN")),
    Signature("SSDClassificationHead", ("in_channels", "num_anchors", "num_classes")),
    Signature("SSDLiteClassificationHead", ("in_channels", "num_anchors", "num_classes", "norm_layer")),
    *(
        Signature(name, _BUILDER)
        for name in (
            "fasterrcnn_resnet50_fpn", "fasterrcnn_resnet50_fpn_v2", "fasterrcnn_mobilenet_v3_large_320_fpn",
            "fasterrcnn_mobilenet_v3_large_fpn", "maskrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn_v2", "ssd300_vgg16",
            "ssdlite320_mobilenet_v3_large",
        )
    ),
    Signature("keypointrcnn_resnet50_fpn", ("weights", "progress", "num_classes", "num_keypoints")),
)  # fmt: skip
"""By their last word: each is known both in its own module and in the package. Class 0 is the background."""

OTHERS = (
    "retinanet",
    "fcos",
    "yolo",
    "detr",
    "effdet",
    "efficientdet",
    "centernet",
    "detectron",
    "mmdet",
    "ultralytics",
)
"""Words of detectors that number their labels otherwise: labels beside them may be theirs."""
