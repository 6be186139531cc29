"""Training: one loop for every task (`loop.py`), as a generator of events, and a run on disk (`session.py`)."""

from regard.train.events import Averaged, Ended, Event, Noted, Prepared, Saved, Started, Step, Validated, WentBack
from regard.train.loop import train
from regard.train.optimizers import OPTIMIZERS
from regard.train.ranks import Ranks, joined_ranks
from regard.train.repeating import Repeat, Results, Spread
from regard.train.report import Reporter, reporting
from regard.train.schedules import SCHEDULES
from regard.train.session import run, run_task

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Averaged",
    "Ended",
    "Event",
    "Noted",
    "Prepared",
    "Ranks",
    "Repeat",
    "Reporter",
    "Results",
    "Saved",
    "Spread",
    "Started",
    "Step",
    "Validated",
    "WentBack",
    "joined_ranks",
    "reporting",
    "run",
    "run_task",
    "train",
]
