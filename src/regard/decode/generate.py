"""Continuing a text with a language model, token by token."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.decode.sampling import Sampling, uniform_numbers
from regard.models.generator import State
from regard.models.language import LanguageModel
from regard.recipe import LanguageDecoding
from regard.tokens.vocabulary import END


def go_on(
    model: LanguageModel,
    given: Sequence[int],
    settings: LanguageDecoding,
    never: Sequence[int] = (),
    begin: int | None = None,
    *,
    tokens: int,
    sample: int = 0,
) -> Iterator[int]:
    """Yields the next `tokens` tokens after the given ones, of which there must be at least one.

    Tokens in `never` are not generated. After END the text goes on, or a new one starts with `begin` if that is given.
    A draw depends on the seed, the sample's number and the position.
    """
    device = model.like.device
    hidden = torch.tensor(list(never), dtype=torch.long, device=device)
    drawing = drawing_of(settings, sample, tokens, device)
    state = _start(model, len(given) + tokens)
    features, state = _read(model, given, state)
    for place in range(tokens):
        token = choose(allowed_log_probs(model, features, state, hidden), drawing, place)
        yield token
        if place + 1 == tokens:
            return
        if token == END and begin is not None:
            token, state = begin, _start(model, tokens)
        features, state = _read(model, [token], state)


def _start(model: LanguageModel, capacity: int) -> State:
    nothing = torch.zeros(1, 0, dtype=torch.long, device=model.like.device)
    return model.start(Padded(nothing, nothing.new_zeros(1)), capacity)


@torch.inference_mode()
def _read(model: LanguageModel, tokens: Sequence[int], state: State) -> tuple[Float[Tensor, "1 n E"], State]:
    return model.advance(torch.tensor([list(tokens)], device=model.like.device), state)


@torch.inference_mode()
def allowed_log_probs(
    model: LanguageModel, features: Float[Tensor, "1 n E"], state: State, never: Int[Tensor, " M"]
) -> Float[Tensor, "1 1 V"]:
    """Log-probabilities of the next token, of those that are not in `never`."""
    logits = model.readout_of(state).logits(features[:, -1:]).float()
    return logits.index_fill(-1, never, -torch.inf).log_softmax(-1)


def drawing_of(settings: LanguageDecoding, sample: int, tokens: int, device: torch.device) -> Sampling | None:
    """How up to `tokens` tokens are drawn; None if the likeliest are taken."""
    if settings.method == "greedy":
        return None
    return Sampling(settings, uniform_numbers(settings.seed, [sample], 1, tokens).to(device))


@torch.inference_mode()
def choose(log_probs: Float[Tensor, "1 1 V"], drawing: Sampling | None, place: int) -> int:
    """The token at a place of what is generated."""
    if drawing is None:
        return int(log_probs.argmax())
    never_last = torch.zeros(1, dtype=torch.bool, device=log_probs.device)
    return int(drawing.choose(log_probs, log_probs.new_zeros(1, 1), place, never_last).tokens)
