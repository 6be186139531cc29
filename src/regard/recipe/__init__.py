"""Recipes: the whole truth of a run, as strict and typed TOML. Never imports torch."""

from regard.recipe.data import Data, Tokenizer, Tokens
from regard.recipe.decoding import Decoding
from regard.recipe.loading import (
    built_in_recipes,
    change_section,
    parse_recipe,
    read_recipe,
    toml,
    write_recipe,
)
from regard.recipe.model import Attention, RecurrentDropout, RecurrentModel, TransformerModel
from regard.recipe.settings import Recipe, Setting, settings
from regard.recipe.training import Averaging, Optimizer, Schedule, Training, Validation

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
    "Setting",
    "Tokenizer",
    "Tokens",
    "Training",
    "TransformerModel",
    "Validation",
    "built_in_recipes",
    "change_section",
    "parse_recipe",
    "read_recipe",
    "settings",
    "toml",
    "write_recipe",
]
