"""`[train]`: the training loop."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from regard.recipe.names import OPTIMIZERS, SCHEDULES, OptimizerName, ScheduleName
from regard.recipe.section import Count, FilePath, Only, Positive, Section, Share


class OptimizerSettings(Section):
    """How gradients become updates."""

    kind: OptimizerName = "adamw"
    """AdamW, Adam, or SGD; AdamW decouples weight decay from the gradient, Adam adds an L2 penalty."""
    rate: Annotated[float, Field(gt=0)] = 1e-3
    """Peak learning rate."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Weight decay of matrices, never of vectors (biases, gains): decoupled from the gradient (AdamW, SGD; Loshchilov
    and Hutter 2019), or a penalty on squared weights whose gradient is added to the clipped one (Adam)."""
    beta1: Annotated[Share, Only(kind=OPTIMIZERS)] = 0.9
    """AdamW, Adam: decay of the first moment."""
    beta2: Annotated[Share, Only(kind=OPTIMIZERS)] = 0.98
    """AdamW, Adam: decay of the second moment."""
    epsilon: Annotated[float, Field(gt=0), Only(kind=OPTIMIZERS)] = 1e-9
    """AdamW, Adam: term in the denominator."""
    momentum: Annotated[Share, Only(kind=OPTIMIZERS)] = 0.0
    """SGD: momentum."""
    part_rates: list[str] = Field(default=[])
    """Factors on the rate for parts of the model, by prefixes of weight names: `encoder=0.3`,
    `encoder.stack.layers.0=0.1` (Howard and Ruder 2018). The longest match applies; 0 freezes a part."""

    @property
    def factors(self) -> dict[str, float]:
        """The factor of each part that has its own."""
        pairs = (each.rpartition("=") for each in self.part_rates)
        return {part: float(factor) for part, _, factor in pairs}

    @model_validator(mode="after")
    def _factors_are_numbers(self) -> Self:
        for given in self.part_rates:
            part, _, factor = given.rpartition("=")
            if not part or not _is_factor(factor):
                raise ValueError(
                    f"part_rates: {given!r} is not a part and a factor of at least 0, such as 'encoder=0.3'"
                )
        if len(self.factors) < len(self.part_rates):
            raise ValueError(f"part_rates = {self.part_rates}: a part has two factors; leave one of them out")
        return self


def _is_factor(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False


class Schedule(Section):
    """How the learning rate goes over the run."""

    kind: ScheduleName = "inverse_square_root"
    """Shape after the warm-up; `plateau` lowers the rate when validation stops improving."""
    warmup: Count = 400
    """Steps over which the rate rises linearly from zero to its peak."""
    floor: Annotated[Share, Only(kind=SCHEDULES)] = 0.0
    """Minimum rate, as a share of the peak (cosine, plateau)."""
    factor: Annotated[float, Field(gt=0, lt=1), Only(kind=SCHEDULES)] = 0.5
    """Plateau: factor for each reduction."""
    patience: Annotated[Count, Only(kind=SCHEDULES)] = 2
    """Plateau: validations without improvement before a reduction."""


class Validation(Section):
    """When and how the model is judged on the development text."""

    every: Positive = 500
    """Steps between validations; each one saves a checkpoint."""
    metric: str = "loss"
    """The metric of the task for the best checkpoint, early stopping, and the plateau schedule."""
    decode: bool = False
    """Whether validation also decodes if `metric` does not need it."""
    examples: Count = 0
    """Number of development examples decoded at a validation: the first ones or, with `data.tags`, the same number from
    each part of the text; 0 means all. The loss always uses all."""
    patience: Count = 0
    """Validations without improvement before training stops; 0 means never."""
    target: float | None = None
    """Training stops as soon as `metric` is at least (loss: at most) this good."""


class Averaging(Section):
    """Weight averaging; where it is on, the average is validated and used."""

    decay: Share = 0.0
    """Decay of the exponential moving average over steps; 0 means off."""
    checkpoints: Count = 0
    """Number of last validated checkpoints whose average is the final model, unless the best checkpoint is better by
    the validation metric; 0 means off."""
    trigger: Count = 0
    """Validations without improvement after which averaging of all further weights begins (NT-ASGD, Merity et al. 2018,
    who use 5); 0 means off."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.trigger and (self.decay or self.checkpoints):
            raise ValueError(
                f"trigger = {self.trigger} is an average of its own; leave decay and checkpoints out, "
                "or set trigger = 0"
            )
        return self


class Starting(Section):
    """Parts of another model to begin with, exactly as they are, with the tokenizers they need."""

    model: FilePath = ""
    """Folder of the other model, of any task."""
    parts: list[str] = Field(default=[])
    """Parts, as prefixes of weight names, such as "encoder", "decoder", or "encoder.input.embedding";
    "encoder.layers=layers" for a part that has another name in the other model."""
    frozen_steps: Count = 0
    """Steps at the beginning during which these parts are frozen while everything else learns; 0 means none."""

    @model_validator(mode="after")
    def _names_both(self) -> Self:
        if bool(self.model) != bool(self.parts):
            there, missing = ("model", "parts") if self.model else ("parts", "model")
            raise ValueError(f"{there} needs {missing} too: which parts of which model to begin with")
        if self.frozen_steps and not self.parts:
            raise ValueError(
                f"frozen_steps = {self.frozen_steps} is for parts of another model; name them (model and parts), or "
                "keep a part as it is for the whole run with optimizer.part_rates, such as 'encoder=0'"
            )
        for part in self.parts:
            if not all(part.split("=")) or part.count("=") > 1:
                raise ValueError(f'parts: {part!r} names no part; write "encoder", or "encoder.layers=layers"')
        return self

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each part, and its name in the other model."""
        return [(part, other or part) for part, _, other in (each.partition("=") for each in self.parts)]


class Training(Section):
    """The training loop."""

    capture: bool = True
    """Whether steps are captured as CUDA graphs if batches have few `shapes`; results are bit-identical, only
    faster."""
    compile: bool | Literal["auto"] = "auto"
    """Whether parts of the model are compiled by torch.compile, which takes half a minute at the start and rounds
    differently; `auto` does so if steps are captured and the run is long (50 million tokens, or five minutes)."""
    accumulate: Positive = 1
    """Micro-batches per step."""
    steps: Count = 0
    """Steps after which training ends; 0 means no limit."""
    epochs: Count = 0
    """Passes over the training text after which training ends; 0 means no limit."""
    minutes: Annotated[float, Field(ge=0)] = 0.0
    """Minutes after which training ends, including validation; 0 means no limit."""
    clip: Annotated[float, Field(ge=0)] = 1.0
    """Norm at which gradients are clipped; 0 means off."""
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """Precision of matrix products (`auto`: bfloat16 on CUDA, otherwise float32); weights and sums stay in float32."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to train; `auto` takes CUDA, then Apple's MPS, then the CPU."""
    threads: Count = 0
    """CPU threads per process; 0 leaves it to torch. Small models are fastest with one."""
    start_from: FilePath = ""
    """Folder of a model whose weights and tokenizers this run starts from (fine-tuning)."""
    start: Starting = Starting()
    """Parts of another model, perhaps of another task, that this run begins with; all else is new."""
    keep: Positive = 3
    """Checkpoints kept on disk in addition to the best one."""
    log_every: Positive = 50
    """Steps between lines of `metrics.jsonl` and of the log."""
    bad_steps: Positive = 10
    """Non-finite steps in a row before training goes back to the last good checkpoint and halves the rate."""
    optimizer: OptimizerSettings = OptimizerSettings()
    """How gradients become updates."""
    schedule: Schedule = Schedule()
    """How the learning rate goes over the run."""
    validation: Validation = Validation()
    """When and how the model is judged."""
    average: Averaging = Averaging()
    """Averages of weights."""

    @property
    def tokens_in_batch(self) -> int:
        """Tokens of a micro-batch; 0 if the task does not count them."""
        return 0

    @property
    def few_shapes(self) -> bool:
        """Whether batches have so few shapes that steps can be captured."""
        return False

    @property
    def mostly_one_shape(self) -> bool:
        """Whether nearly all batches have the same shape."""
        return False

    @model_validator(mode="after")
    def _ends(self) -> Self:
        stops_by_itself = self.validation.patience or self.validation.target is not None
        if not (self.steps or self.epochs or self.minutes or stops_by_itself):
            raise ValueError("nothing ends this run; set steps, epochs, minutes, validation.patience or .target")
        if self.start.model and self.start_from:
            raise ValueError("start_from takes all of a model, start.parts some of one; leave one of them out")
        if self.schedule.kind == "cosine" and not (self.steps or self.epochs):
            raise ValueError("a cosine schedule must know its end; set steps or epochs, or another schedule.kind")
        return self


class TokenTraining(Training):
    """The training loop of tasks whose batches are counted in tokens."""

    batch_tokens: Positive = 4096
    """Tokens in a micro-batch on the longer side, including padding."""
    shapes: Count | Literal["auto"] = 0
    """Maximum number of batch shapes, at the cost of some padding, so that on CUDA a step is captured once for each and
    then replayed; 0 pads a batch to its longest row. Batches of running text have one shape, and any number but 0
    allows steps to be captured. `auto` is 16 on CUDA without packing, otherwise 0."""

    @property
    def tokens_in_batch(self) -> int:
        return self.batch_tokens

    @property
    def few_shapes(self) -> bool:
        return self.fixed_shapes > 0

    @property
    def fixed_shapes(self) -> int:
        """Maximum number of batch shapes; 0 means any, as does `auto` before it is resolved."""
        return 0 if self.shapes == "auto" else self.shapes
