"""An encoder and a recurrent decoder, with attention at one of three places or none.

With y the last token, s the decoder's state, c the attention context and f the features that predict the next token:

    none      s' = cell(y, s)                                          f = tanh(W s')
    before    c = attend(s),  s' = cell([y; c], s)                     f = tanh(W [s'; c; y])    Bahdanau et al. 2015
    after     s' = cell(y, s),  c = attend(s')                         f = tanh(W [s'; c])       Luong et al. 2015
    feed      s' = cell([y; last f], s),  c = attend(s')               f = tanh(W [s'; c])       Luong et al. 2015, 3.3

In training, what does not depend on the previous step is computed for all steps at once. Dropout masks are drawn at
each `advance`; training is one `advance` over the whole target, so variational masks last for a sequence.
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
from regard.models.source_attention import Looked, Source, SourceAttention, StepwiseAttention
from regard.nn.dropout import FeatureDropout
from regard.nn.recurrent import RecurrentStack, RecurrentState
from regard.nn.stepwise_linear import StepwiseLinear, narrowed
from regard.recipe import RecurrentModel
from regard.tap import Tap, name_axes


@dataclass(frozen=True)
class TranslatorState(State):
    """The decoder's state: its recurrent state, the source if it has attention, the last features if fed.

    `places` adjacent rows have the same source: B = N / places.
    """

    recurrent: RecurrentState
    source: Source | None = None
    fed: Float[Tensor, "N F"] | None = None
    places: int = 1
    coverage: Float[Tensor, "N S"] | None = None
    """Sum of the attention to each source token so far, if the model uses it."""
    looked: Looked | None = None
    """Attention of the last tokens, if needed for copying or coverage."""

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
        # Source and features are never changed in place, so copies may share them.
        return replace(self, recurrent=self.recurrent.copy())


class Bridge(nn.Module):
    """The decoder's first state from the encoder's last: s = tanh(W [all parts of the encoder's state]).

    Layers are matched from the top. There is no tanh for an LSTM's cell state.
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

    `read_width` is the width of the cell's input besides a token's vector, `blend_width` that of the input of the
    features besides the state.
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
        """The state before the first token, given the encoded source."""

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
        """The features that predict the next token."""
        return torch.tanh(self.blend(torch.cat(parts, -1)))


class BottleneckDecoder(Decoder):
    """Sees only the encoder's last state (Sutskever et al. 2014, Cho et al. 2014)."""

    def start(self, encoded: Encoded, source: Padded) -> TranslatorState:
        return TranslatorState(self.bridge(encoded))

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        outputs, recurrent = self.stack(tokens, state=state.recurrent)
        return self.features(outputs), replace(state, recurrent=recurrent)


class AttentionDecoder(Decoder):
    """Attends to the source with queries of width `query_width`."""

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
        outputs, coverage = encoded.features, None
        if self.attention.covered is not None:
            wide = torch.promote_types(outputs.dtype, torch.float32)
            coverage = outputs.new_zeros(outputs.shape[:2], dtype=wide)
        return TranslatorState(
            self.bridge(encoded), self.attention.remember(outputs, encoded.keep, words), coverage=coverage
        )

    def stepwise(self, tokens: Float[Tensor, "N n E"], state: TranslatorState) -> StepwiseAttention:
        """Attention to the source with one query for each token."""
        rows, count = tokens.shape[:2]
        return StepwiseAttention(self.attention, _source(state), rows, count, state.coverage)

    def after(self, attended: StepwiseAttention, state: TranslatorState) -> TranslatorState:
        """The state after these queries, which are shown to the taps."""
        attended.show()
        needed = self.copies or state.coverage is not None
        return replace(state, coverage=attended.coverage, looked=attended.looked() if needed else None)


class BeforeDecoder(AttentionDecoder):
    """Attends with the last state; the context is an input of the cell (Bahdanau et al. 2015)."""

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
        attend, steps = self.stepwise(tokens, state), self.stack.steps(tokens, self.read_width)
        layers = state.recurrent.layers
        contexts, outputs = [], []
        for _ in range(tokens.shape[1]):
            contexts.append(attend(layers[-1][0]))
            output, layers = steps(contexts[-1], layers)
            outputs.append(output)
        steps.show()
        features = self.features(torch.stack(outputs, 1), torch.stack(contexts, 1), tokens)
        return features, replace(self.after(attend, state), recurrent=RecurrentState(layers))


class AfterDecoder(AttentionDecoder):
    """Attends with the new state (Luong et al. 2015): all steps at once, unless there is coverage."""

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        outputs, recurrent = self.stack(tokens, state=state.recurrent)
        if state.coverage is not None:
            attend = self.stepwise(tokens, state)
            context = torch.stack([attend(query) for query in outputs.unbind(1)], 1)
            state = self.after(attend, state)
        elif self.copies:
            context, weights = self.attention.weighed(outputs, _source(state))
            state = replace(state, looked=Looked(weights))
        else:
            context = self.attention.contexts(outputs, _source(state))
        return self.features(outputs, context), replace(state, recurrent=recurrent)


class FeedDecoder(AttentionDecoder):
    """Attends with the new state; the last features are an input of the cell (Luong et al. 2015, 3.3)."""

    def __init__(self, settings: RecurrentModel, tokens: TokenInput, encoder: Encoder) -> None:
        super().__init__(settings, tokens, encoder, read_width=_feature_width(settings))

    def start(self, encoded: Encoded, source: Padded) -> TranslatorState:
        state, features = super().start(encoded, source), encoded.features
        return replace(state, fed=features.new_zeros(len(features), self.blend.out_features))

    def read(
        self, tokens: Float[Tensor, "N n E"], state: TranslatorState
    ) -> tuple[Float[Tensor, "N n F"], TranslatorState]:
        attend, steps = self.stepwise(tokens, state), self.stack.steps(tokens, self.read_width)
        layers, fed = state.recurrent.layers, state.fed
        assert fed is not None
        rows, count = tokens.shape[:2]
        blend = StepwiseLinear(narrowed(self.blend.bias).expand(count, rows, -1), self.blend.weight)
        features = []
        for _ in range(count):
            query, layers = steps(fed, layers)
            fed = torch.tanh(blend(torch.cat([query, attend(query)], -1)))
            features.append(fed)
        steps.show()
        return torch.stack(features, 1), replace(self.after(attend, state), recurrent=RecurrentState(layers), fed=fed)


PLACEMENTS: dict[str, type[AttentionDecoder]] = {"before": BeforeDecoder, "after": AfterDecoder, "feed": FeedDecoder}


class RecurrentTranslator(Generator):
    """An encoder and a recurrent decoder, with or without attention to the source."""

    def __init__(self, settings: RecurrentModel, source_size: int, target_size: int) -> None:
        super().__init__()
        has_attention = settings.attention.score != "none"
        kind = PLACEMENTS[settings.attention.placement] if has_attention else BottleneckDecoder
        target = TokenInput(settings, target_size)
        shared = target.embedding if settings.tie == "all" else None
        self.encoder = build_encoder(settings.source_encoder, source_size, shared)
        self.decoder = kind(settings, target, self.encoder)
        self.readout = LinearReadout(
            _feature_width(settings), target_size, shared=target.embedding if settings.tie != "none" else None
        )
        self.cross_taps = ("decoder.attention.weights",) if has_attention else ()
        self.gate = CopyGate(_feature_width(settings)) if settings.copying else None
        self.copies = settings.copying
        name_axes(self.encoder, step="source", query="source", key="source")
        name_axes(self.decoder, step="past", query="target", key="source")

    def start(self, source: Padded, capacity: int) -> TranslatorState:
        """Encodes the source. A recurrent state does not grow, so `capacity` is ignored."""
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
        words = _source(state).words
        assert words is not None
        return CopyReadout.of(self.readout, words, state.places)

    def coverage_loss(self, state: State) -> Float[Tensor, "N n"] | None:
        assert isinstance(state, TranslatorState)
        return None if state.looked is None else state.looked.coverage_loss


def _feature_width(settings: RecurrentModel) -> int:
    """A tied readout needs features of the embedding's width."""
    return settings.hidden if settings.tie == "none" else settings.embedding


def _source(state: TranslatorState) -> Source:
    assert state.source is not None
    return state.source
