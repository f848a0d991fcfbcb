"""TL506: a module is to be frozen, and goes on being trained.

``requires_grad`` is a switch of tensors. A module has none: ``model.encoder.requires_grad = False`` gives the module a
new attribute that nothing reads, as Python lets anyone do, and each of its parameters still asks for its gradient. The
same goes for ``require_grad`` and other spellings, of a parameter too.

What it does. The part that was to stay as it was pre-trained moves with every step, often at a learning rate that was
chosen for a new head, and takes the time and the memory of its gradients. Nothing fails, and the loss falls all the
same.

To fix it, call ``module.requires_grad_(False)``, which switches every parameter of the module.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    encoder, head = nn.Linear(8, 8), nn.Linear(8, 4)
    encoder.requires_grad = False
    model = nn.Sequential(encoder, head)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    F.cross_entropy(model(torch.randn(4, 8)), torch.arange(4)).backward()
    optimizer.step()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    encoder, head = nn.Linear(8, 8), nn.Linear(8, 4)
    encoder.requires_grad_(False)
    model = nn.Sequential(encoder, head)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    F.cross_entropy(model(torch.randn(4, 8)), torch.arange(4)).backward()
    optimizer.step()

Severity. An error: the line is named by which the object is a module, or a parameter. A warning where that holds on one
of several branches.

Silent for tensors, parameters and buffers, for classes that have a ``requires_grad`` of their own (a property, a field,
a flag that they read), where the same file freezes the parameters of the same object too, and for a switch that is
written on.
"""

from collections.abc import Iterator

from trainlint import Applicability, Finding, Fix, FreezingWrite, Replace, Unfrozen, Unknown, rule


@rule("TL506")
def freezes_nothing(write: FreezingWrite) -> Iterator[Finding]:
    """Flag a switch of gradients that switches nothing."""
    if isinstance(write.proof, Unknown):
        return
    call = f"{write.holder}.requires_grad_({write.value})"
    yield Finding(
        write.argument,
        f"{write.holder}.{write.attribute} = {write.value} freezes nothing: {_why(write)}",
        f"{_what(write)} a gradient with every step, and the optimizer that holds it trains on",
        (write.proof,),
        f"call {call}",
        fix=Fix(Applicability.SAFE, "Freeze the parameters", (Replace(write.argument, call),)),
    )


def _why(write: FreezingWrite) -> str:
    if write.why is Unfrozen.MODULE:
        return f"{write.holder} is a module, and only tensors have this switch"
    return f"PyTorch has no {write.attribute}, and a new attribute is made"


def _what(write: FreezingWrite) -> str:
    return f"each parameter of {write.holder} still gets" if write.is_module else f"{write.holder} still gets"
