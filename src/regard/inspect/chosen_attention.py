"""The attention of one layer, as distributions that can be replaced while a model chooses an output."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import DataError, UsageError, one_of
from regard.inspect.outputs import Outputs
from regard.inspect.watch import recorded
from regard.tap import Tap, intervene


@dataclass(frozen=True, eq=False)
class ChosenAttention:
    """M distributions over K keys: those of one head or of all, for the query of the output or for all queries."""

    outputs: Outputs
    place: int
    tap: str
    axis: str
    """The axis of the keys, one of the inputs'."""
    at: Int[Tensor, "M axes"]
    """The head and the query of each distribution, if the layer has several."""
    weights: Float[Tensor, "M K"]
    visible: Bool[Tensor, "M K"]
    """Which keys may be attended to."""

    @classmethod
    def of(
        cls,
        outputs: Outputs,
        place: int,
        *,
        layer: str | None = None,
        head: int | None = None,
        query: int | None = None,
    ) -> "ChosenAttention":
        """The weights of a layer, by the name of its tap. Without one, those of the attention that the choice is made
        from; without a head, of all heads; without a query, of that at which the choice is made, or of all where no
        single one is."""
        place, every = outputs.place(place), attention_taps(outputs)
        if layer is not None and layer not in every:
            raise UsageError(f"there is no attention {layer!r} to what is read; there is {one_of(every, layer)}")
        tap = layer or _made_from(outputs, every)
        axes = every[tap].axes[1:]
        weights = _recorded(outputs, place, tap)
        sizes = dict(zip(axes, weights.shape, strict=True))
        queries = axes[-2] if len(axes) > 1 and axes[-2] != "head" else None
        if head is not None and not 0 <= head < sizes.get("head", 0):
            there = f"heads are counted from 0 to {sizes['head'] - 1}" if "head" in sizes else "it has no heads"
            raise UsageError(f"{tap!r} has no head {head}; {there}")
        if query is None and queries is not None and queries in outputs.made_at:
            query = place + outputs.made_at[queries]
        if query is not None and (queries is None or not 0 <= query < sizes[queries]):
            there = "it has no queries" if queries is None else f"queries are counted from 0 to {sizes[queries] - 1}"
            raise UsageError(f"{tap!r} has no query {query}; {there}")
        chosen = torch.ones(weights.shape[:-1], dtype=torch.bool)
        if head is not None:
            chosen &= (torch.arange(sizes["head"]) == head).view(-1, *[1] * (chosen.ndim - 1))
        if query is not None:
            chosen &= torch.arange(chosen.shape[-1]) == query
        # A fully masked query has no weights.
        chosen &= weights.sum(-1).cpu() > 0
        visible = _visible(outputs, place, tap, weights)
        at = chosen.nonzero()
        if not len(at):
            raise DataError(f"{tap!r} sees nothing at output {place}, so that there are no weights; choose a later one")
        rows = chosen.flatten().to(weights.device)
        own, seen = (each.reshape(len(rows), -1)[rows] for each in (weights, visible))
        return cls(outputs, place, tap, axes[-1].partition("+")[0], at, own, seen)

    @property
    def has_choice(self) -> bool:
        """Whether the weights could differ: some query sees several keys."""
        return bool((self.visible.sum(1) > 1).any())

    @property
    def told(self) -> str:
        """The name of this attention, in words."""
        heads = sorted({head for head, _ in self.at.tolist()}) if self.at.shape[1] == 2 else []
        some = f", head {heads[0]}" if len(heads) == 1 else f", {len(heads)} heads" if heads else ""
        return f"{self.tap}{some}"

    def log_probs(self, weights: Float[Tensor, "R M K"]) -> Float[Tensor, "R C"]:
        """Log-probabilities of the choices at the place, for each row of replaced weights."""
        with intervene(self.outputs.model, self.tap, self._replacing(weights)):
            return self.outputs.log_probs(self.place, without=[()] * len(weights))

    @torch.no_grad()
    def probabilities(self, weights: Float[Tensor, "R M K"]) -> Float[Tensor, "R C"]:
        """The same as probabilities, without gradients, any number of rows."""
        parts = torch.split(weights, self.outputs.rows_at_once)
        return torch.cat([self.log_probs(part).exp() for part in parts])

    def _replacing(self, weights: Float[Tensor, "R M K"]) -> Callable[[Tensor], Tensor]:
        """A hook that replaces these weights. A recurrent decoder passes one query after another."""
        begun = 0

        def replace(value: Float[Tensor, "R ... K"]) -> Tensor:
            nonlocal begun
            if value.ndim == 2:
                return weights[:, 0]
            queries = self.at[:, -1] - begun
            here = ((queries >= 0) & (queries < value.shape[-2])).nonzero()[:, 0]
            begun += value.shape[-2]
            changed = value.clone()
            index = (*self.at[here, :-1].T, queries[here])
            changed[(slice(None), *(each.to(value.device) for each in index))] = weights[:, here].to(value)
            return changed

        return replace


def attention_taps(outputs: Outputs) -> dict[str, Tap]:
    """The taps of attention weights whose keys are inputs of the model."""
    found = {
        name: part
        for name, part in outputs.model.named_modules()
        if isinstance(part, Tap) and name.endswith("weights") and part.axes[-1].partition("+")[0] in outputs.inputs
    }
    if not found:
        raise UsageError("this model has no attention to what it reads, so that there is nothing to explain it by")
    return found


def _made_from(outputs: Outputs, every: dict[str, Tap]) -> str:
    """The last attention whose queries are the positions of choices; pooling, without queries, if a choice is made from
    the whole text."""
    if outputs.made_at:
        found = [name for name, tap in every.items() if len(tap.axes) > 2 and tap.axes[-2] in outputs.made_at]
    else:
        found = [name for name, tap in every.items() if len(tap.axes) == 2]
    read = [name for name in found if every[name].axes[-1].partition("+")[0] == outputs.input_axis()]
    return (read or found or list(every))[-1]


def _recorded(outputs: Outputs, place: int, tap: str) -> Float[Tensor, "... K"]:
    with torch.no_grad():
        (arrays,), log_probs = recorded(outputs.model, [tap], {"": [1]}, lambda: outputs.log_probs(place))
    return torch.from_numpy(arrays[tap].values).to(log_probs.device)


def _visible(outputs: Outputs, place: int, tap: str, weights: Float[Tensor, "... K"]) -> Bool[Tensor, "... K"]:
    """The keys that a query may see: those it attends to when all scores are equal."""
    scores = tap.removesuffix("weights") + "scores"
    if any(name == scores for name, _ in outputs.model.named_modules()):
        with intervene(outputs.model, scores, torch.zeros_like):
            return _recorded(outputs, place, tap) > 0
    return torch.ones_like(weights, dtype=torch.bool) if weights.ndim == 1 else weights > 0
