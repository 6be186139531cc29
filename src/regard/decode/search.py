"""One decoding loop for greedy search, beam search and sampling.

Each example is a search with up to `beam` live hypotheses. At every step the likeliest continuations of all of them
are ranked: those that end with END and are among the best `beam` are finished, and the best `beam` of the others
continue. A search is over when

- no hypothesis continues: the length limit is reached, or every continuation is forbidden; or
- no live hypothesis can still beat the worst of the `n_best` best finished ones (see `Ranking.bound`); or
- `beam` hypotheses have finished, even if a better one is live.

The last rule is also that of Hugging Face's `generate(early_stopping=True)`, and of CTranslate2 with a length penalty:
outputs equal theirs, except for length limits and rounding.

Greedy search is a beam of 1; sampling is a beam of 1 whose candidate is drawn, with one search per sample. All searches
of a batch step together, as the N = B × beam rows of the model's state. The shapes of a step do not depend on its
values, so that it can be captured (`regard.decode.captured`). A search that is over no longer changes; every few steps
the host checks which are, and removes them from the batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.decode.beams import Live, Searches
from regard.decode.candidates import Candidates, Choice, Likeliest
from regard.decode.constraints import Constraints, longest_outputs
from regard.decode.coverage import attention_reader
from regard.decode.fused import fused_step, is_fused
from regard.decode.modules import evaluating
from regard.decode.ranking import Finished, Hypothesis, Ranking
from regard.decode.sampling import Sampling
from regard.decode.stepping import Stepping
from regard.errors import ModelError, UsageError
from regard.kernels import pick
from regard.models.generator import Generator, State
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN


def decode(
    model: Generator,
    source: Padded,
    settings: Decoding,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    examples: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The outputs for each source of a batch, best first: up to `n_best`.

    They are finished hypotheses, or unfinished ones if none finished within the length limit. Each output begins with
    its prefix; `examples` are the examples' numbers for sampling and messages (default 0, 1, …).
    """
    examples = range(len(source.tokens)) if examples is None else examples
    if len(examples) != len(source.tokens):
        raise UsageError(f"{len(examples)} example numbers for {len(source.tokens)} sources: give one for each")
    with evaluating(model):
        limits = longest_outputs(source, settings)
        return decode_batch(model, source, settings, limits, prefixes, examples, Stepping(source.tokens.device))


@torch.inference_mode()
def decode_batch(
    model: Generator,
    source: Padded,
    settings: Decoding,
    longest: Sequence[int],
    prefixes: Sequence[Sequence[int]] | None,
    examples: Sequence[int],
    stepping: Stepping,
) -> list[list[Hypothesis]]:
    """Like `decode`, with a model in evaluation mode and the maximum length of each output."""
    rules = Constraints.of(source, settings, prefixes, examples, longest)
    if not len(examples):
        return []
    beam, n_best = (settings.beam, settings.n_best) if settings.method == "beam" else (1, 1)
    samples = settings.n_best if settings.method == "sample" else 1
    room = stepping.room(max(longest) + 1)  # BEGIN, and all tokens before END
    numbers = [example for example in examples for _ in range(samples)]
    with attention_reader(model, settings.coverage_penalty) as attention:
        stepper = SearchStepper(
            model, Ranking(settings.length_penalty, settings.coverage_penalty), beam, n_best, attention
        )
        begin = Beginning.of(source, rules, settings, examples, room, stepping.rows(len(examples)))
        searches = stepping("begin", partial(stepper.begin, examples=numbers), begin)
        found = search(stepper, searches, numbers, max(longest), stepping)
    groups = [chain.from_iterable(found[place : place + samples]) for place in range(0, len(found), samples)]
    return [sorted(group, key=lambda hypothesis: hypothesis.score, reverse=True) for group in groups]


@dataclass(frozen=True)
class Beginning:
    """Inputs of a batch of searches: B sources, with `samples` searches for each."""

    source: Padded
    rules: Constraints
    choice: Choice
    over: Bool[Tensor, " B"]
    """True for padding rows."""
    room: int
    samples: int

    @classmethod
    def of(
        cls, source: Padded, rules: Constraints, settings: Decoding, examples: Sequence[int], room: int, rows: int
    ) -> "Beginning":
        """Pads the batch to `rows` rows by repeating the first source."""
        device, count = source.tokens.device, len(examples)
        samples = 1
        choice: Choice = Likeliest()
        numbers = [*examples, *[examples[0]] * (rows - count)]
        if settings.method == "sample":
            samples = settings.n_best
            choice = Sampling.of(settings, numbers, samples, room, device)
        index = torch.arange(rows, device=device)
        if rows > count:
            padded = index.where(index < count, 0)
            source, rules = source.select(padded), rules.select(padded)
        return cls(source, rules, choice, index >= count, room, samples)


@dataclass(frozen=True)
class SearchStepper:
    """A model and the settings of its search."""

    model: Generator
    ranking: Ranking
    beam: int
    n_best: int
    attention: Callable[[], Float[Tensor, "N S"] | None]
    """Returns the attention each source token got in the last `advance`, if the coverage penalty needs it."""

    def begin(self, begin: Beginning, examples: Sequence[int]) -> Searches:
        """New searches, which have read the first `rules.common` tokens of their prefixes, except for the last."""
        copies = torch.arange(len(begin.over), device=begin.over.device).repeat_interleave(begin.samples)
        rules, count = begin.rules.select(copies), len(copies)
        live = Live.begin(count, self.beam, begin.room, copies.device)

        def start() -> State:
            state = self.model.start(begin.source, begin.room)
            return state if begin.samples == 1 else state.select(copies)

        read = self._read_prefixes(start(), rules, live, examples) if rules.common else None
        # Prefixes that are impossible, or lead to NaN, are read again token by token.
        state, live = read or (start(), live)
        if live.length:
            state = self._spread(state, copies)
        return Searches(
            rules=rules,
            choice=begin.choice,
            keep=begin.source.keep[copies],
            bound=self.ranking.bound(rules.longest),
            live=live,
            finished=Finished.none(count, self.beam, begin.room, copies.device),
            over=begin.over[copies],
            broken=torch.zeros_like(begin.over[copies]),
            state=state,
        )

    def step(self, searches: Searches, examples: Sequence[int]) -> Searches:
        """Advances all searches by one token."""
        live, rules = searches.live, searches.rules
        # At the first step all hypotheses of a search are equal: one row per search is enough.
        copies = 1 if live.length else self.beam
        features, state = self.model.advance(live.last[::copies], searches.state)
        logits, seen = self.model.readout_of(state).logits(features[:, -1]), self.attention()
        logits = logits.view(len(live.totals), -1, logits.shape[-1])
        if copies > 1:
            state = self._spread(state, torch.arange(len(live.totals), device=logits.device))
            seen = None if seen is None else seen.repeat_interleave(copies, 0)
        if seen is None and is_fused(searches, logits):
            searches, rows = fused_step(searches, logits, self.ranking, self.n_best)
            return replace(searches, state=state.branch(rows) if self.beam > 1 else state)
        live = live.look(seen)
        if live.length == 0:
            rules.check_vocabulary(logits.shape[-1], examples)

        last = rules.last(live.length)
        candidates = _candidates(searches, logits, last).without(searches.over)
        live.finish(candidates.ending(self.beam), self.ranking, searches.keep, searches.finished)
        going = candidates.going_on(self.beam, last)

        # One NaN among the logits makes every log-probability of its row NaN, and `amax` propagates it.
        best, least = going.totals.amax(1), searches.finished.best(self.n_best)
        broken = searches.broken | best.isnan()
        enough = searches.finished.count >= self.beam
        over = searches.over | (least >= best / searches.bound) | enough | ~(best > -torch.inf)
        going = going.unless(over)
        if self.beam > 1:
            rows = going.parents + torch.arange(0, going.parents.numel(), self.beam, device=over.device)[:, None]
            state = state.branch(rows)
        return replace(searches, live=live.grow(going, over), over=over, broken=broken, state=state)

    def _spread(self, state: State, rows: Int[Tensor, " B"]) -> State:
        """These rows of a state, each repeated for the whole beam."""
        return state.branch(rows[:, None].expand(-1, self.beam)) if self.beam > 1 else state

    def _read_prefixes(
        self, state: State, rules: Constraints, live: Live, examples: Sequence[int]
    ) -> tuple[State, Live] | None:
        """Reads the first `rules.common` tokens of each prefix, except for the last, in one pass; None if some prefix
        is impossible. `state` is new, with one row per search."""
        prefixes = rules.prefixes.tokens[:, : rules.common]
        features, state = self.model.advance(torch.full_like(prefixes[:, :1], BEGIN), state)
        readout = self.model.readout_of(state)
        rules.check_vocabulary(readout.logits(features[:, -1]).shape[-1], examples)
        totals, seen = readout.log_probs(features, prefixes[:, :1])[0].sum(1), self.attention()
        if prefixes.shape[1] > 1:
            features, state = self.model.advance(prefixes[:, :-1], state)
            totals += self.model.readout_of(state).log_probs(features, prefixes[:, 1:])[0].sum(1)
            further = self.attention()
            seen = None if seen is None or further is None else seen + further
        if not totals.isfinite().all():
            return None
        return state, live.forced(prefixes, totals, seen)


def search(
    stepper: SearchStepper, searches: Searches, examples: Sequence[int], longest: int, stepping: Stepping
) -> list[list[Hypothesis]]:
    """Runs searches to their end; those after the ones for `examples` are padding."""
    device, found = searches.over.device, dict[int, list[Hypothesis]]()
    # The search in each row; None for padding and for searches whose outputs were taken.
    rows: list[int | None] = [*range(len(examples)), *[None] * (len(searches.over) - len(examples))]
    while True:
        for _ in range(min(stepping.every, longest + 1 - searches.live.length)):
            # Steps that use other kernels (`regard.decode.fused`) or shapes get other names: each kind must run once
            # before it is captured.
            name = "step" if searches.rules.are_fixed(searches.live.length) else "step by rules"
            name = name if searches.live.length else f"first {name}"
            searches = stepping(name, partial(stepper.step, examples=examples), searches)
        # The only place where the host waits for the device.
        over, broken, empty = torch.stack([searches.over, searches.broken, searches.finished.empty]).tolist()
        if any(broken):
            row = broken.index(True)
            raise nan_error(examples[rows[row] or 0], int(searches.live.lengths[row]))
        left = over.count(False)
        size = stepping.smaller(len(rows), left)
        if left and size == len(rows):
            continue
        leave = {row: search for row, search in enumerate(rows) if over[row] and search is not None}
        for finished in (True, False):
            chosen = {row: search for row, search in leave.items() if empty[row] is not finished}
            if chosen:
                index = torch.tensor([*chosen], device=device)
                lists = searches.lists(index, stepper.ranking, stepper.n_best, finished)
                found.update(zip(chosen.values(), lists, strict=True))
        if not left:
            return [found[search] for search in range(len(examples))]
        # Running searches beyond the new size move to free rows below it; the others stay where they are.
        others = (row for row in range(left, len(over)) if not over[row])
        stay = [next(others) if over[row] else row for row in range(left)]
        fill = [row for row, is_over in enumerate(over) if is_over][: size - left]
        searches = searches.select(torch.tensor([*stay, *fill], device=device))
        rows = [*(rows[row] for row in stay), *[None] * len(fill)]


def _candidates(searches: Searches, logits: Float[Tensor, " B #beam V"], last: Bool[Tensor, " B"]) -> Candidates:
    """The best continuations that the rules allow; overwrites the logits."""
    live, rules, choice = searches.live, searches.rules, searches.choice
    if isinstance(choice, Likeliest) and rules.are_fixed(live.length):
        likeliest_ = pick("likeliest_", logits)
        if likeliest_ is not None:
            # Only the best log-probabilities are needed, so the others are not computed.
            count = choice.count(live.beam, logits.shape[2])
            best, tokens = likeliest_(logits, count, rules.forbidden(live.length))
            return choice.among(best, tokens, live.totals, last)
    log_softmax_ = pick("log_softmax_", logits)
    log_probs = logits.log_softmax(-1, dtype=torch.float32) if log_softmax_ is None else log_softmax_(logits)
    rules.forbid_(log_probs, live.written[:, : log_probs.shape[1]])
    return choice.choose(log_probs, live.totals, live.length, last)


def nan_error(example: int, position: int) -> ModelError:
    return ModelError(
        f"example {example}, position {position}: the model's output is NaN, so no token can be chosen. "
        "Its weights are damaged or its training diverged: take an earlier checkpoint, or compute in float32"
    )
