"""Writing outputs: one loop for greedy search, beam search and sampling.

Each example is a search with a beam of places for hypotheses. A finished hypothesis keeps its place for good. At every
step the other places are filled with the likeliest continuations of the live hypotheses; those that END continues are
finished, the others go on. A search is over when

- no hypothesis goes on: all are finished, the length limit is reached, or every continuation is forbidden; or
- none that goes on can come to beat the worst of the `n_best` best finished ones (see `Ranking.bound`), so that going
  on would not change the list.

So a beam of 1 is greedy search, and a beam with a place for every possible output finds the best of them.
Had the finished ones given up their places, as in many toolkits, which end a search when `beam` hypotheses have
finished, then improbable short outputs could fill the list while the best one is still being written.

Greedy search is a beam of 1; sampling is a beam of 1 whose candidate is drawn, each sample being a search of its own.
All searches of a batch step together, as the N = B × beam rows of the model's state. One index a step reorders the
rows and drops those whose search is over; the host waits for the device once a step, to learn which these are.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.decode.beams import Live, Searches
from regard.decode.choosing import Candidates, Choice, Likeliest
from regard.decode.constraints import Constraints
from regard.decode.coverage import attention_reader
from regard.decode.ranking import Finished, Hypothesis, Ranking
from regard.decode.sampling import Sampling, uniform_numbers
from regard.errors import ModelError, UsageError
from regard.models.generator import Generator, State
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END


@torch.inference_mode()
def decode(
    model: Generator,
    source: Padded,
    settings: Decoding,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    examples: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The outputs for each source of a batch, best first: `n_best` of them, or as many as the search has found.

    A beam's list holds finished hypotheses alone, or unfinished ones if none finished within the limit. `prefixes` are
    what each output must begin with; `examples` say which examples these are, for sampling and messages (else 0, 1, …).
    """
    examples = range(len(source.tokens)) if examples is None else examples
    if len(examples) != len(source.tokens):
        raise UsageError(f"{len(examples)} example numbers for {len(source.tokens)} sources: give one for each")
    rules = Constraints.of(source, settings, prefixes, examples)
    if not len(examples):
        return []
    device = source.tokens.device
    capacity = rules.final + 1  # BEGIN, and all that may be written before END
    samples, beam, n_best = 1, 1, 1
    choice: Choice = Likeliest()
    if settings.method == "beam":
        beam, n_best = settings.beam, settings.n_best
    elif settings.method == "sample":
        samples = settings.n_best
        choice = Sampling(settings, uniform_numbers(settings.seed, examples, samples, capacity).to(device))
    copies = torch.arange(len(examples), device=device).repeat_interleave(samples)
    searches = Searches(
        places=list(range(len(copies))),
        examples=[example for example in examples for _ in range(samples)],
        rules=rules.select(copies),
        choice=choice,
        keep=source.keep[copies],
        finished=Finished.none(len(copies), beam, capacity - 1, device),
    )
    with evaluating(model), attention_reader(model, settings.coverage_penalty) as attention:
        read = None
        if rules.common:
            read = read_prefixes(model, model.start(source, capacity).select(copies), searches, attention)
        # Prefixes that are impossible, or make the model give no numbers, are read again, token by token.
        state, live = read or (model.start(source, capacity).select(copies), Live.begin(searches.finished))
        if beam > 1:
            state = state.branch(copies[:, None].expand(-1, beam))
        ranking = Ranking(settings.length_penalty, settings.coverage_penalty)
        found = search(model, state, searches, live, ranking, attention, n_best)
    groups = [chain.from_iterable(found[place : place + samples]) for place in range(0, len(found), samples)]
    return [sorted(group, key=lambda hypothesis: hypothesis.score, reverse=True) for group in groups]


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Dropout is off while the block runs; then every part is again in the mode it was in."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def read_prefixes(
    model: Generator, state: State, searches: Searches, attention: Callable[[], Float[Tensor, "N S"] | None]
) -> tuple[State, Live] | None:
    """Reads at once what is forced in all searches, but for the last token; None if some of it is impossible.

    `state` has one row for each search and has read nothing yet.
    """
    prefixes = searches.rules.prefixes.tokens[:, : searches.rules.common]
    features, state = model.advance(torch.full_like(prefixes[:, :1], BEGIN), state)
    readout = model.readout_of(state)
    searches.rules.check_vocabulary(readout.logits(features[:, -1]).shape[-1], searches.examples)
    totals, seen = readout.log_probs(features, prefixes[:, :1])[0].sum(1), attention()
    if prefixes.shape[1] > 1:
        features, state = model.advance(prefixes[:, :-1], state)
        totals += model.readout_of(state).log_probs(features, prefixes[:, 1:])[0].sum(1)
        further = attention()
        seen = None if seen is None or further is None else seen + further
    if not totals.isfinite().all():
        return None
    return state, Live.begin(searches.finished).forced(prefixes, totals, seen)


def search(
    model: Generator,
    state: State,
    searches: Searches,
    live: Live,
    ranking: Ranking,
    attention: Callable[[], Float[Tensor, "N S"] | None],
    n_best: int,
) -> list[list[Hypothesis]]:
    """Runs searches to their end; `state` has `beam` rows for each, and has read all of `live` but the last tokens."""
    left: list[Searches] = []
    while searches.places:
        # The model reads the last token of every hypothesis and says how likely each next one is.
        features, state = model.advance(live.last, state)
        log_probs = model.readout_of(state).logits(features[:, -1]).float().log_softmax(-1)
        log_probs = log_probs.view(*live.totals.shape, -1)
        live = live.look(attention())
        if live.length == 0:
            searches.rules.check_vocabulary(log_probs.shape[-1], searches.examples)
        # One NaN among the logits has made every log-probability of its row NaN.
        broken = log_probs[..., END].isnan().any(1)

        # The best continuations take the places that are free: those with END for good, the others go on.
        searches.rules.forbid_(log_probs, live.written)
        last = searches.rules.last(live.length)
        candidates = searches.choice.choose(log_probs, live.totals, live.length, last).first(searches.finished.free)
        ended = live.finish(candidates.ending(), ranking, searches.keep)
        searches = replace(searches, finished=searches.finished.merge(ended))
        going = candidates.going_on(last)

        # Here alone the host waits.
        are_over, are_broken = torch.stack([_over(searches, going, ranking, n_best), broken]).tolist()
        if any(are_broken):
            raise _not_a_number(searches.examples[are_broken.index(True)], live.length)

        # One index drops the rows whose search is over and lets every other row continue its parent.
        rows = going.parents + torch.arange(0, live.totals.numel(), live.beam, device=live.totals.device)[:, None]
        sources = None
        if any(are_over):
            leave = [place for place, over in enumerate(are_over) if over]
            stay = [place for place, over in enumerate(are_over) if not over]
            unfinished = live.unfinished(ranking, searches.keep)
            left.append(replace(searches, finished=searches.finished.or_else(unfinished)).select(leave))
            if not stay:
                break
            sources = torch.tensor(stay, device=rows.device)
            searches, going, rows = searches.select(stay), going.select(sources), rows[sources]
        if live.beam > 1 or sources is not None:
            state, live = state.branch(rows, sources), live.select(rows)
        live = live.grow(going)
    places = chain.from_iterable(group.places for group in left)
    found = chain.from_iterable(group.finished.lists(n_best) for group in left)
    return [hypotheses for _, hypotheses in sorted(zip(places, found, strict=True), key=lambda pair: pair[0])]


def _over(searches: Searches, going: Candidates, ranking: Ranking, n_best: int) -> Bool[Tensor, " B"]:
    """Which searches are over: nothing goes on, or nothing that does can come to be among the `n_best`."""
    best = going.totals.amax(1)
    bound = ranking.bound(best, searches.rules.longest)
    return (best == -torch.inf) | (searches.finished.scores[:, n_best - 1] >= bound)


def _not_a_number(example: int, position: int) -> ModelError:
    return ModelError(
        f"example {example}, position {position}: the model's output is not a number (NaN), so nothing can be chosen. "
        "Its weights are damaged or its training diverged: take an earlier checkpoint, or compute in float32"
    )
