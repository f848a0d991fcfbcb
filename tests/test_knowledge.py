"""The tables of libraries against the installed libraries: parameters, their order, the defaults that decide."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from trainlint.knowledge import (
    SIGNATURES,
    Signature,
    activations,
    averages,
    canonical,
    checkpoints,
    effects,
    losses,
    metrics,
    optimizers,
    torch,
    torchvision,
)

torch_itself = pytest.importorskip("torch")


def found(name: str) -> Any:
    """What a qualified name stands for; an attribute hides the module of its name, as in ``torch.nn.utils``."""
    thing, path = None, ""
    for word in name.split("."):
        path = f"{path}.{word}".lstrip(".")
        thing = getattr(thing, word) if hasattr(thing, word) else import_module(path)
    return thing


def parameters(thing: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What a call passes: of a deprecated class, what its ``__init__`` takes."""
    known = dict(inspect.signature(thing).parameters)
    if isinstance(thing, type) and set(known) <= {"args", "kwargs"}:
        known = dict(list(inspect.signature(vars(thing)["__init__"]).parameters.items())[1:])
    return known


def assert_defaults(known: Signature, real: dict[str, inspect.Parameter]) -> None:
    assert {name: real[name].default for name in known.defaults} == dict(known.defaults)


@pytest.mark.parametrize("known", torch.SIGNATURES, ids=lambda known: str(known.name))
def test_a_callable_of_torch_takes_what_the_table_says(known: Signature) -> None:
    real = parameters(found(known.name))
    assert tuple(real) == known.parameters
    assert_defaults(known, real)


@pytest.mark.parametrize("known", optimizers.TORCH, ids=lambda known: str(known.name))
def test_an_optimizer_of_torch_takes_what_the_table_says(known: optimizers.Known) -> None:
    real = parameters(found(known.name))
    assert tuple(real) == known.signature.parameters
    assert_defaults(known.signature, real)
    assert {known.second, known.switch} - {""} <= set(real)


@pytest.mark.parametrize("known", optimizers.OTHERS, ids=lambda known: str(known.name))
def test_an_optimizer_of_another_library_takes_what_the_table_says(known: optimizers.Known) -> None:
    pytest.importorskip(known.name.partition(".")[0])
    if known.name == "transformers.AdamW":
        pytest.skip("it ended with version 4")
    real = parameters(found(known.name))
    assert (
        tuple(real)[: len(known.signature.parameters)] == known.signature.parameters or "bf16_stochastic_round" in real
    )
    for name, default in known.signature.defaults.items():
        # optimi compensates 16-bit weights unless it is told not to: None stands for that.
        assert real[name].default == default or name == "kahan_sum"
    assert set(known.compensates) <= set(real)


def torchmetric(name: str) -> Any:
    """A metric by its short name, wherever torchmetrics keeps it."""
    head, _, last = name.rpartition(".")
    homes: Iterable[ModuleType] = (import_module(head), import_module(f"{head}.classification"))
    return next(getattr(home, last) for home in homes if hasattr(home, last))


@pytest.mark.parametrize(
    "known",
    [known for known in metrics.SIGNATURES if known.name not in metrics.GONE],
    ids=lambda known: str(known.name),
)
def test_a_metric_takes_what_the_table_says_up_to_the_index_it_skips(known: Signature) -> None:
    pytest.importorskip("torchmetrics")
    real = parameters(torchmetric(known.name))
    assert tuple(real)[: len(known.parameters)] == known.parameters
    assert known.parameters[-1] == "ignore_index"
    assert "num_classes" in known.parameters
    assert_defaults(known, real)


@pytest.mark.parametrize("name", metrics.GONE)
def test_a_metric_of_older_versions_is_not_in_the_new_one(name: str) -> None:
    pytest.importorskip("torchmetrics")
    with pytest.raises(StopIteration):
        torchmetric(name)


def test_every_metric_that_is_looked_for_has_a_signature() -> None:
    assert {*metrics.CLASSES, *metrics.FUNCTIONS} == {known.name for known in metrics.SIGNATURES}


@pytest.mark.parametrize("name", sorted({*torch.KEEPS_CLASSES, *torch.LAYERS}))
def test_a_layer_of_the_tables_is_a_module_of_torch(name: str) -> None:
    assert issubclass(found(name), torch_itself.nn.Module)


@pytest.mark.parametrize("name", torch.LAYERS)
def test_a_layer_takes_the_parameter_that_counts_its_classes(name: str) -> None:
    parameter, _ = torch.LAYERS[name]
    assert parameter in parameters(found(name))
    assert parameter in SIGNATURES[name].parameters


@pytest.mark.parametrize("name", sorted(torch.WRAPPERS | torch.KEEPING_FUNCTIONS))
def test_a_function_of_the_tables_exists(name: str) -> None:
    assert callable(found(name))


@pytest.mark.parametrize("name", sorted(torch.KEEPING_METHODS))
def test_a_method_that_keeps_classes_is_a_method_of_a_tensor(name: str) -> None:
    assert callable(getattr(torch_itself.Tensor, name))


@pytest.mark.parametrize("name", sorted(torch.SELF_METHODS - {"npu"}))
def test_a_method_that_returns_the_module_is_a_method_of_a_module(name: str) -> None:
    """``npu`` is put there by an extension."""
    assert callable(getattr(torch_itself.nn.Module, name))


@pytest.mark.parametrize("name", sorted(torch.SHARED))
def test_a_shared_function_has_two_names_that_are_known_as_one(name: str) -> None:
    short = f"torch.{name.rpartition('.')[2]}"
    assert callable(found(short))
    assert canonical(short) == name


@pytest.mark.parametrize("name", sorted({*activations.FUNCTIONS, *activations.SAME_FUNCTIONS}))
def test_an_activation_or_a_copy_of_the_tables_is_a_function_of_torch(name: str) -> None:
    assert callable(found(name))


@pytest.mark.parametrize("name", sorted({*activations.MODULES, *activations.SAME_MODULES}))
def test_an_activation_of_the_tables_is_a_module_that_keeps_classes(name: str) -> None:
    assert issubclass(found(name), torch_itself.nn.Module)
    assert name in torch.KEEPS_CLASSES


@pytest.mark.parametrize("name", sorted({*activations.METHODS, *activations.SAME_METHODS}))
def test_an_activation_or_a_copy_of_the_tables_is_a_method_of_a_tensor(name: str) -> None:
    assert callable(getattr(torch_itself.Tensor, name))


@pytest.mark.parametrize("known", torchvision.WITH_BACKGROUND, ids=lambda known: str(known.name))
def test_a_detector_takes_what_the_table_says_up_to_its_classes(known: Signature) -> None:
    pytest.importorskip("torchvision")
    homes = [
        import_module(f"{torchvision.HOME}{home}") for home in ("", ".faster_rcnn", ".mask_rcnn", ".ssd", ".ssdlite")
    ]
    real = tuple(parameters(next(getattr(home, known.name) for home in homes if hasattr(home, known.name))))
    count = known.parameters.index("num_classes") + 1
    assert real[:count] == known.parameters[:count]


@pytest.mark.parametrize("known", losses.SIGNATURES, ids=lambda known: str(known.name))
def test_a_loss_of_another_library_takes_what_the_table_says(known: Signature) -> None:
    pytest.importorskip(known.name.partition(".")[0])
    real = parameters(found(known.name))
    assert [name for name in real if name in known.parameters] == list(known.parameters)
    assert_defaults(Signature(known.name, known.parameters, _told(known)), real)


def _told(known: Signature) -> dict[str, object]:
    """The defaults as the library writes them: torch writes None for -100."""
    return {} if known.name.startswith("torch.") else dict(known.defaults)


@pytest.mark.parametrize("known", losses.KNOWN.values(), ids=lambda known: str(known.name))
def test_a_contract_names_the_parameter_that_says_what_is_skipped(known: losses.Contract) -> None:
    of_keywords = known.name.startswith("torch.")
    assert of_keywords or known.sentinel in known.parameters
    assert canonical(known.name) == known.name


@pytest.mark.parametrize("known", averages.KNOWN, ids=lambda known: str(known.signature.name))
def test_an_average_of_weights_takes_what_the_table_says(known: averages.Averager) -> None:
    pytest.importorskip(known.signature.name.partition(".")[0])
    real = parameters(found(known.signature.name))
    count = max(map(known.signature.parameters.index, (known.model, known.decay))) + 1
    assert tuple(real)[:count] == known.signature.parameters[:count]
    assert_defaults(known.signature, real)


@pytest.mark.parametrize("known", [averages.AVERAGED, *averages.FUNCTIONS.values()], ids=lambda known: str(known.name))
def test_the_averages_of_pytorch_take_what_the_table_says(known: Signature) -> None:
    real = parameters(found(known.name))
    assert tuple(real) == known.parameters
    assert_defaults(known, real)


@pytest.mark.parametrize("known", checkpoints.LIGHTNING_CALLBACKS, ids=lambda known: str(known.name))
def test_a_callback_of_lightning_takes_what_the_table_says_first(known: Signature) -> None:
    pytest.importorskip("lightning")
    real = parameters(found(known.name))
    assert tuple(real)[: len(known.parameters)] == known.parameters
    assert_defaults(known, real)


def test_a_scheduler_that_waits_takes_what_the_table_says_first() -> None:
    known = checkpoints.PLATEAU
    real = parameters(found(known.name))
    assert tuple(real)[: len(known.parameters)] == known.parameters
    assert_defaults(known, real)


@pytest.mark.parametrize("known", checkpoints.IGNITE.values(), ids=lambda known: str(known.name))
def test_a_handler_of_ignite_takes_what_the_table_says_first(known: Signature) -> None:
    pytest.importorskip("ignite")
    assert tuple(parameters(found(known.name)))[: len(known.parameters)] == known.parameters


def test_a_callback_of_fastai_takes_what_the_table_says_first() -> None:
    pytest.importorskip("fastai")
    known = checkpoints.TRACKERS
    real = parameters(found(known.name))
    assert tuple(real)[: len(known.parameters)] == known.parameters
    assert_defaults(known, real)


@pytest.mark.parametrize("name", ["TrainingArguments", "Seq2SeqTrainingArguments"])
def test_the_arguments_of_a_trainer_choose_the_best_model(name: str) -> None:
    pytest.importorskip("transformers")
    real = parameters(found(f"transformers.{name}"))
    assert {"load_best_model_at_end", "metric_for_best_model", "greater_is_better"} <= set(real)
    assert name in checkpoints.ARGUMENTS


FLAT, WIDE = torch_itself.arange(4.0), torch_itself.ones(2, 2)
GIVEN: dict[str, tuple[Any, ...]] = {
    "bernoulli": (0.5,),
    "clamp": (0, 1),
    "clamp_max": (1,),
    "clamp_min": (0,),
    "clip": (0, 1),
    "expand": (1, 4),
    "flip": (0,),
    "movedim": (0, 0),
    "permute": (0,),
    "pow": (2,),
    "repeat": (2,),
    "reshape": (2, 2),
    "roll": (1,),
    "softmax": (0,),
    "tile": (2,),
    "to": (torch_itself.float16,),
    "transpose": (0, 0),
    "unsqueeze": (0,),
    "view": (2, 2),
}
"""What an operation is tried with; others are tried with nothing, or with themselves."""


@pytest.mark.parametrize("name", sorted(effects.IN_PLACE_TWINS))
def test_an_operation_with_a_twin_makes_a_new_tensor(name: str) -> None:
    assert not name.endswith("_")
    assert callable(getattr(torch_itself.Tensor, name))
    assert callable(getattr(torch_itself.Tensor, f"{name}_"))


@pytest.mark.parametrize("name", sorted(effects.NEW_TENSORS))
def test_an_operation_without_a_twin_is_documented_to_return_a_tensor(name: str) -> None:
    page = " ".join((getattr(torch_itself.Tensor, name).__doc__ or "").split())
    assert "-> Tensor" in page or "Returns a new" in page or "See :func:`torch." in page or "Alias for" in page
    assert not hasattr(torch_itself.Tensor, f"{name}_")


@pytest.mark.parametrize("name", sorted(effects.METHODS - {"cuda"}))
def test_an_operation_leaves_the_tensor_as_it_was(name: str) -> None:
    tensor = FLAT.clone()
    for given in (GIVEN.get(name, ()), (tensor,)):
        try:
            made = getattr(tensor, name)(*given)
        except (TypeError, RuntimeError, IndexError, ValueError):
            continue
        assert isinstance(made, torch_itself.Tensor)
        break
    assert torch_itself.equal(tensor, FLAT)


@pytest.mark.parametrize("name", sorted(effects.FUNCTIONS))
def test_a_function_whose_result_matters_exists_and_takes_no_other_switch(name: str) -> None:
    function = found(name)
    assert callable(function)
    assert ("inplace=" in (function.__doc__ or "")) <= bool(effects.SWITCHES)


@pytest.mark.parametrize("name", sorted(effects.IN_PLACE_FUNCTIONS))
def test_a_function_that_is_said_to_have_a_twin_has_one(name: str) -> None:
    assert name in effects.FUNCTIONS
    assert callable(found(f"{name}_"))


@pytest.mark.parametrize("name", sorted(effects.MAKERS | effects.TENSOR_ONLY | effects.TENSORS))
def test_what_makes_or_takes_tensors_exists(name: str) -> None:
    assert callable(found(name))


@pytest.mark.parametrize("name", sorted(effects.TENSOR_ONLY))
@pytest.mark.parametrize("other", [[0.5], (0.5,), {"a": 1}, "text"])
def test_what_takes_only_tensors_takes_no_other_container(name: str, other: Any) -> None:
    with pytest.raises((TypeError, AttributeError, RuntimeError, ValueError)):
        found(name)(other)


@pytest.mark.parametrize("name", sorted(effects.ANSWERS | effects.PARTS))
def test_an_answer_is_one_of_a_tensor(name: str) -> None:
    assert hasattr(torch_itself.Tensor, name)


def test_no_spelling_of_a_switch_is_known_to_torch() -> None:
    holders = (torch_itself.Tensor, torch_itself.nn.Module, torch_itself.nn.Parameter)
    assert not any(hasattr(holder, name) for holder in holders for name in effects.MISSPELLED)
    assert not hasattr(torch_itself.nn.Module, "requires_grad")
