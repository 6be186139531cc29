"""How far a run has come: all that training must remember besides weights, optimizer state and carry.

There is no state of a random generator here. The loop seeds torch at every step with a number drawn from
(seed, step, rank), so whatever is random in a step is a function of where it stands; no validation, no kill and no
other number of processes can shift it.
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
    """Times that training went back since it last got on."""
    batches_in_pass: Count = 0
    """Batches in a pass over the training text, where the schedule must know it; otherwise 0."""
    rate_factor: float = 1.0
    """Halved each time that training goes back."""
    lowerings: Count = 0
    """Times that the plateau schedule lowered the rate."""
    waited: Count = 0
    """Validations without improvement since the last improvement or lowering, for the plateau schedule."""
    stale: Count = 0
    """Validations without improvement since the best, for early stopping."""
    averaged_since: Count = 0
    """The step after which weights are averaged, if they are from when training stops getting on; 0 means not yet."""
    best: Best | None = None
    validated: list[str] = field(default_factory=list)
    """Names of the last validated checkpoints, as many as are to be averaged, oldest first."""
    processes: Positive = 1
    """Processes that trained together; a carry can only be dealt out to as many."""

    def to_json(self) -> bytes:
        return _PROGRESS.dump_json(self, indent=2)

    @classmethod
    def from_json(cls, content: bytes) -> "Progress":
        """Raises ValueError, in words, for anything but what `to_json` writes."""
        try:
            return _PROGRESS.validate_json(content, strict=True)
        except ValidationError as error:
            detail = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}") from None


_PROGRESS = TypeAdapter(Progress)
