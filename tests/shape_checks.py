"""The type checker that reads shapes in signatures while tests run."""

from typing import Any, Self

from beartype import BeartypeConf, FrozenDict, beartype

# jaxtyping decorates methods one by one, where beartype cannot know which class `Self` is.
check = beartype(conf=BeartypeConf(hint_overrides=FrozenDict({Self: Any})))
