"""Constraints on outputs: no special tokens, forced prefixes, no repeated n-grams, minimum and maximum lengths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.errors import UsageError
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END, PAD, UNKNOWN

NEVER = (PAD, BEGIN)


def never_written(settings: Decoding) -> tuple[int, ...]:
    """The tokens that are never generated, however likely."""
    return (*NEVER, UNKNOWN) if settings.unknown == "forbid" else NEVER


"""Never generated, whatever the settings say."""


def longest_outputs(source: Padded, settings: Decoding) -> list[int]:
    """The maximum length of each output."""
    words = (source.keep & (source.tokens != END)).sum(1).tolist()
    return [settings.longest_output(count) for count in words]


@dataclass(frozen=True)
class Constraints:
    """The rules for B searches. They forbid tokens and leave the log-probabilities of all others alone."""

    never: tuple[int, ...]
    """Tokens that are never generated."""
    least: int
    no_repeat: int
    longest: Int[Tensor, " B"]
    """The maximum output length of each search."""
    prefixes: Padded
    common: int
    """Length of the shortest prefix."""

    @classmethod
    def of(
        cls,
        source: Padded,
        settings: Decoding,
        prefixes: Sequence[Sequence[int]] | None,
        examples: Sequence[int],
        longest: Sequence[int],
    ) -> Self:
        if prefixes is None:
            prefixes = [()] * len(longest)
        check_prefixes(prefixes, longest, examples)
        device = source.tokens.device
        return cls(
            never=never_written(settings),
            least=settings.least,
            no_repeat=settings.no_repeat,
            longest=torch.tensor(longest, dtype=torch.long, device=device),
            prefixes=Padded.of([list(prefix) for prefix in prefixes]).to(device),
            common=min(map(len, prefixes), default=0),
        )

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return replace(self, longest=self.longest[searches], prefixes=self.prefixes.select(searches))

    def check_vocabulary(self, size: int, examples: Sequence[int]) -> None:
        """Refuses prefixes with tokens the model does not know."""
        if not self.prefixes.tokens.shape[1]:
            return
        for example, row in zip(examples, self.prefixes.tokens.tolist(), strict=True):
            if max(row, default=0) >= size:
                raise UsageError(
                    f"prefix of example {example}: token {max(row)} is outside the model's vocabulary; "
                    f"its tokens are 0 to {size - 1}: encode the prefix with this model's tokenizer"
                )

    def last(self, length: int) -> Bool[Tensor, " B"]:
        """Searches in which only END may follow an output of this length."""
        return self.longest <= length

    def forbidden(self, length: int) -> tuple[int, ...]:
        """Tokens that may not follow any output of this length."""
        return (*self.never, END) if length < self.least else self.never

    def are_fixed(self, length: int) -> bool:
        """Whether `forbidden` is the only rule at this length: no prefix and no n-gram to look at."""
        return length >= self.prefixes.tokens.shape[1] and not 0 < self.no_repeat <= length

    def forbid_(self, log_probs: Float[Tensor, "B beam V"], written: Int[Tensor, "B beam t"]) -> None:
        """Sets the log-probabilities of tokens that may not come next to -inf.

        In place: a copy would cost more than all other work on them.
        """
        length = written.shape[-1]
        wanted = None
        if length < self.prefixes.tokens.shape[1]:
            wanted = self.prefixes.tokens[:, length, None, None].expand(*log_probs.shape[:2], 1)
            likely = log_probs.gather(-1, wanted)
        for token in self.forbidden(length):
            log_probs[..., token] = -torch.inf
        if 0 < self.no_repeat <= length:
            _forbid_repetition_(log_probs, written, self.no_repeat)
        if wanted is not None:
            # Last, so that a forced prefix overrides the other rules.
            forced = (length < self.prefixes.lengths)[:, None, None]
            log_probs.masked_fill_(forced, -torch.inf)
            log_probs.scatter_(-1, wanted, torch.where(forced, likely, log_probs.gather(-1, wanted)))


def _forbid_repetition_(log_probs: Float[Tensor, "B beam V"], written: Int[Tensor, "B beam t"], n: int) -> None:
    """Forbids tokens that would repeat an n-gram."""
    grams = written.unfold(-1, n, 1)
    context = written[..., written.shape[-1] - (n - 1) :]
    repeated = (grams[..., :-1] == context[..., None, :]).all(-1)
    # Adding lets several n-grams write to one token: 0 changes nothing, and -inf stays -inf.
    log_probs.scatter_add_(-1, grams[..., -1], torch.where(repeated, -torch.inf, 0.0).to(log_probs.dtype))


def check_prefixes(prefixes: Sequence[Sequence[int]], longest: Sequence[int], examples: Sequence[int]) -> None:
    """Refuses a wrong number of prefixes, and prefixes that are too long or contain special tokens."""
    if len(prefixes) != len(longest):
        raise UsageError(
            f"{len(prefixes)} prefixes for {len(longest)} sources: "
            "give one for each, and an empty one where nothing is forced"
        )
    names = {PAD: "PAD", BEGIN: "BEGIN", END: "END"}
    for example, prefix, limit in zip(examples, prefixes, longest, strict=True):
        if len(prefix) > limit:
            raise UsageError(
                f"prefix of example {example}: {len(prefix)} tokens, but this output may have at most {limit}; "
                "raise longest_factor or longest_extra, or shorten the prefix"
            )
        for place, token in enumerate(prefix):
            if token < 0:
                raise UsageError(f"prefix of example {example}: token {token} at place {place}; tokens are 0 or more")
            if token in names:
                raise UsageError(
                    f"prefix of example {example}: {names[token]} ({token}) at place {place}; "
                    "leave special tokens out of prefixes"
                )
