"""Every tap of every model names its axes, and what passes has the lengths that they claim."""

from collections.abc import Mapping

import torch
from language_strategies import SIZE, every_language_generator, rows, tiny_language_model
from model_strategies import SOURCE_SIZE, TARGET_SIZE, every_generator, tiny_model, worded
from torch import Tensor

from regard.data.batch import Padded
from regard.models.generator import Generator
from regard.tap import Seen, record, taps

ROWS, SOURCE, TARGET = 2, 5, 3


def check(model: Generator, seen: Seen, lengths: Mapping[str, int]) -> None:
    for name, tap in taps(model).items():
        assert seen[name], name
        for tensor in seen[name]:
            assert len(tap.axes) == tensor.ndim, name
            assert tap.axes[0] == "row", name
            for axis, length in zip(tap.axes, tensor.shape, strict=True):
                if axis not in ("head", "feature"):
                    assert length == sum(lengths.get(part, 1) for part in axis.split("+")), (name, axis)
    # Nothing is left that only a larger whole could name.
    assert {"query", "key", "step"}.isdisjoint(axis for tap in taps(model).values() for axis in tap.axes)


@every_generator
def test_translators(name: str) -> None:
    model = tiny_model(name)
    source = worded(Padded(torch.randint(SOURCE_SIZE, (ROWS, SOURCE)), torch.tensor([SOURCE, 2])))
    target: Tensor = torch.randint(TARGET_SIZE, (ROWS, TARGET))
    with torch.inference_mode(), record(model) as seen:
        model.advance(target, model.start(source, TARGET))
    check(model, seen, {"row": ROWS, "source": SOURCE, "target": TARGET, "past": TARGET})


@every_language_generator
def test_language_models(name: str) -> None:
    model = tiny_language_model(name)
    with torch.inference_mode(), record(model) as seen:
        model.advance(torch.randint(4, SIZE, (ROWS, TARGET)), model.start(rows(ROWS), TARGET))
    check(model, seen, {"row": ROWS, "target": TARGET, "past": TARGET})
