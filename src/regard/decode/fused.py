"""The part of a greedy or beam search step after the model, as two Triton kernels.

One finds the likeliest continuations in the logits, the other does the rest of `SearchStepper.step`, which is dozens of
small operations that each take longer to launch than to run. Rules that read earlier tokens, sampling and the coverage
penalty use the unfused path.
"""

from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.beams import Searches
from regard.decode.candidates import Likeliest
from regard.decode.ranking import Ranking
from regard.kernels import pick
from regard.kernels.picking import COUNT, SIZE
from regard.tokens.vocabulary import END


def is_fused(searches: Searches, logits: Float[Tensor, " B #beam V"]) -> bool:
    """Whether the kernels can do the next step, if attention is not recorded."""
    return fits(searches, logits.shape[-1]) and pick("beam_step", logits, count=searches.live.beam + 1) is not None


def fits(searches: Searches, size: int) -> bool:
    """Whether the next step and this vocabulary size are within the kernels' limits."""
    simple = isinstance(searches.choice, Likeliest) and searches.rules.are_fixed(searches.live.length)
    return simple and size <= SIZE and searches.live.beam < COUNT


def fused_step(
    searches: Searches, logits: Float[Tensor, " B #beam V"], ranking: Ranking, n_best: int
) -> tuple[Searches, Int[Tensor, "B beam"]]:
    """Advances the searches by one token, in place, except for the model state; also returns the row of the state that
    each hypothesis continues."""
    from regard.kernels import cuda_beam

    live, finished, rules = searches.live, searches.finished, searches.rules
    count = Likeliest().count(live.beam, logits.shape[2])
    every = logits.expand(*live.totals.shape, -1)
    best, tokens = cuda_beam.likeliest(every, count, rules.forbidden(live.length))
    divisor = ranking.divisor(live.length + 1)
    assert isinstance(divisor, float)
    rows = cuda_beam.advance_(
        (best, tokens),
        (live.totals, live.tokens, live.lengths),
        (finished.scores, finished.log_probs, finished.lengths, finished.tokens, finished.count),
        (rules.longest, searches.bound),
        (searches.over, searches.broken),
        live.length,
        divisor,
        n_best,
        END,
    )
    return replace(searches, live=replace(live, length=live.length + 1)), rows
