"""Fast traversal of a model's modules: torch's own iterators take longer than a decoding step."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from regard.errors import UsageError
from regard.recipe import Decoding
from regard.tap import Tap


def modules_of(model: nn.Module) -> list[nn.Module]:
    """The model and all its submodules; shared ones occur more than once."""
    found = [model]
    for module in found:  # grows during the loop
        found.extend(part for part in module._modules.values() if part is not None)
    return found


def weights_of(model: nn.Module) -> list[Tensor]:
    """All parameters and buffers."""
    held = (each.values() for module in modules_of(model) for each in (module._parameters, module._buffers))
    return [tensor for tensors in held for tensor in tensors if tensor is not None]


def is_watched(model: nn.Module) -> bool:
    """Whether the caller records or replaces values at a tap."""
    return any(module.watched for module in modules_of(model) if isinstance(module, Tap))


def refuse_mixed_recording(model: nn.Module, settings: Decoding, sentences: int, *, forced: bool = False) -> None:
    """Refuses to record target-side taps while several hypotheses or sentences share a step: their rows move as
    searches branch and end. Taps on the source side alone are safe."""
    hypotheses = {"beam": settings.beam, "sample": settings.n_best, "greedy": 1}[settings.method]
    if sentences * hypotheses < 2 and not forced:
        return
    taps = (module for module in modules_of(model) if isinstance(module, Tap) and module.recorded)
    if any(not {"target", "past"}.isdisjoint(tap.axes) for tap in taps):
        raise UsageError(
            "recording this search would mix the rows of its hypotheses and sentences, which move at every step; "
            "use inspect(text), which labels every row and column, or record score() of a given output, or a single "
            "sentence with beam=1"
        )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode while the block runs; then restores each module's mode."""
    training = [module for module in modules_of(model) if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
