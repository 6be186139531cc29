"""Europarl, German to English: the recipe `europarl-transformer` beside MarianMT of Hugging Face in a plain loop.

    python benchmarks/europarl.py all --data europarl --out benchmarks/results/europarl.json

or one part after another, which can be stopped and resumed later:

    python benchmarks/europarl.py own --data europarl
    python benchmarks/europarl.py peer --data europarl --seconds 3600     # as often as it takes
    python benchmarks/europarl.py compare --data europarl --out benchmarks/results/europarl.json

Both have the same shape, the same tokens (learned by the same recipe from the same text), as many passes over the text,
batches within the same budget, the same dropout and label smoothing, and train in bfloat16. Ours is the recipe. The
peer has its batches on the device from the start (its peak of memory has them in it), each padded to its longest pair,
in another order in every pass; PEER says what else it has of its own, and --peer-set changes that. Each decodes the
development and the test text with a beam of 5, in float32, the peer by its `generate`.

A time has everything in it: reading and tokenizing the text, building and compiling the model, training, validation.
With --seconds, a side stops in time and resumes when it is called again. Of the peer, the passes of its first session
are timed: a GPU is slow on each shape that is new to a process, so that a first pass is slower than others, and would
be so again in every session. Its other passes are assumed to take as long as the timed ones after the first; so other
work may share the device with later sessions. With --sample, no pass of the peer is timed, but that many of its
batches, drawn at random, before it begins: all of them once when their shapes are new, and once when they are not. The
latter is the time of those of a later pass; the difference, by the number of shapes, is the extra time of a first pass.
Other work may share the device as soon as it has said so. `time --sample 60` times an already trained peer in this way,
on another machine for example. `compare` scores both, and tests by the paired bootstrap whether they differ.
"""

import argparse
import gc
import json
import math
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from statistics import mean
from threading import Timer
from typing import Any

import torch
from conditions import conditions
from plain_marian import Marian, plain_step
from torch import Tensor

from regard.data import CorpusPosition, PairBatch
from regard.data.batch import Padded
from regard.device import choose_device
from regard.metrics import bleu, compare
from regard.recipe import HeldOut, TransformerModel, TranslationRecipe, read_recipe
from regard.tasks import load_translator
from regard.tasks.evaluation import split_of
from regard.tasks.fingerprints import FINGERPRINT
from regard.tasks.translation import TranslationTask
from regard.tokens import BEGIN, END, PAD
from regard.train import run
from regard.train.schedules import Moment, share_of_peak

PEER = ("train.optimizer.rate=5e-4", "train.schedule.kind=inverse_square_root", "train.schedule.warmup=4000")
PEER += ("train.optimizer.weight_decay=0.0",)
"""Usual settings for this shape and budget (fairseq's for IWSLT 2014, except that those decay weights by 1e-4)."""
PADDED = ("train.pack=false", "train.shapes=0")
AVERAGED, APART = 2000, 200
"""The peer's weights at every 200th of the last 2,000 steps are averaged, as in the loop that is usual for it."""
BEAM, ROWS, POSITIONS = 5, 64, 512
CHECKPOINT = "checkpoint.pt"
MOST_SECONDS = 1e6
SPLITS: tuple[HeldOut, ...] = ("dev", "test")


@dataclass
class Side:
    """The progress of one side, saved beside its model."""

    seconds: float = 0.0
    """Seconds from the text to the trained model, everything included."""
    preparing: float = 0.0
    """Those of them before the first step: text, tokens, model."""
    passes: list[float] = field(default_factory=list)
    """Seconds of each separately timed pass, from the first on; or of the first two, by a sample."""
    sample: int = 0
    """Number of batches, if a sample was timed."""
    steps: int = 0
    finished: bool = False
    sittings: int = 0
    decoding: dict[str, float] = field(default_factory=dict)
    """Seconds for each text."""
    settings: list[str] = field(default_factory=list)
    peak_reserved_gibibytes: float = 0.0
    """Peak of training only: the sides' decoding batches, and so their memory, differ widely in size."""

    @classmethod
    def load(cls, folder: Path) -> "Side":
        path = folder / "side.json"
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, folder: Path) -> None:
        if torch.cuda.is_available() and not self.decoding:
            peak = torch.cuda.max_memory_reserved() / 2**30
            self.peak_reserved_gibibytes = max(peak, self.peak_reserved_gibibytes)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "side.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def recipe_of(changes: Sequence[str]) -> TranslationRecipe:
    return read_recipe("europarl-transformer", list(changes), kind=TranslationRecipe)


def own(arguments: argparse.Namespace, folder: Path) -> None:
    """Trains and decodes by Regard's own commands."""
    side, recipe = Side.load(folder), recipe_of(arguments.set)
    if not side.finished:
        begun = time.perf_counter()
        with _stopped_after(arguments.seconds):
            ended = run(recipe, folder, resume=True)
        side.seconds += time.perf_counter() - begun
        side.preparing = side.preparing or side.seconds - ended.seconds
        side.finished = ended.reason != "interrupted"
        side.steps, side.settings, side.sittings = ended.step, list(arguments.set), side.sittings + 1
        side.save(folder)
        print(f"own: step {side.steps}, {side.seconds:.1f} s", flush=True)
    if side.finished and not side.decoding:
        translator = load_translator(folder, changes=["decode.method=beam", f"decode.beam={BEAM}"])
        for split in SPLITS:
            begun = time.perf_counter()
            outputs = [found.text for found in translator.translate(_sources(recipe, split))]
            side.decoding[split] = time.perf_counter() - begun
            _write(folder, split, outputs)
        side.save(folder)


def peer(arguments: argparse.Namespace, folder: Path) -> None:
    """Trains MarianMT in a plain loop, and decodes by its `generate`."""
    _load_package()
    changes = [*PEER, *arguments.set, *arguments.peer_set]
    side, recipe = Side.load(folder), recipe_of([*changes, *PADDED])
    begun = time.perf_counter()
    task = TranslationTask.prepare(recipe, folder, print)
    device = choose_device(recipe.train.device)
    loop = _Loop(task, device)
    if side.sittings:
        loop.load(folder)
    else:
        task.save(folder)
        side.preparing = time.perf_counter() - begun
        if arguments.sample:
            _sample(side, loop, arguments.sample)
            del loop
            loop = _Loop(task, device)
    if not side.finished:
        passes = loop.run(begun + arguments.seconds)
        if not side.sittings:
            side.passes = side.passes or passes
            side.seconds = side.preparing + extrapolated(side.passes, recipe.train.epochs)
        side.steps, side.finished, side.settings = loop.step, loop.step == loop.steps, changes
        side.sittings += 1
        loop.save(folder)
        side.save(folder)
        print(f"peer: step {side.steps} of {loop.steps}, {side.seconds:.1f} s for all", flush=True)
    if side.finished and not side.decoding and time.perf_counter() - begun < arguments.seconds:
        for split in SPLITS:
            started = time.perf_counter()
            outputs = _generated(task, loop.model.eval(), loop.device, _sources(recipe, split))
            side.decoding[split] = time.perf_counter() - started
            _write(folder, split, outputs)
        side.save(folder)


def time_again(arguments: argparse.Namespace, folder: Path) -> None:
    """Times by a sample, from the text on, a peer that is already trained."""
    changes = [*PEER, *arguments.set, *arguments.peer_set]
    side, recipe = Side.load(folder), recipe_of([*changes, *PADDED])
    if not arguments.sample:
        raise SystemExit("time: --sample must say how many batches are timed")
    if not side.decoding:
        raise SystemExit("time: the peer has not decoded yet; call `europarl.py peer` first")
    if recipe_of([*side.settings, *PADDED]) != recipe:
        raise SystemExit(f"time: the peer was trained with other settings: {' '.join(side.settings)}")
    _load_package()
    shutil.rmtree(folder / "cache", ignore_errors=True)
    begun = time.perf_counter()
    task = TranslationTask.prepare(recipe, folder, print)
    loop = _Loop(task, choose_device(recipe.train.device))
    task.save(folder)
    side.preparing = time.perf_counter() - begun
    _sample(side, loop, arguments.sample)
    side.seconds = side.preparing + extrapolated(side.passes, recipe.train.epochs)
    side.settings = changes
    side.save(folder)


def _load_package() -> None:
    """Imports the peer's package before the clock starts, as ours is."""
    try:
        from transformers import MarianMTModel  # noqa: F401
    except ImportError:
        raise SystemExit("the peer is not there; get it by `pip install transformers`") from None


def _sample(side: Side, loop: "_Loop", count: int) -> None:
    side.passes, side.sample = loop.sampled(count), count
    print(f"peer: passes take {', '.join(f'{each:.1f}' for each in side.passes)} s by a sample", flush=True)


def extrapolated(passes: Sequence[float], count: int) -> float:
    """Seconds of `count` passes, of which the first ones were timed; the others take as long as those after the first.
    NaN if there are none of these."""
    rest = count - len(passes)
    return sum(passes) + (rest * mean(passes[1:] or [math.nan]) if rest else 0.0)


class _Loop:
    """A plain loop over batches that lie on the device."""

    def __init__(self, task: TranslationTask, device: torch.device) -> None:
        self.settings, self.device, self.step = task.recipe.train, device, 0
        torch.manual_seed(task.recipe.seed)
        assert isinstance(task.recipe.model, TransformerModel)
        self.model = Marian(task.recipe.model, task.source.size, POSITIONS).to(device).train()
        adam = self.settings.optimizer
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=adam.rate,
            betas=(adam.beta1, adam.beta2),
            eps=adam.epsilon,
            weight_decay=adam.weight_decay,
            fused=True,
        )
        self.batches = [batch.to(device) for batch in _one_pass(task)]
        self.steps = self.settings.epochs * len(self.batches)
        self.sums: dict[str, Tensor] = {}
        self.summed = 0

    def run(self, deadline: float) -> list[float]:
        """Trains until the last step or the deadline; returns the seconds of each whole pass. At the end the model is
        the average."""
        ends = [time.perf_counter()]
        for batch in self._upcoming():
            self._do(batch)
            if self.step > self.steps - AVERAGED and (self.step % APART == 0 or self.step == self.steps):
                self._sum_up()
            if self.step % len(self.batches) == 0:
                ends.append(self._now())
                print(f"peer: step {self.step} of {self.steps}", flush=True)
            # The device lags a few steps, for which the deadline has room.
            if self.step == self.steps or time.perf_counter() > deadline:
                break
        if self.step == self.steps:
            self.model.load_state_dict({name: total / self.summed for name, total in self.sums.items()})
        return [after - before for before, after in pairwise(ends)]

    def sampled(self, count: int) -> list[float]:
        """Seconds of a first pass and of a later one, by `count` batches. A first pass takes longer for each new shape,
        and among few batches a larger share has one than among all. The loop must not be continued."""
        first, *batches = islice(self._upcoming(), min(count + 1, len(self.batches)))
        self._do(first)  # one-time costs of a process are not those of each batch
        ends = [self._now()]
        for _ in range(2):
            for batch in batches:
                self._do(batch)
            ends.append(self._now())
        unmet, met = (after - before for before, after in pairwise(ends))
        later = met * len(self.batches) / len(batches)
        new = len(_shapes(batches) - _shapes([first]))
        return [later + (unmet - met) * len(_shapes(self.batches)) / max(1, new), later]

    def save(self, folder: Path) -> None:
        parts = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "sums": self.sums}
        torch.save(parts | {"step": self.step, "summed": self.summed}, folder / CHECKPOINT)

    def load(self, folder: Path) -> None:
        parts = torch.load(folder / CHECKPOINT, map_location=self.device, weights_only=True)
        self.model.load_state_dict(parts["model"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.sums, self.step, self.summed = parts["sums"], parts["step"], parts["summed"]

    def _do(self, batch: PairBatch) -> None:
        """One step."""
        self.step += 1
        self._set_rate()
        settings = self.settings
        bfloat16 = settings.precision == "bfloat16" or (settings.precision == "auto" and self.device.type == "cuda")
        how = {"bfloat16": bfloat16, "smoothing": settings.label_smoothing, "clip": settings.clip}
        plain_step(self.model, self.optimizer, batch, **how)

    def _upcoming(self) -> Iterator[PairBatch]:
        """Endless batches from the loop's current step, in a different order in each pass."""
        while True:
            done, place = divmod(self.step, len(self.batches))
            order = torch.randperm(len(self.batches), generator=torch.Generator().manual_seed(done))
            yield from (self.batches[index] for index in order[place:].tolist())

    def _now(self) -> float:
        """The time once all steps so far are done."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def _set_rate(self) -> None:
        share = share_of_peak(self.settings.schedule, Moment(self.step, self.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.optimizer.rate * share

    def _sum_up(self) -> None:
        self.summed += 1
        for name, tensor in self.model.state_dict().items():
            self.sums[name] = self.sums[name] + tensor if name in self.sums else tensor.clone()


def _shapes(batches: Sequence[PairBatch]) -> set[tuple[int, ...]]:
    return {(*batch.source.tokens.shape, *batch.given.tokens.shape) for batch in batches}


def _one_pass(task: TranslationTask) -> Iterator[PairBatch]:
    for batch, after in task.batches(CorpusPosition()):
        yield batch
        if after.epoch:
            return


@torch.inference_mode()
def _generated(task: TranslationTask, model: Marian, device: torch.device, sources: Sequence[str]) -> list[str]:
    """Outputs of `generate`, with sources batched by length."""
    tokens, outputs = task.source.encode_all(list(sources)), [""] * len(sources)
    by_length = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
    for first in range(0, len(by_length), ROWS):
        places = by_length[first : first + ROWS]
        batch = Padded.of([[*tokens[place], END] for place in places]).tokens.to(device)
        written = model.model.generate(
            input_ids=batch,
            attention_mask=batch.ne(PAD).long(),
            num_beams=BEAM,
            do_sample=False,
            length_penalty=1.0,
            early_stopping=True,
            max_new_tokens=min(POSITIONS - 2, task.recipe.decode.longest_output(batch.shape[1] - 1)),
        )
        for place, row in zip(places, written.tolist(), strict=True):
            outputs[place] = task.target.decode([token for token in row if token not in (PAD, BEGIN, END)])
    return outputs


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Stops a training by SIGTERM when time is over."""
    timer = Timer(min(seconds, MOST_SECONDS), lambda: os.kill(os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _sources(recipe: TranslationRecipe, split: HeldOut) -> list[str]:
    return [pair.source for pair in split_of(recipe, split)]


def _write(folder: Path, split: HeldOut, outputs: Sequence[str]) -> None:
    lines = (" ".join(output.splitlines()) + "\n" for output in outputs)
    (folder / f"{split}.out").write_text("".join(lines), encoding="utf-8")


def comparison(arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    """Both sides' times and scores."""
    folders = {name: work / name for name in ("own", "peer")}
    sides = {name: Side.load(folder) for name, folder in folders.items()}
    unfinished = [name for name, side in sides.items() if not side.decoding]
    if unfinished:
        raise SystemExit(f"{' and '.join(unfinished)}: not finished; call `europarl.py {unfinished[0]}` first")
    if len({(folder / FINGERPRINT).read_bytes() for folder in folders.values()}) > 1:
        raise SystemExit("the two sides were not trained on the same text and tokens; begin again in another --work")
    if math.isnan(sides["peer"].seconds):
        raise SystemExit("peer: fewer than two passes were timed; begin again with more --seconds in the first sitting")
    recipe, scores = recipe_of(sides["own"].settings), {}
    for split in SPLITS:
        references = [pair.target for pair in split_of(recipe, split)]
        outputs = {name: (folder / f"{split}.out").read_text().split("\n")[:-1] for name, folder in folders.items()}
        found = compare(outputs["own"], outputs["peer"], references)
        scores[split] = {
            **{name: asdict(bleu(each, references)) for name, each in outputs.items()},
            "comparisons": [asdict(each) | {"difference": each.difference} for each in found],
        }
        print(split, *(each.numbers() for each in found), sep="\n  ")
    own_side, peer_side = sides.values()
    times = peer_side.seconds / own_side.seconds
    alone = (peer_side.seconds - peer_side.preparing) / (own_side.seconds - own_side.preparing)
    # The best case for the peer: as if no shape were new to the device.
    met = (peer_side.preparing + recipe.train.epochs * min(peer_side.passes)) / own_side.seconds
    print(f"own {own_side.seconds:.1f} s, peer {peer_side.seconds:.1f} s: {times:.2f} times as fast")
    print(f"as if no shape of the peer were new: {met:.2f} times")
    record = conditions(["regard", "torch", "transformers", "sacrebleu"], arguments.commit)
    record["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    record |= {"model": recipe.model.model_dump(), "epochs": recipe.train.epochs, "beam": BEAM}
    record |= {"batch_tokens": recipe.train.batch_tokens, "vocabulary": recipe.tokens.source.size}
    record |= {name: asdict(side) for name, side in sides.items()}
    ratios = {"times_as_fast": times, "times_as_fast_without_preparing": alone, "times_as_fast_all_shapes_met": met}
    return record | ratios | {"scores": scores}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=("all", "own", "peer", "time", "compare"))
    parser.add_argument("--data", default=".", help="folder with the files that the recipe names")
    parser.add_argument("--work", default="runs/europarl", help="folder for models and outputs")
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="stop in time after so many")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a change of both sides")
    parser.add_argument(
        "--peer-set", action="append", default=[], metavar="KEY=VALUE", help="a change of the peer alone"
    )
    parser.add_argument("--sample", type=int, default=0, help="time the peer by so many batches, not by its passes")
    parser.add_argument("--out", type=Path, help="compare: JSON file for the figures")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    work, out = Path(arguments.work).absolute(), arguments.out and arguments.out.absolute()
    with chdir(arguments.data):
        for name, side in {"own": own, "peer": peer}.items():
            if arguments.side in (name, "all"):
                side(arguments, work / name)
                if torch.cuda.is_available():
                    gc.collect()
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
        if arguments.side == "time":
            time_again(arguments, work / "peer")
        if arguments.side in ("compare", "all"):
            record = comparison(arguments, work)
            if out:
                out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
