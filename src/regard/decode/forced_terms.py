"""Outputs that must contain given terms: beam search with dynamic beam allocation (Post and Vilar 2018), which gives
hypotheses with the same number of missing tokens a share of the beam, so that those which have begun to satisfy the
terms are not crowded out by those which have not.

A hypothesis continues only while the missing tokens fit within the length limit, and END may follow only when none are
missing: every output contains every term, even if it is unfinished. Forced prefixes come first; terms in them count.

Hypotheses are selected on the host, with lists: few texts have forced terms, and the model's work, which is batched,
takes most of the time.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batch import Padded, padded_sources
from regard.decode.constraints import NEVER, check_prefixes, longest_outputs
from regard.decode.corpus import OnProgress, batches_by_length
from regard.decode.modules import refuse_mixed_recording
from regard.decode.ranking import Hypothesis
from regard.decode.session import Session
from regard.errors import UsageError
from regard.models.generator import Generator
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END, UNKNOWN

Term = Sequence[int]

FEWEST = 4
"""Minimum number of continuations considered after a hypothesis, since some may not be allowed."""


@dataclass(frozen=True)
class Partial:
    """A hypothesis, and the terms it lacks."""

    tokens: tuple[int, ...]
    total: float
    lacking: tuple[tuple[int, ...], ...]
    since: int = 0
    """Where its last complete term ends: terms do not overlap."""
    begun: int = 0
    """How many of its last tokens begin a lacking term."""

    @property
    def needs(self) -> int:
        """Minimum number of missing tokens."""
        return sum(map(len, self.lacking)) - self.begun

    def wanted(self) -> set[int]:
        """Tokens that begin or continue a lacking term."""
        return {token for term in self.lacking for token in (term[0], term[self._begun(term) % len(term)])}

    def grown(self, token: int, log_prob: float, *, ends_word: bool = True) -> Iterator["Partial"]:
        """The hypothesis with one more token. If that completes a term and also continues a longer one, there are two:
        one counts the term, the other waits for the longer one. No term ends within a word."""
        longer = replace(self, tokens=(*self.tokens, token), total=self.total + log_prob, begun=0)
        begun = {term: longer._begun(term) for term in self.lacking}
        ended = (term for term, count in begun.items() if count == len(term) and ends_word)
        whole = max(ended, key=len, default=None)
        part = max((count for term, count in begun.items() if count < len(term)), default=0)
        if whole is not None:
            place = self.lacking.index(whole)
            rest = self.lacking[:place] + self.lacking[place + 1 :]
            yield replace(longer, lacking=rest, since=len(longer.tokens))
        if whole is None or part:
            yield replace(longer, begun=part)

    def _begun(self, term: Term) -> int:
        """How many of the last tokens begin a term."""
        most = min(len(term), len(self.tokens) - self.since)
        ends = (count for count in range(most, 0, -1) if self.tokens[-count:] == tuple(term[:count]))
        return next(ends, 0)

    def breaks_a_term(self, token: int, continuing: Collection[int]) -> bool:
        """Whether a token would extend the last word of a term that was just completed."""
        return 0 < self.since == len(self.tokens) and token in continuing

    def repeats(self, token: int, n: int) -> bool:
        """Whether a token would repeat an n-gram."""
        if not 0 < n <= len(self.tokens):
            return False
        gram = (*self.tokens[len(self.tokens) - n + 1 :], token)
        return any(self.tokens[place : place + n] == gram for place in range(len(self.tokens) - n + 1))


@dataclass
class ForcedSearch:
    """The search for one example."""

    example: int
    settings: Decoding
    terms: tuple[tuple[int, ...], ...]
    longest: int
    continuing: Collection[int]
    """Tokens that continue a word."""
    prefix: tuple[int, ...]
    live: list[Partial]
    finished: list[Partial] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        example: int,
        settings: Decoding,
        terms: Sequence[Term],
        longest: int,
        continuing: Collection[int],
        prefix: Sequence[int] = (),
    ) -> "ForcedSearch":
        tuples = tuple(map(tuple, terms))
        # Room for the terms and as much again, however short the source is.
        longest = max(longest, len(prefix) + 2 * sum(map(len, tuples)))
        return cls(example, settings, tuples, longest, continuing, tuple(prefix), [Partial((), 0.0, tuples)])

    @property
    def beam(self) -> int:
        return self.settings.beam if self.settings.method == "beam" else 1

    @property
    def width(self) -> int:
        """Number of hypotheses: at least one for each possible number of missing tokens."""
        return max(self.beam, sum(map(len, self.terms)) + 1)

    def wanted(self, partial: Partial) -> set[int]:
        """Tokens to consider after a hypothesis, however unlikely they are."""
        return {self.prefix[len(partial.tokens)]} if len(partial.tokens) < len(self.prefix) else partial.wanted()

    def step(self, rows: Sequence[dict[int, float]]) -> list[int]:
        """Advances by one token, given log-probabilities of some tokens after each hypothesis. Returns the index of
        each new hypothesis's parent; nothing if the search is over."""
        length = len(self.live[0].tokens)
        found = self._prefixed(rows) if length < len(self.prefix) else self._candidates(rows)
        chosen = self._shared(sorted(found, key=lambda pair: -pair[1].total))
        self.finished += [partial for _, partial in chosen if len(partial.tokens) == length]
        going = [pair for pair in chosen if len(pair[1].tokens) > length]
        if not going or self._nothing_can_win(max(partial.total for _, partial in going)):
            return []
        self.live = [partial for _, partial in going]
        return [place for place, _ in going]

    def hypotheses(self) -> list[Hypothesis]:
        """The outputs, best first; unfinished ones if none finished."""
        ended = bool(self.finished)
        every = {
            partial.tokens: Hypothesis(partial.tokens, self._score(partial, ended), partial.total, ended)
            for partial in self.finished or self.live
        }
        n_best = self.settings.n_best if self.settings.method == "beam" else 1
        return sorted(every.values(), key=lambda one: -one.score)[:n_best]

    def _prefixed(self, rows: Sequence[dict[int, float]]) -> Iterator[tuple[int, Partial]]:
        """Every hypothesis with the next token of the prefix, which overrides all other rules."""
        token, *rest = self.prefix[len(self.live[0].tokens) :]
        ends_word = not rest or rest[0] not in self.continuing
        for place, (partial, tokens) in enumerate(zip(self.live, rows, strict=True)):
            for grown in partial.grown(token, tokens[token], ends_word=ends_word):
                yield place, grown

    def _candidates(self, rows: Sequence[dict[int, float]]) -> Iterator[tuple[int, Partial]]:
        """The allowed continuations; those with END do not get longer."""
        for place, (partial, tokens) in enumerate(zip(self.live, rows, strict=True)):
            wanted = partial.wanted()
            for token, log_prob in tokens.items():
                if log_prob == -torch.inf or (token == UNKNOWN and self.settings.unknown == "forbid"):
                    continue
                if token == END:
                    if not partial.lacking and len(partial.tokens) >= self.settings.least:
                        yield place, replace(partial, total=partial.total + log_prob)
                    continue
                repeats = token not in wanted and partial.repeats(token, self.settings.no_repeat)
                if not repeats and not partial.breaks_a_term(token, self.continuing):
                    for grown in partial.grown(token, log_prob):
                        if len(grown.tokens) + grown.needs <= self.longest:
                            yield place, grown

    def _shared(self, found: Sequence[tuple[int, Partial]]) -> list[tuple[int, Partial]]:
        """The best candidates, with a share of the beam for each number of missing tokens."""
        room = self.width - len(self.finished)
        share = max(1, room // (sum(map(len, self.terms)) + 1))
        counts: dict[int, int] = {}
        first: list[tuple[int, Partial]] = []
        others: list[tuple[int, Partial]] = []
        for candidate in found:
            needs = candidate[1].needs
            counts[needs] = counts.get(needs, 0) + 1
            (first if counts[needs] <= share else others).append(candidate)
        first = sorted(first, key=lambda pair: pair[1].needs)[:room]
        return first + others[: room - len(first)]

    def _nothing_can_win(self, best: float) -> bool:
        """Whether no live hypothesis can still be among the outputs (see `Ranking.bound`)."""
        n_best = self.settings.n_best
        different = {partial.tokens: self._score(partial, True) for partial in self.finished}
        scores = sorted(different.values(), reverse=True)
        return len(scores) >= n_best and scores[n_best - 1] >= best / (self.longest + 1) ** self.settings.length_penalty

    def _score(self, partial: Partial, ended: bool) -> float:
        return float(partial.total / max(len(partial.tokens) + ended, 1) ** self.settings.length_penalty)


def decode_forced(
    model: Generator | Session,
    sources: Sequence[Sequence[int]],
    settings: Decoding,
    terms: Sequence[Sequence[Term]],
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    continuing: Collection[int] = (),
    words: Sequence[Sequence[int]] | None = None,
    on_progress: OnProgress | None = None,
) -> list[list[Hypothesis]]:
    """The outputs for each source, best first, each of which contains all terms of its source without overlap.

    A token of a term or prefix outside the model's vocabulary is generated too; the model reads UNKNOWN. No
    `continuing` token, which continues a word, follows a term. `words` and `prefixes` are those of `decode_all`; terms
    in a prefix count.
    """
    check_can_force(settings)
    found: dict[int, list[Hypothesis]] = {}
    session = Session.of(model)
    refuse_mixed_recording(session.model, settings, len(sources), forced=True)
    with session.writing(settings) as writer, torch.inference_mode():
        for chosen in batches_by_length([len(source) + 1 for source in sources], settings.batch_tokens):
            copied = None if words is None else [words[example] for example in chosen]
            batch = padded_sources([sources[example] for example in chosen], copied).to(session.device)
            limits = longest_outputs(batch, settings)
            begin = [() if prefixes is None else prefixes[example] for example in chosen]
            check_prefixes(begin, limits, chosen)
            searches = [
                ForcedSearch.of(example, settings, terms[example], limit, continuing, prefix)
                for example, limit, prefix in zip(chosen, limits, begin, strict=True)
            ]
            _search(writer, batch, searches)
            found.update((search.example, search.hypotheses()) for search in searches)
            if on_progress is not None:
                on_progress(len(found), len(sources))
    return [found[example] for example in range(len(sources))]


def check_can_force(settings: Decoding) -> None:
    """Refuses settings that a search for forced terms does not support."""
    if settings.method == "sample":
        raise UsageError(
            "forced terms need a search: decode.method = 'sample' draws at random and may never produce them; "
            "set decode.method to 'beam' or 'greedy'"
        )
    if settings.coverage_penalty:
        raise UsageError(
            f"decode.coverage_penalty = {settings.coverage_penalty} does not work with forced terms; set it to 0"
        )


def _search(model: Generator, source: Padded, searches: Sequence[ForcedSearch]) -> None:
    """Runs searches to their end. Each has the same number of rows; unused ones repeat its first."""
    width = max(search.width for search in searches)
    state = model.start(source, max(search.longest for search in searches) + 1)
    state = state.branch(torch.arange(len(searches), device=source.tokens.device)[:, None].expand(-1, width))
    running = list(searches)
    last = [[BEGIN] * width for _ in running]
    size = 0
    while running:
        rows = [token if not size or token < size else UNKNOWN for row in last for token in row]
        features, state = model.advance(torch.tensor(rows, device=source.tokens.device)[:, None], state)
        log_probs = model.readout_of(state).logits(features[:, -1]).float().log_softmax(-1)
        size = log_probs.shape[-1]
        likely = _likely(log_probs.view(len(running), width, -1), running)
        parents = [search.step(rows) for search, rows in zip(running, likely, strict=True)]
        stay = [place for place, going in enumerate(parents) if going]
        filled = [[*parents[place], *[parents[place][0]] * (width - len(parents[place]))] for place in stay]
        running = [running[place] for place in stay]
        last = [
            [*(partial.tokens[-1] for partial in search.live), *[UNKNOWN] * (width - len(search.live))]
            for search in running
        ]
        if running:
            kept = torch.tensor(stay, device=source.tokens.device)
            state = state.branch(kept[:, None] * width + torch.tensor(filled, device=kept.device), kept)


def _likely(log_probs: Float[Tensor, "B width V"], searches: Sequence[ForcedSearch]) -> list[list[dict[int, float]]]:
    """For each hypothesis, the log-probabilities of its likeliest and its wanted tokens."""
    size = log_probs.shape[-1]
    log_probs[..., list(NEVER)] = -torch.inf
    count = max(FEWEST, *(search.beam for search in searches))
    best, tokens = (side.tolist() for side in log_probs.topk(min(count, size)))
    wanted = [
        (row, place, token, token if token < size else UNKNOWN)
        for row, search in enumerate(searches)
        for place, partial in enumerate(search.live)
        for token in sorted(search.wanted(partial))
    ]
    index = torch.tensor([(row, place, known) for row, place, _, known in wanted], dtype=torch.long)
    rows, places, known = index.view(-1, 3).to(log_probs.device).unbind(1)
    values, instead = log_probs[rows, places, known].tolist(), log_probs[rows, places, UNKNOWN].tolist()
    found = [
        [dict(zip(tokens[row][place], best[row][place], strict=True)) for place in range(len(search.live))]
        for row, search in enumerate(searches)
    ]
    for (row, place, token, _), value, other in zip(wanted, values, instead, strict=True):
        # A word that cannot be copied from the source is as unknown to the model as one outside its vocabulary.
        found[row][place][token] = value if value > -torch.inf else other
    return found
