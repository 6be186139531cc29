"""Generating outputs (greedy, beam search, sampling) and scoring given ones."""

from regard.decode.corpus import decode_all, score_all
from regard.decode.ranking import Hypothesis
from regard.decode.search import decode
from regard.decode.session import Session

__all__ = ["Hypothesis", "Session", "decode", "decode_all", "score_all"]
