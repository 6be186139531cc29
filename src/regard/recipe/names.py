"""The names a recipe may use. Recipes know names, not classes, so checking one needs no torch.

Each name stands for an entry of a plain dictionary in the room that builds it
(`regard.attention.SCORES`, `regard.nn.CELLS`, …); a test holds that names and dictionaries agree.
"""

from typing import Literal

TaskName = Literal["translation", "language"]
RecipeTaskName = Literal["translation", "language", "vectors"]
CorpusName = Literal["files", "dates", "copy", "reverse"]
TextCorpusName = Literal["files", "topics"]
TokenizerName = Literal["words", "characters", "bytes", "bpe", "unigram"]
ScoreName = Literal[
    "dot", "scaled_dot", "multiplicative", "additive", "concatenation", "cosine", "inverse_distance", "gaussian"
]
NormalizerName = Literal["softmax", "sparsemax", "entmax15"]
PositionName = Literal["none", "sinusoidal", "learned", "relative", "rotary", "alibi"]
CellName = Literal["rnn", "gru", "lstm"]
ConnectionName = Literal["none", "residual", "highway", "dense"]
PlacementName = Literal["before", "after", "feed"]
OptimizerName = Literal["adamw", "adam", "sgd"]
UtilityName = Literal["chrf", "bleu"]
ScheduleName = Literal["constant", "inverse_square_root", "cosine", "plateau"]
