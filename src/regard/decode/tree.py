"""The search tree: every hypothesis that was ever in the beam."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import Padded
from regard.decode.constraints import Constraints, longest_outputs
from regard.decode.coverage import attention_reader
from regard.decode.modules import evaluating
from regard.decode.ranking import Ranking
from regard.decode.search import Beginning, SearchStepper, nan_error
from regard.decode.stepping import Stepping
from regard.models.generator import Generator
from regard.recipe import Decoding
from regard.tokens.vocabulary import END


@dataclass(frozen=True)
class SearchTree:
    """The hypotheses that a search kept, and its outputs."""

    nodes: dict[tuple[int, ...], float]
    """The log-probability of each hypothesis, shorter ones first, then of the outputs with END; the first is the forced
    prefix, or empty."""
    ends: list[tuple[int, ...]]
    """The nodes that are outputs, best first."""


@torch.inference_mode()
def search_tree(model: Generator, source: Padded, settings: Decoding, prefix: Sequence[int] = ()) -> SearchTree:
    """The tree of the beam search for one source, whose output begins with a prefix."""
    with evaluating(model), attention_reader(model, settings.coverage_penalty) as attention:
        limits = longest_outputs(source, settings)
        rules = Constraints.of(source, settings, [prefix], [0], limits)
        ranking = Ranking(settings.length_penalty, settings.coverage_penalty)
        stepper = SearchStepper(model, ranking, settings.beam, settings.beam, attention)
        room = Stepping(source.tokens.device).room(max(limits) + 1)
        searches = stepper.begin(Beginning.of(source, rules, settings, [0], room, 1), [0])
        kept: dict[tuple[int, ...], float] = {}
        while not bool(searches.over):
            live = searches.live
            for total, tokens in zip(live.totals[0].tolist(), live.written[0].tolist(), strict=True):
                if total > -torch.inf:
                    kept[tuple(tokens)] = total
            searches = stepper.step(searches, [0])
            if bool(searches.broken):
                raise nan_error(0, searches.live.length)
        first = torch.zeros(1, dtype=torch.long, device=source.tokens.device)
        finished = not bool(searches.finished.empty)
        (outputs,) = searches.lists(first, ranking, settings.beam, finished)
    # While a forced prefix is read token by token, there are no other hypotheses.
    forced = {tokens: total for tokens, total in kept.items() if len(tokens) >= len(prefix)}
    ends = {(*one.tokens, END): one.log_prob for one in outputs if one.finished}
    return SearchTree((forced or kept) | ends, [*ends])


@torch.inference_mode()
def next_tokens(
    model: Generator, source: Padded, given: Int[Tensor, "1 n"], count: int, never: Sequence[int] = ()
) -> dict[int, float]:
    """The likeliest tokens after BEGIN and the given ones, best first, with their probabilities; without those that are
    never generated."""
    with evaluating(model):
        features, state = model.advance(given, model.start(source, given.shape[1]))
        chances = model.readout_of(state).logits(features[:, -1])[0].float().softmax(-1)
    chances[list(never)] = -1.0
    best = chances.topk(min(count, len(chances) - len(never)))
    return dict(zip(best.indices.tolist(), best.values.tolist(), strict=True))
