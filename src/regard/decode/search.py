"""Writing outputs: one loop for greedy search, beam search and sampling.

Each example is a search with a beam of places for hypotheses. At every step the likeliest continuations of the live
hypotheses are looked at: those that END continues are finished, if they are among the best `beam`, and the best `beam`
of the others go on. A search is over when

- no hypothesis goes on: the length limit is reached, or every continuation is forbidden; or
- none that goes on can come to beat the worst of the `n_best` best finished ones (see `Ranking.bound`), so that going
  on would not change the list; or
- `beam` hypotheses have finished, even if a better one is being written.

So a beam of 1 is greedy search, and a beam with a place for every possible output finds the best of them. The last
rule is that of `generate(early_stopping=True)` of Hugging Face too, and of CTranslate2 where there is a length penalty:
outputs are the same as theirs, but for limits of length and rounding.

Greedy search is a beam of 1; sampling is a beam of 1 whose candidate is drawn, each sample being a search of its own.
All searches of a batch step together, as the N = B × beam rows of the model's state. A step is made of tensors whose
shapes depend on nothing that is found, so that it can be captured (`regard.decode.captured`). What belongs to a search
that is over stays as it is; the host looks from time to time which are, and lets them leave.
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
from regard.decode.sampling import Sampling, uniform_numbers
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
    """The outputs for each source of a batch, best first: `n_best` of them, or as many as the search has found.

    A beam's list holds finished hypotheses alone, or unfinished ones if none finished within the limit. `prefixes` are
    what each output must begin with; `examples` say which examples these are, for sampling and messages (else 0, 1, …).
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
    """The same with a model that is evaluating already; `longest` are the most tokens of each output."""
    rules = Constraints.of(source, settings, prefixes, examples, longest)
    if not len(examples):
        return []
    beam, n_best = (settings.beam, settings.n_best) if settings.method == "beam" else (1, 1)
    samples = settings.n_best if settings.method == "sample" else 1
    room = stepping.room(max(longest) + 1)  # BEGIN, and all that may be written before END
    numbers = [example for example in examples for _ in range(samples)]
    with attention_reader(model, settings.coverage_penalty) as attention:
        writer = SearchStepper(
            model, Ranking(settings.length_penalty, settings.coverage_penalty), beam, n_best, attention
        )
        begin = Beginning.of(source, rules, settings, examples, room, stepping.rows(len(examples)))
        searches = stepping("begin", partial(writer.begin, examples=numbers), begin)
        found = search(writer, searches, numbers, max(longest), stepping)
    groups = [chain.from_iterable(found[place : place + samples]) for place in range(0, len(found), samples)]
    return [sorted(group, key=lambda hypothesis: hypothesis.score, reverse=True) for group in groups]


@dataclass(frozen=True)
class Beginning:
    """What searches begin with: B sources, and for each of them as many searches as there are `samples`."""

    source: Padded
    rules: Constraints
    choice: Choice
    over: Bool[Tensor, " B"]
    """True for those that only fill up a shape."""
    room: int
    samples: int

    @classmethod
    def of(
        cls, source: Padded, rules: Constraints, settings: Decoding, examples: Sequence[int], room: int, rows: int
    ) -> "Beginning":
        """Of these sources, filled up to so many rows with the first of them."""
        device, count = source.tokens.device, len(examples)
        samples = 1
        choice: Choice = Likeliest()
        numbers = [*examples, *[examples[0]] * (rows - count)]
        if settings.method == "sample":
            samples = settings.n_best
            choice = Sampling(settings, uniform_numbers(settings.seed, numbers, samples, room).to(device))
        places = torch.arange(rows, device=device)
        if rows > count:
            filled = places.where(places < count, 0)
            source, rules = source.select(filled), rules.select(filled)
        return cls(source, rules, choice, places >= count, room, samples)


@dataclass(frozen=True)
class SearchStepper:
    """A model, and how it is made to write."""

    model: Generator
    ranking: Ranking
    beam: int
    n_best: int
    attention: Callable[[], Float[Tensor, "N S"] | None]
    """What gives the attention that each source token got in the last `advance`, if somebody asks for it."""

    def begin(self, begin: Beginning, examples: Sequence[int]) -> Searches:
        """Searches that have written nothing, or what is forced in all of them but for the last token."""
        copies = torch.arange(len(begin.over), device=begin.over.device).repeat_interleave(begin.samples)
        rules, count = begin.rules.select(copies), len(copies)
        live = Live.begin(count, self.beam, begin.room, copies.device)

        def start() -> State:
            state = self.model.start(begin.source, begin.room)
            return state if begin.samples == 1 else state.select(copies)

        read = self._read_prefixes(start(), rules, live, examples) if rules.common else None
        # Prefixes that are impossible, or make the model give no numbers, are read again, token by token.
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
        """The searches, one token further."""
        # The model reads the last token of every hypothesis and says how likely each next one is.
        live, rules = searches.live, searches.rules
        # All that begin do so alike: one row for each search will do.
        alike = 1 if live.length else self.beam
        features, state = self.model.advance(live.last[::alike], searches.state)
        logits, seen = self.model.readout_of(state).logits(features[:, -1]), self.attention()
        logits = logits.view(len(live.totals), -1, logits.shape[-1])
        if alike > 1:
            state = self._spread(state, torch.arange(len(live.totals), device=logits.device))
            seen = None if seen is None else seen.repeat_interleave(alike, 0)
        if seen is None and is_fused(searches, logits):
            searches, rows = fused_step(searches, logits, self.ranking, self.n_best)
            return replace(searches, state=state.branch(rows) if self.beam > 1 else state)
        live = live.look(seen)
        if live.length == 0:
            rules.check_vocabulary(logits.shape[-1], examples)

        # Of the best continuations those with END are finished, and others go on in all places.
        last = rules.last(live.length)
        candidates = _candidates(searches, logits, last).without(searches.over)
        live.finish(candidates.ending(self.beam), self.ranking, searches.keep, searches.finished)
        going = candidates.going_on(self.beam, last)

        # A search is over if nothing goes on, or nothing that does can come to be among the `n_best`, or enough have
        # finished. One NaN among the logits has made every log-probability of its row NaN, and what is no number counts
        # as the best.
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
        """These rows of a state, each for all places of a beam."""
        return state.branch(rows[:, None].expand(-1, self.beam)) if self.beam > 1 else state

    def _read_prefixes(
        self, state: State, rules: Constraints, live: Live, examples: Sequence[int]
    ) -> tuple[State, Live] | None:
        """Reads at once what is forced in all searches, but for the last token; None if some of it is impossible.

        `state` has one row for each search and has read nothing yet.
        """
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
    writer: SearchStepper, searches: Searches, examples: Sequence[int], longest: int, stepping: Stepping
) -> list[list[Hypothesis]]:
    """Runs searches to their end; those after the ones for `examples` only fill up a shape."""
    device, found = searches.over.device, dict[int, list[Hypothesis]]()
    # Which search stands in each row, if one does that has not left.
    rows: list[int | None] = [*range(len(examples)), *[None] * (len(searches.over) - len(examples))]
    while True:
        for _ in range(min(stepping.every, longest + 1 - searches.live.length)):
            # Each has kernels of its own (`regard.decode.fused`), which must have run once before they are captured.
            # So does the first step, in which there is one row for each search.
            name = "step" if searches.rules.are_fixed(searches.live.length) else "step by rules"
            name = name if searches.live.length else f"first {name}"
            searches = stepping(name, partial(writer.step, examples=examples), searches)
        # Here alone the host waits.
        over, broken, empty = torch.stack([searches.over, searches.broken, searches.finished.empty]).tolist()
        if any(broken):
            row = broken.index(True)
            raise _not_a_number(examples[rows[row] or 0], int(searches.live.lengths[row]))
        left = over.count(False)
        size = stepping.smaller(len(rows), left)
        if left and size == len(rows):
            continue
        leave = {row: search for row, search in enumerate(rows) if over[row] and search is not None}
        for finished in (True, False):
            chosen = {row: search for row, search in leave.items() if empty[row] is not finished}
            if chosen:
                lists = searches.lists(torch.tensor([*chosen], device=device), writer.ranking, writer.n_best, finished)
                found.update(zip(chosen.values(), lists, strict=True))
        if not left:
            return [found[search] for search in range(len(examples))]
        # Those that stay keep their rows, as far as there are so many, and the others take the rows that are free.
        others = (row for row in range(left, len(over)) if not over[row])
        stay = [next(others) if over[row] else row for row in range(left)]
        fill = [row for row, is_over in enumerate(over) if is_over][: size - left]
        searches = searches.select(torch.tensor([*stay, *fill], device=device))
        rows = [*(rows[row] for row in stay), *[None] * len(fill)]


def _candidates(searches: Searches, logits: Float[Tensor, " B #beam V"], last: Bool[Tensor, " B"]) -> Candidates:
    """The best continuations, of those that the rules allow; the logits are consumed."""
    live, rules, choice = searches.live, searches.rules, searches.choice
    if isinstance(choice, Likeliest) and rules.are_fixed(live.length):
        likeliest_ = pick("likeliest_", logits)
        if likeliest_ is not None:
            # Nobody looks at the others, so that they need not be written.
            count = choice.count(live.beam, logits.shape[2])
            best, tokens = likeliest_(logits, count, rules.forbidden(live.length))
            return choice.among(best, tokens, live.totals, last)
    log_softmax_ = pick("log_softmax_", logits)
    log_probs = logits.log_softmax(-1, dtype=torch.float32) if log_softmax_ is None else log_softmax_(logits)
    rules.forbid_(log_probs, live.written[:, : log_probs.shape[1]])
    return choice.choose(log_probs, live.totals, live.length, last)


def _not_a_number(example: int, position: int) -> ModelError:
    return ModelError(
        f"example {example}, position {position}: the model's output is not a number (NaN), so nothing can be chosen. "
        "Its weights are damaged or its training diverged: take an earlier checkpoint, or compute in float32"
    )
