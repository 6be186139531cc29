"""Continuing a text with a language model, token by token, with the session and the steps that translators use.

Tokens are chosen on the device, and read by the host a few at a time. The shapes of a step depend on those of its
inputs alone, so that it can be captured (`regard.decode.captured`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.decode.sampling import Sampling
from regard.decode.session import Session
from regard.decode.stepping import Stepping
from regard.models.generator import Generator, State
from regard.models.language import LanguageModel
from regard.recipe import LanguageDecoding
from regard.tokens.vocabulary import END


def go_on(
    model: LanguageModel | Session,
    given: Sequence[int],
    settings: LanguageDecoding,
    never: Sequence[int] = (),
    begin: int | None = None,
    *,
    tokens: int,
    sample: int = 0,
    stepping: Stepping | None = None,
) -> Iterator[int]:
    """Yields the next `tokens` tokens after the given ones, of which there must be at least one.

    Tokens in `never` are not generated. After END the text continues, or a new one starts with `begin` if given.
    A draw depends on the seed, the sample's number and the position. A session keeps its prepared copies and graphs for
    the next text; `stepping` defaults to the fastest one available.
    """
    session, done, text = Session.of(model), 0, None
    with session.alone() as is_alone:
        while done < tokens:
            with session.writing(settings) as writer, torch.inference_mode():
                if text is None:
                    text = Text.of(session.device, given, settings, never, tokens, sample)
                fastest = session.stepping_of_text(writer, settings) if is_alone else Stepping(session.device)
                chosen = stepping or fastest
                count = min(chosen.every, tokens - done)
                for _ in range(count):
                    name = "begin" if text.state is None else "step"
                    text = chosen(name, partial(step, writer), text)
                # The only place where the host waits for the device.
                found: list[int] = text.written[0, done : done + count].tolist()
            if begin is not None and END in found:
                # Tokens generated after it are dropped.
                found = found[: found.index(END) + 1]
                text = text.beginning(begin, done + len(found))
            done += len(found)
            yield from found


@dataclass(frozen=True)
class Text:
    """A text being generated: both the input and the result of a step."""

    unread: Int[Tensor, "1 n"]
    """Tokens that the model reads next."""
    state: State | None
    """None before any token was read."""
    written: Int[Tensor, "1 room"]
    place: Int[Tensor, " 1"]
    """Number of tokens generated; a tensor, so that one graph serves all positions."""
    never: Int[Tensor, " M"]
    drawing: Sampling | None
    """None for greedy search."""

    @classmethod
    def of(
        cls,
        device: torch.device,
        given: Sequence[int],
        settings: LanguageDecoding,
        never: Sequence[int],
        tokens: int,
        sample: int,
    ) -> Self:
        # A power of two, because captured steps depend on it. Caches of attention allocate no more than they fill.
        room = 1 << (len(given) + tokens - 1).bit_length()
        unread, hidden = (torch.tensor(list(numbers), dtype=torch.long, device=device) for numbers in (given, never))
        drawing = drawing_of(settings, sample, room, device)
        return cls(unread[None], None, unread.new_zeros(1, room), unread.new_zeros(1), hidden, drawing)

    def beginning(self, token: int, place: int) -> Self:
        """A new text that begins with a token, at a position of the output."""
        numbers = self.place.new_tensor([token, place])
        return replace(self, unread=numbers[None, :1], state=None, place=numbers[1:])


def step(model: Generator, text: Text) -> Text:
    """Reads the unread tokens, and generates one."""
    state = text.state
    if state is None:
        nothing = text.unread[:, :0]
        state = model.start(Padded(nothing, nothing.new_zeros(1)), text.written.shape[1])
    features, state = model.advance(text.unread, state)
    token = choose(allowed_log_probs(model, features, state, text.never), text.drawing, text.place)
    written = text.written.scatter(1, text.place[None], token[None])
    return replace(text, unread=token[None], state=state, written=written, place=text.place + 1)


def allowed_log_probs(
    model: Generator, features: Float[Tensor, "1 n E"], state: State, never: Int[Tensor, " M"]
) -> Float[Tensor, "1 1 V"]:
    """Log-probabilities of the next token, with those in `never` excluded."""
    logits = model.readout_of(state).logits(features[:, -1:]).float()
    return logits.index_fill(-1, never, -torch.inf).log_softmax(-1)


def drawing_of(settings: LanguageDecoding, sample: int, tokens: int, device: torch.device) -> Sampling | None:
    """The sampling of up to `tokens` tokens; None for greedy search."""
    return None if settings.method == "greedy" else Sampling.of(settings, [sample], 1, tokens, device)


def choose(log_probs: Float[Tensor, "1 1 V"], drawing: Sampling | None, place: Int[Tensor, " 1"]) -> Int[Tensor, " 1"]:
    """The token at a position of the output."""
    if drawing is None:
        return log_probs[0].argmax(-1)
    here = replace(drawing, uniform=drawing.uniform.index_select(1, place))
    never_last = torch.zeros_like(place, dtype=torch.bool)
    return here.choose(log_probs, log_probs.new_zeros(1, 1), 0, never_last).tokens[0]
