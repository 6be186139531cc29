"""What a step of greedy or beam search does after the model, in two kernels, on CUDA devices with Triton.

One finds the likeliest continuations in the logits, the other does the rest: what `SearchStepper.step` says in dozens
of small operations, each of which takes longer to launch than to run. Rules that read the tokens so far, sampling and
the coverage penalty take the plain path.
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
    """Whether the next step of these searches is done here, if nobody asks for the attention."""
    return fits(searches, logits.shape[-1]) and pick("beam_step", logits, count=searches.live.beam + 1) is not None


def fits(searches: Searches, size: int) -> bool:
    """Whether the kernels can do what these searches ask for next, with a vocabulary of this size."""
    rules, length = searches.rules, searches.live.length
    simple = isinstance(searches.choice, Likeliest) and rules.are_fixed(length) and len(rules.forbidden(length)) <= 3
    return simple and size <= SIZE and searches.live.beam < COUNT


def fused_step(
    searches: Searches, logits: Float[Tensor, " B #beam V"], ranking: Ranking, n_best: int
) -> tuple[Searches, Int[Tensor, "B beam"]]:
    """The searches, one token further, written into the same memory; and the row whose state each place goes on with.
    The state is as it was."""
    from regard.kernels import cuda_beam

    live, finished, rules = searches.live, searches.finished, searches.rules
    count = Likeliest().count(live.beam, logits.shape[2])
    every = logits.expand(*live.totals.shape, -1)
    best, tokens = cuda_beam.likeliest(every, count, rules.forbidden(live.length))
    worth = ranking.worth(live.length + 1)
    assert isinstance(worth, float)
    rows = cuda_beam.advance_(
        (best, tokens),
        (live.totals, live.tokens, live.lengths),
        (finished.scores, finished.log_probs, finished.lengths, finished.tokens, finished.count),
        (rules.longest, searches.bound),
        (searches.over, searches.broken),
        live.length,
        worth,
        n_best,
        END,
    )
    return replace(searches, live=replace(live, length=live.length + 1)), rows
