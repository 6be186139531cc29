"""The training state saved in a checkpoint besides weights, optimizer state and carry.

It holds no random generator state: the loop seeds torch at every step from (seed, step, rank), so the randomness of a
step does not depend on validations, kills or the number of processes.
"""

from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from regard.data.batches import CorpusPosition
from regard.recipe.section import Count, Positive


@dataclass
class Best:
    """The best validation so far."""

    value: float
    step: int


@dataclass
class Progress:
    """Changed in place by the loop, saved as `progress.json`."""

    step: Count = 0
    """Steps done, skipped ones included."""
    position: CorpusPosition = field(default_factory=CorpusPosition)
    """Where the next batch is."""
    seconds: float = 0.0
    """Time trained so far."""
    targets: Count = 0
    """Targets trained on so far."""
    skipped: Count = 0
    """Non-finite steps in all."""
    streak: Count = 0
    """Non-finite steps in a row up to now."""
    setbacks: Count = 0
    """Rollbacks since the last validation that was not amid non-finite steps."""
    batches_in_pass: Count = 0
    """Batches per pass over the training text, if the schedule needs it; otherwise 0."""
    rate_factor: float = 1.0
    """Halved by each rollback."""
    lowerings: Count = 0
    """Times the plateau schedule lowered the rate."""
    waited: Count = 0
    """Validations without improvement since the last improvement or lowering, for the plateau schedule."""
    stale: Count = 0
    """Validations without improvement since the best, for early stopping."""
    averaged_since: Count = 0
    """The step at which averaging began, if it begins when training stops improving; 0 means not yet."""
    best: Best | None = None
    validated: list[str] = field(default_factory=list)
    """Names of the last validated checkpoints, oldest first, up to the number to be averaged."""
    processes: Positive = 1
    """Processes of the run; a carry can only be restored to the same number."""

    def to_json(self) -> bytes:
        return _PROGRESS.dump_json(self, indent=2)

    @classmethod
    def from_json(cls, content: bytes) -> "Progress":
        """Raises ValueError with a readable message if the content is not what `to_json` writes."""
        try:
            return _PROGRESS.validate_json(content, strict=True)
        except ValidationError as error:
            detail = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}") from None


_PROGRESS = TypeAdapter(Progress)
