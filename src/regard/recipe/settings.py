"""Every setting of a recipe: one name, one default, one sentence, in one place.

A recipe is a TOML file with these sections. `regard recipes --settings` prints this page as a table.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from regard.recipe.names import (
    CellName,
    ConnectionName,
    CorpusName,
    NormalizerName,
    OptimizerName,
    PlacementName,
    PositionName,
    ScheduleName,
    ScoreName,
    TaskName,
    TokenizerName,
)

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Remedy = Literal["keep", "drop", "refuse"]


class Section(BaseModel):
    """A table of a recipe: strict about types, closed to unknown names, never changed after loading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class Data(Section):
    """Where examples come from, and what happens to the doubtful ones."""

    corpus: CorpusName = "files"
    """`files` reads the user's own text; the other names are built-in corpora that need no download."""
    train: list[str] = []
    """Training text: two files (source, target), or one `.tsv` or `.jsonl`; each may end in `.gz`."""
    dev: list[str] = []
    """Development text, in the same forms; used for validation and for choosing settings."""
    test: list[str] = []
    """Test text, in the same forms; read by `regard evaluate` alone, and checked for overlap with training text."""
    source_field: str = "source"
    """Field of a JSON Lines record that holds the source."""
    target_field: str = "target"
    """Field of a JSON Lines record that holds the target."""
    examples: Positive = 20_000
    """Training examples a built-in corpus generates; development and test sets have a tenth of it each, 1,000 at most."""
    languages: list[str] = []
    """Languages of the built-in dates, as codes such as `de`; empty means all of them."""
    longest: Positive = 256
    """Most tokens a source or a target may have, the end-of-sentence mark not counted."""
    over_long: Literal["drop", "cut", "refuse"] = "drop"
    """What happens to a training pair with more tokens than `longest`; it is counted and reported in each case."""
    empty: Literal["drop", "refuse"] = "drop"
    """What happens to a training pair with an empty side."""
    duplicates: Remedy = "keep"
    """What happens to a training pair that occurred before."""
    overlap: Remedy = "keep"
    """What happens to a training pair whose source is in the development or test text as well."""
    control: Remedy = "keep"
    """What happens to a training pair with NUL or other control characters."""
    invalid: Literal["refuse", "drop", "replace"] = "refuse"
    """What happens to a line that is not valid UTF-8; `replace` puts U+FFFD in place of the bytes."""
    ratio: Annotated[float, Field(gt=1)] = 9.0
    """Length ratio in characters beyond which a pair is reported as doubtful; never a reason to drop it."""

    @model_validator(mode="after")
    def _files_are_named(self) -> Self:
        for name in ("train", "dev", "test"):
            paths = getattr(self, name)
            if len(paths) > 2:
                raise ValueError(f"data.{name} names {len(paths)} files; give two (source, target) or one (.tsv, .jsonl)")
            if paths and self.corpus != "files":
                raise ValueError(f"data.{name} names files, but data.corpus is {self.corpus!r}; set data.corpus to 'files' or leave data.{name} out")
        if self.corpus == "files" and not self.train:
            raise ValueError("data.train is missing: name two files (source, target) or one (.tsv, .jsonl), or choose a built-in data.corpus")
        return self


class Tokenizer(Section):
    """How text of one side becomes tokens."""

    kind: TokenizerName = "bpe"
    """Unit of text: words split at white space, characters, bytes, or subwords learned by BPE or unigram."""
    size: Positive = 8_000
    """Most entries of the vocabulary, special ones included; bytes need no more than 256 and those."""
    least: Positive = 1
    """Least number of occurrences for a word or character to enter the vocabulary."""
    lowercase: bool = False
    """Whether text is lower-cased first."""
    dropout: Share = 0.0
    """Share of BPE merges skipped at random in training text (BPE dropout), a function of seed, epoch and example."""

    @model_validator(mode="after")
    def _dropout_needs_merges(self) -> Self:
        if self.dropout and self.kind != "bpe":
            raise ValueError(f"dropout = {self.dropout} skips BPE merges, but kind is {self.kind!r}; set kind to 'bpe' or dropout to 0.0")
        return self


class Tokens(Section):
    """The tokenizers of both sides; they are trained on the training text as part of the run."""

    source: Tokenizer = Tokenizer()
    """The source side."""
    target: Tokenizer = Tokenizer()
    """The target side."""
    shared: bool = False
    """One vocabulary for both sides, trained on both texts with the settings of `source`."""

    @model_validator(mode="after")
    def _shared_is_said_once(self) -> Self:
        if self.shared and self.target not in (Tokenizer(), self.source):
            raise ValueError("tokens.shared uses the settings of tokens.source for both sides; leave tokens.target out")
        return self


class Attention(Section):
    """How a recurrent decoder looks at the source."""

    score: ScoreName | Literal["none"] = "additive"
    """How a query and a key are compared; `none` is the bottleneck, where the decoder gets the last state only."""
    normalizer: NormalizerName = "softmax"
    """How scores become weights."""
    placement: PlacementName = "before"
    """Attention is read before the cell (Bahdanau et al. 2015), after it (Luong et al. 2015), or after it and fed to the next input."""
    hidden: Positive = 256
    """Hidden width of the additive score."""


class RecurrentDropout(Section):
    """Dropout kinds of recurrent models, each off by default."""

    embedding: Share = 0.0
    """Share of words whose whole embedding is dropped (Gal and Ghahramani 2016)."""
    input: Share = 0.0
    """Share of embedding features dropped."""
    between: Share = 0.0
    """Share of features dropped between layers."""
    output: Share = 0.0
    """Share of features dropped before the readout."""
    recurrent: Share = 0.0
    """Share of hidden-to-hidden weights dropped (weight drop, Merity et al. 2018)."""
    variational: bool = True
    """Whether one mask serves all time steps of a sequence (variational dropout) instead of a new one each step."""


class RecurrentModel(Section):
    """A recurrent encoder–decoder."""

    kind: Literal["recurrent"]
    """Which model."""
    cell: CellName = "lstm"
    """Tanh RNN, GRU or LSTM."""
    embedding: Positive = 256
    """Width of the word embeddings."""
    hidden: Positive = 256
    """Width of a state; a bidirectional encoder has this width in each direction."""
    encoder_layers: Positive = 1
    """Encoder layers."""
    decoder_layers: Positive = 1
    """Decoder layers."""
    bidirectional: bool = True
    """Whether the encoder reads in both directions."""
    connection: ConnectionName = "none"
    """What goes around a layer from the second on: nothing, residual, highway or dense connections."""
    attention: Attention = Attention()
    """How the decoder looks at the source."""
    dropout: RecurrentDropout = RecurrentDropout()
    """Dropout of each kind."""
    tie: Literal["none", "target", "all"] = "none"
    """Embeddings that share weights: none, the target's input and output, or those and the source's (needs tokens.shared)."""


class TransformerModel(Section):
    """A Transformer encoder–decoder (Vaswani et al. 2017)."""

    kind: Literal["transformer"]
    """Which model."""
    width: Positive = 256
    """Width of the model."""
    heads: Positive = 4
    """Attention heads of each block."""
    groups: Count = 0
    """Heads of keys and values, each shared by heads/groups query heads; 0 means as many as `heads`."""
    feedforward: Positive = 1024
    """Width of the feed-forward layers."""
    encoder_layers: Positive = 3
    """Encoder blocks."""
    decoder_layers: Positive = 3
    """Decoder blocks."""
    norm: Literal["pre", "post"] = "pre"
    """Layer normalization before each part (with a final one), or after each residual sum as in the original."""
    position: PositionName = "sinusoidal"
    """How self-attention knows order."""
    longest: Positive = 1024
    """Most positions a learned position table holds; relative positions are clipped at `clip`."""
    clip: Positive = 16
    """Distance at which relative positions are clipped (Shaw et al. 2018)."""
    score: ScoreName = "scaled_dot"
    """How queries and keys are compared in every head."""
    normalizer: NormalizerName = "softmax"
    """How scores become weights."""
    window: Count = 0
    """Self-attention sees this many positions to either side (decoder: back); 0 means all."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward layers."""
    dropout: Share = 0.1
    """Share of features dropped after embeddings, attention and feed-forward layers."""
    attention_dropout: Share = 0.0
    """Share of attention weights dropped."""
    tie: Literal["none", "target", "all"] = "target"
    """Embeddings that share weights: none, the target's input and output, or those and the source's (needs tokens.shared)."""

    @model_validator(mode="after")
    def _widths_divide(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width = {self.width} cannot be divided among heads = {self.heads}; choose a multiple of {self.heads}")
        if self.groups and self.heads % self.groups:
            raise ValueError(f"heads = {self.heads} cannot be divided among groups = {self.groups}; choose a divisor of {self.heads}, or 0")
        if self.position == "rotary" and self.width // self.heads % 2:
            raise ValueError(f"rotary positions turn pairs of features, but width / heads = {self.width // self.heads} is odd")
        return self


Model = Annotated[RecurrentModel | TransformerModel, Field(discriminator="kind")]


class Optimizer(Section):
    """How gradients become updates."""

    kind: OptimizerName = "adamw"
    """AdamW or SGD."""
    rate: Annotated[float, Field(gt=0)] = 1e-3
    """Peak learning rate."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Decoupled weight decay of matrices; vectors (biases, gains) are never decayed."""
    beta1: Share = 0.9
    """AdamW: decay of the first moment."""
    beta2: Share = 0.98
    """AdamW: decay of the second moment."""
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    """AdamW: term in the denominator."""
    momentum: Share = 0.0
    """SGD: momentum."""


class Schedule(Section):
    """How the learning rate goes over the run."""

    kind: ScheduleName = "inverse_square_root"
    """Shape after the warm-up; `plateau` lowers the rate when validation stops improving."""
    warmup: Count = 400
    """Steps over which the rate rises linearly from zero to its peak."""
    floor: Share = 0.0
    """Least rate, as a share of the peak (cosine, plateau)."""
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Plateau: factor at each lowering."""
    patience: Count = 2
    """Plateau: validations without improvement before a lowering."""


class Validation(Section):
    """When and how the model is judged on the development text."""

    every: Positive = 500
    """Steps between validations; each one saves a checkpoint."""
    metric: Literal["loss", "accuracy", "bleu", "chrf"] = "loss"
    """What decides which checkpoint is best, when the plateau schedule lowers the rate, and early stopping; all but `loss` need decoding."""
    decode: bool = False
    """Whether validation decodes as well when `metric` does not need it."""
    examples: Count = 0
    """Development examples decoded at a validation; 0 means all. The loss always uses all."""
    patience: Count = 0
    """Validations without improvement before training stops; 0 means never."""
    target: float | None = None
    """Training stops as soon as `metric` is at least (loss: at most) this good."""


class Averaging(Section):
    """Averages of weights, which is what gets validated and used when on."""

    decay: Share = 0.0
    """Decay of the exponential moving average over steps; 0 means off."""
    checkpoints: Count = 0
    """Number of last validated checkpoints averaged into the final model; 0 means off."""


class Training(Section):
    """The training loop."""

    batch_tokens: Positive = 4096
    """Tokens in a micro-batch, padding included, on the longer side."""
    accumulate: Positive = 1
    """Micro-batches in a step."""
    steps: Count = 0
    """Steps after which training ends; 0 means no limit."""
    epochs: Count = 0
    """Passes over the training text after which training ends; 0 means no limit."""
    minutes: Annotated[float, Field(ge=0)] = 0.0
    """Minutes of training after which it ends, validation included; 0 means no limit."""
    clip: Annotated[float, Field(ge=0)] = 1.0
    """Norm at which gradients are clipped; 0 means off."""
    label_smoothing: Share = 0.1
    """Share of probability spread evenly over the vocabulary."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Number format of the matrix products; weights and sums stay in float32."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to train; `auto` takes CUDA, then Apple's MPS, then the CPU."""
    start_from: str = ""
    """Folder of a model whose weights this run begins with (fine-tuning), its tokenizers included."""
    keep: Positive = 3
    """Checkpoints kept on disk besides the best one."""
    log_every: Positive = 50
    """Steps between lines of `metrics.jsonl` and of the log."""
    bad_steps: Positive = 10
    """Steps in a row with a non-finite loss or gradient before training goes back to the last good checkpoint with a halved rate."""
    optimizer: Optimizer = Optimizer()
    """How gradients become updates."""
    schedule: Schedule = Schedule()
    """How the learning rate goes over the run."""
    validation: Validation = Validation()
    """When and how the model is judged."""
    average: Averaging = Averaging()
    """Averages of weights."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if not (self.steps or self.epochs or self.minutes or self.validation.patience or self.validation.target is not None):
            raise ValueError("nothing ends this run; set train.steps, train.epochs, train.minutes, train.validation.patience or train.validation.target")
        if self.schedule.kind == "cosine" and not (self.steps or self.epochs):
            raise ValueError("a cosine schedule must know its end; set train.steps or train.epochs, or choose another train.schedule.kind")
        return self


class Decoding(Section):
    """How a model writes its output."""

    method: Literal["greedy", "beam", "sample"] = "beam"
    """The likeliest token each step, a beam, or drawing at random."""
    beam: Positive = 5
    """Hypotheses kept at each step."""
    n_best: Positive = 1
    """Outputs given for each input; at most `beam`."""
    length_penalty: Annotated[float, Field(ge=0)] = 1.0
    """Exponent by which a hypothesis' log-probability is divided: length ** penalty; 0 means the plain sum."""
    coverage_penalty: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the penalty for source tokens that got little attention (Wu et al. 2016)."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling: values below 1 sharpen, above 1 flatten."""
    top_k: Count = 0
    """Sampling: only the k likeliest tokens; 0 means all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Sampling: the smallest set of tokens with this much probability."""
    min_p: Share = 0.0
    """Sampling: only tokens at least this likely compared with the likeliest."""
    no_repeat: Count = 0
    """No n-gram of this many tokens occurs twice in an output; 0 means no such rule."""
    least: Count = 0
    """Least number of tokens of an output."""
    longest_factor: Annotated[float, Field(ge=0)] = 2.0
    """An output has at most this many tokens for each source token, and …"""
    longest_extra: Count = 20
    """… this many more."""
    batch_tokens: Positive = 4096
    """Source tokens decoded together, padding included, the beam not counted."""
    seed: int = 1
    """Sampling: outputs are a function of seed, example and position."""

    @model_validator(mode="after")
    def _n_best_fits(self) -> Self:
        if self.method == "beam" and self.n_best > self.beam:
            raise ValueError(f"n_best = {self.n_best} outputs cannot come from a beam of {self.beam}; set beam to {self.n_best} or more")
        if self.method == "greedy" and self.n_best > 1:
            raise ValueError(f"greedy decoding gives one output, not n_best = {self.n_best}; use method 'beam' or 'sample'")
        return self


class Recipe(Section):
    """The whole truth of a run."""

    task: TaskName = "translation"
    """What the model is for."""
    seed: int = 1
    """Seed of everything that is random: data order, initial weights, dropout, generated corpora."""
    data: Data
    """Where examples come from."""
    tokens: Tokens = Tokens()
    """How text becomes tokens."""
    model: Model
    """The model."""
    train: Training
    """The training loop."""
    decode: Decoding = Decoding()
    """How the model writes its output, unless a command says otherwise."""

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.model.tie == "all" and not self.tokens.shared:
            raise ValueError("model.tie = 'all' shares one embedding between both sides, which needs tokens.shared = true")
        if self.train.validation.every and self.data.corpus == "files" and not self.data.dev:
            needs = [name for name, on in {
                "train.validation.patience": self.train.validation.patience > 0,
                "train.validation.target": self.train.validation.target is not None,
                "train.schedule.kind = 'plateau'": self.train.schedule.kind == "plateau",
                "train.validation.decode": self.train.validation.decode,
            }.items() if on]
            if needs:
                raise ValueError(f"{needs[0]} needs development text; set data.dev")
        return self


def settings(section: type[BaseModel] = Recipe, prefix: str = "") -> dict[str, Any]:
    """Every setting by its dotted name, with pydantic's field (type, default, sentence)."""
    found: dict[str, Any] = {}
    for name, field in section.model_fields.items():
        dotted = prefix + name
        parts = [part for part in (getattr(field.annotation, "__args__", ()) or (field.annotation,)) if isinstance(part, type)]
        tables = [part for part in parts if issubclass(part, BaseModel)]
        for table in tables:
            found |= settings(table, f"{dotted}.")
        if not tables:
            found.setdefault(dotted, field)
    return found
