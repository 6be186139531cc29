"""A recurrent decoder behind an encoder, with attention at one of three places or none.

With y the last token, s the decoder's state, c the context that attention reads from the source, and f the features
that predict the next token:

    none      s' = cell(y, s)                                          f = tanh(W s')
    before    c = attend(s),  s' = cell([y; c], s)                     f = tanh(W [s'; c; y])    Bahdanau et al. 2015
    after     s' = cell(y, s),  c = attend(s')                         f = tanh(W [s'; c])       Luong et al. 2015
    feed      s' = cell([y; last f], s),  c = attend(s')               f = tanh(W [s'; c])       Luong et al. 2015, 3.3

In training, what does not depend on the step before is computed for all steps at once. Dropout draws its masks at each
`advance`; training is one `advance` over the whole target, so that variational masks last for a sequence.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.models.copying import CopyGate, CopyReadout, known_tokens, words_of
from regard.models.encoders import Encoded, Encoder, build_encoder
from regard.models.encoders.recurrent import TokenInput, build_stack
from regard.models.generator import Generator, Readout, State
from regard.models.readout import LinearReadout
from regard.models.source_attention import Glances, Looked, Source, SourceAttention
from regard.nn.dropout import FeatureDropout
from regard.nn.recurrent import RecurrentStack, RecurrentState
from regard.nn.stepwise_linear import StepwiseLinear, narrowed
from regard.recipe import RecurrentModel
from regard.tap import Tap, name_axes


@dataclass(frozen=True)
class TranslatorState(State):
    """What the decoder remembers: its recurrent state, the source if it looks there, the last features if fed.

    `places` rows side by side have one source: B = N / places.
    """

    recurrent: RecurrentState
    source: Source | None = None
    fed: Float[Tensor, "N F"] | None = None
    places: int = 1
    coverage: Float[Tensor, "N S"] | None = None
    """Attention each source token got so far, if that counts."""
    looked: Looked | None = None
    """Where the tokens that were read last looked, for those who copy from there or want all of the source covered."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return self.branch(rows[:, None], rows // self.places)

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        every = rows.flatten()
        return replace(
            self,
            recurrent=self.recurrent.select(every),
            source=self.source if self.source is None or sources is None else self.source.select(sources),
            fed=None if self.fed is None else self.fed[every],
            places=rows.shape[1],
            coverage=None if self.coverage is None else self.coverage[every],
            looked=None,
        )

    def copy(self) -> Self:
        # Nobody writes into the source or the features, so that copies may share them.
        return replace(self, recurrent=self.recurrent.copy())


class Bridge(nn.Module):
    """The decoder's first state from the encoder's last: s = tanh(W [all parts of the encoder's state]).

    Layers are matched from the top. An LSTM's memory is not squashed.
    """

    def __init__(self, encoder: Encoder, decoder: RecurrentStack) -> None:
        super().__init__()
        given, wanted = encoder.start_widths, decoder.initial(torch.empty(0)).layers
        above = len(given) - len(wanted)
        self.matched = [max(0, place + above) for place in range(len(wanted))]
        self.maps = nn.ModuleList(
            nn.Linear(given[match], sum(part.shape[-1] for part in layer))
            for match, layer in zip(self.matched, wanted, strict=True)
        )
        self.parts = len(wanted[0])

    def forward(self, encoded: Encoded) -> RecurrentState:
        layers = []
        for match, linear in zip(self.matched, self.maps, strict=True):
            hidden, *memory = linear(encoded.starts[match]).chunk(self.parts, -1)
            layers.append((torch.tanh(hidden), *memory))
        return RecurrentState(tuple(layers))


class Decoder(nn.Module, ABC):
    """Reads the target so far; the tap `output` shows the features, "N n F".

    `read_width` is the width of what the cell reads besides a token's vector, `blend_width` that of what the features
    are made of besides the state.
    """

    def __init__(
        self,
        settings: RecurrentModel,
        tokens: TokenInput,
        encoder: Encoder,
        *,
        read_width: int = 0,
        blend_width: int = 0,
    ) -> None:
        super().__init__()
        self.input = tokens
        self.read_width = read_width
        self.stack = build_stack(settings, settings.embedding + read_width, settings.decoder_layers)
        self.bridge = Bridge(encoder, self.stack)
        self.blend = nn.Linear(self.stack.width + blend_width, _feature_width(settings))
        self.dropout = FeatureDropout(settings.dropout.output, variational=settings.dropout.variational)
        self.output = Tap("row", "target", "feature")

    @abstractmethod
    def start(self, encoded: Encoded, source: Padded) -> TranslatorState:
        """The state before the first token, given what the encoder made of the source."""

    @abstractmethod
    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        """The features of n more tokens, given their vectors."""

    def forward(
        self, tokens: Int[Tensor, "N n"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        features, state = self.read(self.input(tokens), state)
        return self.output(self.dropout(features)), state

    def features(self, *parts: Float[Tensor, "..."]) -> Float[Tensor, "*N F"]:
        """What predicts the next token."""
        return torch.tanh(self.blend(torch.cat(parts, -1)))


class BottleneckDecoder(Decoder):
    """Knows of the source what the encoder's last state says (Sutskever et al. 2014, Cho et al. 2014)."""

    def start(self, encoded: Encoded, source: Padded) -> TranslatorState:
        return TranslatorState(self.bridge(encoded))

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        outputs, recurrent = self.stack(tokens, state=state.recurrent)
        return self.features(outputs), replace(state, recurrent=recurrent)


class LookingDecoder(Decoder):
    """Looks at the source; its attention compares queries of width `query_width` with the encoder's outputs."""

    def __init__(
        self,
        settings: RecurrentModel,
        tokens: TokenInput,
        encoder: Encoder,
        *,
        query_width: int = 0,
        read_width: int = 0,
        blend_width: int = 0,
    ) -> None:
        super().__init__(settings, tokens, encoder, read_width=read_width, blend_width=encoder.width + blend_width)
        self.attention = SourceAttention(settings, query_width or self.stack.width, encoder.width)
        self.copies = settings.copying

    def start(self, encoded: Encoded, source: Padded) -> TranslatorState:
        words = words_of(source) if self.copies else None
        outputs, nothing = encoded.features, None
        if self.attention.covered is not None:
            wide = torch.promote_types(outputs.dtype, torch.float32)
            nothing = outputs.new_zeros(outputs.shape[:2], dtype=wide)
        return TranslatorState(
            self.bridge(encoded), self.attention.remember(outputs, encoded.keep, words), coverage=nothing
        )

    def glances(self, tokens: Float[Tensor, "N n E"], state: TranslatorState) -> Glances:
        """Looks at the source, one for each token."""
        rows, count = tokens.shape[:2]
        return Glances(self.attention, _looked_at(state), rows, count, state.coverage)

    def after(self, glances: Glances, state: TranslatorState) -> TranslatorState:
        """The state after these looks, shown to whoever watches."""
        glances.show()
        told = self.copies or state.coverage is not None
        return replace(state, coverage=glances.coverage, looked=glances.looked() if told else None)


class BeforeDecoder(LookingDecoder):
    """Looks with the last state, and reads what it sees together with the token (Bahdanau et al. 2015)."""

    def __init__(self, settings: RecurrentModel, tokens: TokenInput, encoder: Encoder) -> None:
        super().__init__(
            settings,
            tokens,
            encoder,
            query_width=settings.hidden,
            read_width=encoder.width,
            blend_width=settings.embedding,
        )

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        glances, steps = self.glances(tokens, state), self.stack.steps(tokens, self.read_width)
        layers = state.recurrent.layers
        contexts, outputs = [], []
        for _ in range(tokens.shape[1]):
            contexts.append(glances(layers[-1][0]))
            output, layers = steps(contexts[-1], layers)
            outputs.append(output)
        steps.show()
        features = self.features(torch.stack(outputs, 1), torch.stack(contexts, 1), tokens)
        return features, replace(self.after(glances, state), recurrent=RecurrentState(layers))


class AfterDecoder(LookingDecoder):
    """Looks with the new state (Luong et al. 2015): all steps at once, unless each must know where the last looked."""

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        outputs, recurrent = self.stack(tokens, state=state.recurrent)
        if state.coverage is not None:
            glances = self.glances(tokens, state)
            context = torch.stack([glances(query) for query in outputs.unbind(1)], 1)
            state = self.after(glances, state)
        elif self.copies:
            context, weights = self.attention.weighed(outputs, _looked_at(state))
            state = replace(state, looked=Looked(weights))
        else:
            context = self.attention.contexts(outputs, _looked_at(state))
        return self.features(outputs, context), replace(state, recurrent=recurrent)


class FeedDecoder(LookingDecoder):
    """Looks with the new state, and reads the last features together with the token (Luong et al. 2015, 3.3)."""

    def __init__(self, settings: RecurrentModel, tokens: TokenInput, encoder: Encoder) -> None:
        super().__init__(settings, tokens, encoder, read_width=_feature_width(settings))

    def start(self, encoded: Encoded, source: Padded) -> TranslatorState:
        state, features = super().start(encoded, source), encoded.features
        return replace(state, fed=features.new_zeros(len(features), self.blend.out_features))

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        glances, steps = self.glances(tokens, state), self.stack.steps(tokens, self.read_width)
        layers, fed = state.recurrent.layers, state.fed
        assert fed is not None
        rows, count = tokens.shape[:2]
        blend = StepwiseLinear(narrowed(self.blend.bias).expand(count, rows, -1), self.blend.weight)
        features = []
        for _ in range(count):
            query, layers = steps(fed, layers)
            fed = torch.tanh(blend(torch.cat([query, glances(query)], -1)))
            features.append(fed)
        steps.show()
        return torch.stack(features, 1), replace(self.after(glances, state), recurrent=RecurrentState(layers), fed=fed)


PLACEMENTS: dict[str, type[LookingDecoder]] = {"before": BeforeDecoder, "after": AfterDecoder, "feed": FeedDecoder}


class RecurrentTranslator(Generator):
    """An encoder, and a recurrent decoder that looks at what the encoder made of the source."""

    def __init__(self, settings: RecurrentModel, source_size: int, target_size: int) -> None:
        super().__init__()
        looks = settings.attention.score != "none"
        kind = PLACEMENTS[settings.attention.placement] if looks else BottleneckDecoder
        target = TokenInput(settings, target_size)
        shared = target.embedding if settings.tie == "all" else None
        self.encoder = build_encoder(settings.source_encoder, source_size, shared)
        self.decoder = kind(settings, target, self.encoder)
        self.readout = LinearReadout(
            _feature_width(settings), target_size, shared=target.embedding if settings.tie != "none" else None
        )
        self.cross_taps = ("decoder.attention.weights",) if looks else ()
        self.gate = CopyGate(_feature_width(settings)) if settings.copying else None
        self.copies = settings.copying
        name_axes(self.encoder, step="source", query="source", key="source")
        name_axes(self.decoder, step="past", query="target", key="source")

    def start(self, source: Padded, capacity: int) -> TranslatorState:
        """Reads the source. A recurrent state does not grow with the tokens, so `capacity` may be anything."""
        return self.decoder.start(self.encoder(source), source)

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        assert isinstance(state, TranslatorState)
        if self.gate is None:
            features, after = self.decoder(tokens, state)
            return features, after
        hidden, after = self.decoder(known_tokens(tokens, self.readout.size), state)
        return self.gate(hidden, after.looked.weights), after

    def readout_of(self, state: State) -> Readout:
        assert isinstance(state, TranslatorState)
        if self.gate is None:
            return self.readout
        words = _looked_at(state).words
        assert words is not None
        return CopyReadout.of(self.readout, words, state.places)

    def looked_again(self, state: State) -> Float[Tensor, "N n"] | None:
        assert isinstance(state, TranslatorState)
        return None if state.looked is None else state.looked.again


def build(settings: RecurrentModel, source_size: int, target_size: int) -> RecurrentTranslator:
    """The model of these settings, for vocabularies of these sizes."""
    return RecurrentTranslator(settings, source_size, target_size)


def _feature_width(settings: RecurrentModel) -> int:
    """A readout that shares its vectors with an embedding reads features of that width."""
    return settings.hidden if settings.tie == "none" else settings.embedding


def _looked_at(state: TranslatorState) -> Source:
    assert state.source is not None
    return state.source
