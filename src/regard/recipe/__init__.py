"""Recipes: the whole truth of a run, as strict and typed TOML. Never imports torch."""

from regard.recipe.data import Data, Tokenizer, Tokens
from regard.recipe.decoding import Decoding, Drawing, LanguageDecoding
from regard.recipe.language import LanguageData, LanguageTokenizer, LanguageTraining
from regard.recipe.language_models import (
    AttentiveModel,
    CopyingModel,
    NeuralModel,
    NgramModel,
    Penalty,
    RecurrentLanguageModel,
    RecurrentLayers,
    TransformerLanguageModel,
    WindowModel,
)
from regard.recipe.loading import (
    built_in_recipes,
    change_section,
    parse_recipe,
    read_recipe,
    toml,
    write_recipe,
)
from regard.recipe.model import Attention, RecurrentDropout, RecurrentModel, TransformerBlocks, TransformerModel
from regard.recipe.settings import (
    RECIPES,
    AnyRecipe,
    LanguageRecipe,
    Recipe,
    Setting,
    TranslationRecipe,
    VectorsRecipe,
    settings,
)
from regard.recipe.training import Averaging, Optimizer, Schedule, Training, Validation
from regard.recipe.vectors import CbowVectors, LearnedVectors, PredictingVectors, SkipgramVectors, VectorsData

__all__ = [
    "RECIPES",
    "AnyRecipe",
    "Attention",
    "AttentiveModel",
    "Averaging",
    "CbowVectors",
    "CopyingModel",
    "Data",
    "Decoding",
    "Drawing",
    "LanguageData",
    "LanguageDecoding",
    "LanguageRecipe",
    "LanguageTokenizer",
    "LanguageTraining",
    "LearnedVectors",
    "NeuralModel",
    "NgramModel",
    "Optimizer",
    "Penalty",
    "PredictingVectors",
    "Recipe",
    "RecurrentDropout",
    "RecurrentLanguageModel",
    "RecurrentLayers",
    "RecurrentModel",
    "Schedule",
    "Setting",
    "SkipgramVectors",
    "Tokenizer",
    "Tokens",
    "Training",
    "TransformerBlocks",
    "TransformerLanguageModel",
    "TransformerModel",
    "TranslationRecipe",
    "Validation",
    "VectorsData",
    "VectorsRecipe",
    "WindowModel",
    "built_in_recipes",
    "change_section",
    "parse_recipe",
    "read_recipe",
    "settings",
    "toml",
    "write_recipe",
]
