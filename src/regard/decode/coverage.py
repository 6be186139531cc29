"""Attention to the source, for the coverage penalty."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor

from regard.errors import UsageError
from regard.models.generator import Generator
from regard.tap import record


@contextmanager
def attention_reader(model: Generator, coverage_penalty: float) -> Iterator[Callable[[], Float[Tensor, "N S"] | None]]:
    """Yields a function that returns the attention each source token got in the last `advance`, averaged over the heads
    of the top layer. Without a penalty nothing is recorded and it returns None."""
    if not coverage_penalty:
        yield lambda: None
        return
    if not model.cross_taps:
        raise UsageError(
            f"coverage_penalty = {coverage_penalty}, but {type(model).__name__} has no cross-attention here; "
            "set coverage_penalty to 0"
        )
    tap = model.cross_taps[-1]
    with record(model, tap) as seen:

        def read() -> Tensor:
            weights = seen.last(tap)  # "N H n S"
            seen[tap].clear()
            return weights.float().mean(1).sum(1)

        yield read
