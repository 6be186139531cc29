"""Models: everything that has `start`, `advance` and a `readout`."""

from regard.models.generator import Generator, Readout, State
from regard.models.readout import LinearReadout

__all__ = ["Generator", "LinearReadout", "Readout", "State"]
