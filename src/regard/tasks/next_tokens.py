"""The next-token distribution of a language model, as arrays of an inspection."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from regard.data.batch import Padded
from regard.decode.generate import allowed_log_probs, choose
from regard.decode.modules import evaluating
from regard.decode.sampling import Sampling
from regard.inspect import Array
from regard.inspect.watch import copies_in, parts_in, recorded
from regard.models import LanguageModel

WEIGHTS = ("*weights",)


@torch.inference_mode()
def next_token(
    model: LanguageModel,
    given: Sequence[int],
    never: Sequence[int],
    drawing: Sampling | None,
    place: int,
    count: int,
    name: Callable[[int], str],
) -> tuple[dict[str, Array], list[str]]:
    """The `count` likeliest tokens after the given ones, and the one chosen at a `place` of the generated text; and the
    names of the given ones."""
    read = torch.tensor([list(given)], device=model.like.device)
    hidden = torch.tensor(list(never), dtype=torch.long, device=read.device)
    nothing, lengths = Padded(read[:, :0], read.new_zeros(1)), {"target": [len(given)], "past": [len(given)]}
    with evaluating(model):
        (seen,), (features, state) = recorded(
            model, WEIGHTS, lengths, lambda: model.advance(read, model.start(nothing, len(given)))
        )
        log_probs = allowed_log_probs(model, features, state, hidden)
        chosen = int(choose(log_probs, drawing, read.new_tensor([place])))
        chances = (log_probs[0, 0] / (drawing.settings.temperature if drawing else 1.0)).softmax(-1)
        possible = int((chances > 0).sum())
        tokens: list[int] = chances.topk(min(count, possible)).indices.tolist()
        tokens += [] if chosen in tokens else [chosen]
        wanted, readout = read.new_tensor([tokens]), model.readout_of(state)
        # One after the other, because a readout is bound to the words of its row.
        last = features[:, -1:]
        parts = parts_in(readout, last.expand(1, len(tokens), -1), wanted)
        copies = copies_in(readout, last, "past")
    arrays = {
        "candidates": Array(("rank",), chances[tokens].cpu().numpy(), np.array([*map(name, tokens)], dtype=object)),
        "tokens": Array(("rank",), np.array(tokens)),
        "next": Array((), np.array(tokens.index(chosen))),
        "entropy": Array((), np.array(_entropy(chances))),
    }
    if parts:
        arrays["parts"] = Array(("rank", "part"), np.stack([*parts.values()], 1))
    arrays |= {part: Array(("past",), array.values[0]) for part, array in copies.items()}
    for tap, array in seen.items():
        if array.axes == ("head", "target", "past"):
            arrays[tap] = Array(("head", "past"), array.values[:, -1])
    return arrays, [*map(name, given)]


def _entropy(chances: torch.Tensor) -> float:
    """The entropy in bits."""
    return float(torch.special.entr(chances).sum() / np.log(2))
