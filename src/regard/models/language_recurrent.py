"""A recurrent language model (Mikolov et al. 2010), with the regularization of AWD-LSTM (Merity et al. 2018).

With tied embeddings the last of several layers has their width, as in AWD-LSTM. Dropout masks last for a segment.
"""

from dataclasses import dataclass, replace
from typing import Self

from jaxtyping import Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.models.copying import known_tokens
from regard.models.encoders.recurrent import TokenInput, build_stack
from regard.models.generator import State
from regard.models.language import Carry, LanguageModel, Reading
from regard.models.language_readout import build_readout, build_toward
from regard.models.recent_states import Recent
from regard.nn.dropout import FeatureDropout
from regard.nn.recurrent import RecurrentState
from regard.recipe import RecurrentLayers
from regard.tap import Tap, name_axes


@dataclass(frozen=True)
class RecurrentLanguageState(State):
    """The states of the layers and, if the model looks back, its recent positions."""

    recurrent: RecurrentState
    recent: Recent | None = None

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        recent = None if self.recent is None else self.recent.select(rows)
        return replace(self, recurrent=self.recurrent.select(rows), recent=recent)

    def copy(self) -> Self:
        # Recent positions are never changed in place, so copies may share them.
        return replace(self, recurrent=self.recurrent.copy())


class RecurrentLanguageModel(LanguageModel):
    """Recurrent layers between an embedding and a readout; the tap `output` shows the features.

    The output of the last layer may have several `parts`, each as wide as it would be alone.
    """

    def __init__(self, settings: RecurrentLayers, size: int, *, parts: int = 1) -> None:
        super().__init__()
        # Tied vectors are updated with steps that suit the readout; scaled up, these would be too large for the cells.
        self.input = TokenInput(settings, size, scale=1.0 if settings.tie else None)
        embedding = self.input.embedding
        as_embedding = settings.tie and settings.layers > 1 and settings.connection == "none"
        top = parts * (settings.embedding if as_embedding else settings.hidden)
        self.stack = build_stack(settings, settings.embedding, settings.layers, top=top)
        self.output_width, self.part_width = self.stack.width, self.stack.width // parts
        self.dropout = FeatureDropout(settings.dropout.output, variational=settings.dropout.variational)
        width = self.width_of_features()
        self.toward = build_toward(settings, width, embedding)
        self.readout = build_readout(settings, width, embedding)
        self.output = Tap("row", "target", "feature")
        name_axes(self, step="past")

    def width_of_features(self) -> int:
        """The width of what `toward` maps."""
        return self.part_width

    def blank(self, rows: int) -> dict[str, Tensor]:
        return self._named(self.stack.initial(self.like.new_zeros(rows, 0)))

    def carried(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, RecurrentLanguageState)
        return self._named(state.recurrent)

    def resume(self, carry: Carry, capacity: int) -> RecurrentLanguageState:
        """A recurrent state does not grow, so `capacity` is ignored."""
        parts = self.stack.state_names
        layers = [tuple(carry[f"{place}.{part}"] for part in parts) for place in range(len(self.stack.layers))]
        return RecurrentLanguageState(RecurrentState(tuple(layers)))

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, RecurrentLanguageState)
        raw, recurrent = self.run(tokens, state)
        dropped = self.dropout(raw)
        return Reading(self.output(self.toward(dropped)), RecurrentLanguageState(recurrent), raw, dropped)

    def run(
        self, tokens: Int[Tensor, "N n"], state: RecurrentLanguageState
    ) -> tuple[Float[Tensor, "N n H"], RecurrentState]:
        """The outputs of the last layer, and the states of all layers."""
        outputs, recurrent = self.stack(self.input(known_tokens(tokens, self.readout.size)), state=state.recurrent)
        return outputs, recurrent

    def _named(self, state: RecurrentState) -> dict[str, Tensor]:
        return {
            f"{place}.{name}": part.detach().to(self.like.dtype)
            for place, layer in enumerate(state.layers)
            for name, part in zip(self.stack.state_names, layer, strict=True)
        }


class LookingBack(RecurrentLanguageModel):
    """A recurrent language model that remembers its last `reach` outputs, each with the word read there."""

    reach: int

    def blank(self, rows: int) -> dict[str, Tensor]:
        recent = Recent.none(rows, self.stack.width, self.like, self.reach)
        return super().blank(rows) | {"recent": recent.vectors, "words": recent.words}

    def carried(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, RecurrentLanguageState)
        recent = _recent(state).exactly(self.reach)
        return super().carried(state) | {"recent": recent.vectors.detach().to(self.like.dtype), "words": recent.words}

    def resume(self, carry: Carry, capacity: int) -> RecurrentLanguageState:
        return replace(super().resume(carry, capacity), recent=Recent(carry["recent"], carry["words"]))

    def start(self, source: Padded, capacity: int) -> RecurrentLanguageState:
        """Without recent positions, rather than with `reach` of padding."""
        fresh = self.resume(self.blank(len(source.tokens)), capacity)
        return replace(fresh, recent=_recent(fresh).last(0))

    def remember(
        self, outputs: Float[Tensor, "N n H"], tokens: Int[Tensor, "N n"], state: RecurrentLanguageState
    ) -> Recent:
        """The recent positions, with these outputs appended; older ones than any query may see are dropped."""
        return _recent(state).last(self.reach).join(outputs, tokens)


def _recent(state: RecurrentLanguageState) -> Recent:
    assert state.recent is not None
    return state.recent
