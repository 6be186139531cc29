"""Named weights: read from a model or a folder, copied into a model."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.checkpoint.checkpoints import read_tensors
from regard.checkpoint.folder import MODEL, ModelFolder
from regard.errors import ModelError, nearest, one_of
from regard.models.words import WordEmbedding


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The model's parameters and buffers, detached, not copied; shared tensors appear once, under their first name."""
    seen: set[int] = set()
    found: dict[str, Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = tensor.detach()
    return found


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], where: Path | str) -> None:
    """Copies weights into a model of the same shape; `where` names their origin in error messages."""
    _put(weights_of(model), weights, where)


def put_part(model: nn.Module, part: str, weights: Mapping[str, Tensor], other: str, where: Path | str) -> None:
    """Copies the part `other` of another model into `part` of this one; names and shapes must match exactly, but for
    words that only this one has. A part is a prefix of weight names, such as `encoder`."""
    every_wanted = weights_of(model)
    wanted = {name: every_wanted[name] for name in names_in(every_wanted, part)}
    given = {name: weights[name] for name in names_in(weights, other)}
    for name, found, every in ((part, wanted, every_wanted), (other, given, weights)):
        if not found:
            whose = "this model" if found is wanted else f"{where}: the model"
            raise ModelError(no_such_part(whose, name, every))
    given = {part + name.removeprefix(other): tensor for name, tensor in given.items()}
    for name, module in model.named_modules():
        if isinstance(module, WordEmbedding) and (vectors := f"{name}.vectors") in given:
            fixed = f"{other}{vectors.removeprefix(part)}".removesuffix("vectors") + "fixed"
            given[vectors] = module.grown(given[vectors], weights.get(fixed))
    _put(wanted, given, where)


def names_in(names: Iterable[str], part: str) -> list[str]:
    """The weights of a part, by name."""
    return [name for name in names if name == part or name.startswith(f"{part}.")]


def no_such_part(whose: str, part: str, names: Iterable[str]) -> str:
    """The error message for a part that a model does not have."""
    known = one_of(dict.fromkeys(name.split(".")[0] for name in names), part)
    return f"{whose} has no part {part!r}; its parts are {known}, and their submodules"


@torch.no_grad()
def _put(wanted: Mapping[str, Tensor], weights: Mapping[str, Tensor], where: Path | str) -> None:
    for name, tensor in wanted.items():
        if name not in weights:
            raise ModelError(f"{where}: {name!r} is missing, so these weights belong to another kind of model")
        if weights[name].shape != tensor.shape:
            raise ModelError(
                f"{where}: {name!r} has shape {tuple(weights[name].shape)}, but the model needs {tuple(tensor.shape)}; "
                "the recipe or a vocabulary differs from the one these weights were trained with"
            )
        if weights[name].dtype != tensor.dtype:
            raise ModelError(
                f"{where}: {name!r} holds {_short(weights[name].dtype)} numbers, but the model needs "
                f"{_short(tensor.dtype)}; these weights were not written by Regard"
            )
    for name in weights:
        if name not in wanted:
            near = nearest(name, wanted)[0]
            raise ModelError(f"{where}: the model has no {name!r}; the nearest it has is {near!r}")
    for name, tensor in wanted.items():
        tensor.copy_(weights[name])


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def load_weights(folder: Path | str, which: str = "chosen") -> dict[str, Tensor]:
    """Loads the verified weights of a model folder to the CPU: those to use (`chosen`), those to resume from
    (`current`), or those of a named checkpoint."""
    model = ModelFolder(Path(folder))
    file = MODEL
    if which == "chosen":
        name, file = model.chosen() or (None, MODEL)
    else:
        name = model.current() if which == "current" else which
    if name is None:
        raise ModelError(f"{model.path}: there is no trained model here (no file {which!r}); {model.advice()}")
    return read_tensors(model, name, file)
