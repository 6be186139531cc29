"""Recipes: the whole truth of a run, as strict and typed TOML. Never imports torch."""

from regard.recipe.loading import built_in_recipes, parse_recipe, read_recipe, write_recipe
from regard.recipe.settings import (
    Attention,
    Averaging,
    Data,
    Decoding,
    Optimizer,
    Recipe,
    RecurrentDropout,
    RecurrentModel,
    Schedule,
    Tokenizer,
    Tokens,
    Training,
    TransformerModel,
    Validation,
    settings,
)

__all__ = [
    "Attention",
    "Averaging",
    "Data",
    "Decoding",
    "Optimizer",
    "Recipe",
    "RecurrentDropout",
    "RecurrentModel",
    "Schedule",
    "Tokenizer",
    "Tokens",
    "Training",
    "TransformerModel",
    "Validation",
    "built_in_recipes",
    "parse_recipe",
    "read_recipe",
    "settings",
    "write_recipe",
]
