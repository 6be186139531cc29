"""The tags, or labels, of a model: those of its training text, or of the model it starts from."""

from collections.abc import Sequence
from pathlib import Path

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, one_of
from regard.recipe import Recipe
from regard.tasks.loading import refuse_other_task
from regard.tokens.tag_schemes import Scheme
from regard.tokens.tag_set import TagSet

SHOWN = 20
"""Tags that are named before training."""


def listed(known: TagSet) -> str:
    """The most frequent ones, as a line of text."""
    more = "" if len(known.tags) <= SHOWN else f" and {len(known.tags) - SHOWN} more"
    return f"{', '.join(known.tags[:SHOWN])}{more}"


def known_tags(
    recipe: Recipe,
    folder: Path,
    file: str,
    rows: Sequence[Sequence[str]],
    scheme: Scheme = "none",
    learned: Scheme = "none",
) -> TagSet:
    """Those of the training text, `rows`; of the model to start from, which must have them all; or of the resumed run.
    `file` is where a model keeps them."""
    if ModelFolder(folder).is_begun:
        return TagSet.load(folder / file)
    other = recipe.train.start_from
    if not other:
        return TagSet.of(rows, scheme, learned)
    try:
        refuse_other_task(Path(other), recipe.task)
        known = TagSet.load(Path(other) / file)
    except ModelError as error:
        raise ModelError(f"train.start_from: {error}") from None
    new = set(TagSet.of(rows, scheme, known.learned).tags) - set(known.tags)
    if new:
        raise ModelError(
            f"train.start_from: {other}: this model does not know the {Path(file).stem} {one_of(sorted(new))} of the "
            "training text; take over parts alone (train.start), such as 'words' and 'encoder'"
        )
    return TagSet(known.tags, scheme, known.learned)
