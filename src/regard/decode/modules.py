"""Quick ways through the modules of a model: torch's own take longer than steps of decoding do."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from regard.errors import UsageError
from regard.recipe import Decoding
from regard.tap import Tap


def modules_of(model: nn.Module) -> list[nn.Module]:
    """The model and all modules in it; one that is in two places comes twice."""
    found = [model]
    for module in found:  # which grows meanwhile
        found.extend(part for part in module._modules.values() if part is not None)
    return found


def weights_of(model: nn.Module) -> list[Tensor]:
    """All parameters and buffers."""
    held = (each.values() for module in modules_of(model) for each in (module._parameters, module._buffers))
    return [tensor for tensors in held for tensor in tensors if tensor is not None]


def is_watched(model: nn.Module) -> bool:
    """Whether the caller records or intervenes at a tap."""
    return any(module.watched for module in modules_of(model) if isinstance(module, Tap))


def refuse_mixed_recording(model: nn.Module, settings: Decoding, sentences: int, *, forced: bool = False) -> None:
    """Refuses to record what is written while several hypotheses or sentences share the rows of each step, which move
    as searches branch and end. What is recorded of the source alone stays clear."""
    places = {"beam": settings.beam, "sample": settings.n_best, "greedy": 1}[settings.method]
    if sentences * places < 2 and not forced:
        return
    taps = (module for module in modules_of(model) if isinstance(module, Tap) and module.recorded)
    if any(not {"target", "past"}.isdisjoint(tap.axes) for tap in taps):
        raise UsageError(
            "a recording of this search would mix the rows of its hypotheses and sentences, which move as it goes on; "
            "use inspect(text), which names every row and column, or record score() of a given output, or a single "
            "sentence with beam=1"
        )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Dropout is off while the block runs; then every part is again in the mode it was in."""
    training = [module for module in modules_of(model) if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
