"""TL112: a label takes the class that the head keeps for what is no object.

Detectors keep one class for what is nothing. torchvision's Faster R-CNN, Mask R-CNN, Keypoint R-CNN and SSD keep class
0 for the background: labels start at 1, and ``num_classes`` is the number of kinds of objects plus one. DETR keeps the
last class for "no object": labels start at 0, and every query that is matched with nothing has the target
``num_classes``. RetinaNet and FCOS of torchvision keep none, so a label map that is right for one detector is wrong for
the next. The shapes fit in every case.

What it does. Objects whose label is the background are learned as background. A detector of three kinds whose labels
come from ``CLASSES.index(name)`` trains the first kind as background and never reports it; people meet it as "empty
predictions with a normal loss" (pytorch/vision issues 1360 and 1952). A set loss with the ids 1, 2 and 3 and the
filling 3, measured: the final loss is 0.0128, and every object of the last kind is predicted as nothing; with the ids
0, 1 and 2 it is 0.0116, and none is (facebookresearch/detr issue 108).

To fix it, count the labels from where the head counts them: from 1 with ``num_classes = len(CLASSES) + 1`` for
torchvision's background, from 0 for a last class that is no object.

Bad:

    import torch
    from torchvision.models.detection import fasterrcnn_resnet50_fpn

    CLASSES = ("helmet", "vest", "glove")
    model = fasterrcnn_resnet50_fpn(num_classes=len(CLASSES) + 1)


    def target(boxes, names):
        return {"boxes": boxes, "labels": torch.tensor([CLASSES.index(name) for name in names])}

Good:

    import torch
    from torchvision.models.detection import fasterrcnn_resnet50_fpn

    CLASSES = ("helmet", "vest", "glove")
    model = fasterrcnn_resnet50_fpn(num_classes=len(CLASSES) + 1)


    def target(boxes, names):
        return {"boxes": boxes, "labels": torch.tensor([CLASSES.index(name) + 1 for name in names])}

Severity. An error; a warning where the number of classes rests on a default. It is reported at the label, at the
filling of the targets, or at the width, whichever clashes.

Silent where labels and width are shifted together, where the label is itself called background or nothing, where the
project moves the labels after they were written, and in a project with other detectors unless the table of these labels
sizes this head.
"""

from collections.abc import Iterator

from trainlint import Finding, Integer, ReservedClass, Severity, Unknown, given, joined, rule, taken


@rule("TL112")
def background_collision(head: ReservedClass) -> Iterator[Finding]:
    """Flag a label that is the background, or that has no class because the background was not counted."""
    if isinstance(head.label, Unknown):
        return
    assumed = taken(head.classes)
    yield Finding(
        head.argument,
        f"{_clash(head, head.label)}{given(assumed)}",
        _so(head, head.label),
        joined(head.classes.evidence, head.shown),
        _cure(head),
        assumed,
        Severity.WARNING if assumed or not head.everywhere else Severity.ERROR,
        distinct=(f"{head.head} - {head.label} = {head.classes - Integer.exact(head.index)}",),
    )


def _clash(head: ReservedClass, label: str) -> str:
    if head.is_outside:
        return f"{head.head} has {head.classes} classes with the {head.reserved}, and {label} has the id {head.index}"
    return f"class {head.index}, which {head.head} keeps for {head.reserved}, is also the id of {label}"


def _so(head: ReservedClass, label: str) -> str:
    if head.is_outside:
        return f"{label} lies outside of the classes: the first one in a batch stops the run"
    return f"{label} is learned as {head.reserved} and never found, and the loss curve will not show it"


def _cure(head: ReservedClass) -> str:
    if head.is_outside:
        return f"give num_classes one more, for the {head.reserved}"
    return (
        "count the labels from 1, and num_classes with the background"
        if not head.index
        else ("count the labels from 0, so that the last class has no label")
    )
