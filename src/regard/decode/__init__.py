"""Writing outputs: greedy, beam and sampled; and scoring given ones."""

from regard.decode.corpus import decode_all, score_all
from regard.decode.ranking import Hypothesis
from regard.decode.search import decode

__all__ = ["Hypothesis", "decode", "decode_all", "score_all"]
