"""Translation on a GPU, side by side: our own search (captured and not) and Hugging Face's `generate`.

    python benchmarks/decode_gpu.py --out benchmarks/results/decode_gpu.json

A Transformer of the usual IWSLT shape (6 + 6 layers, width 512, feed-forward 1024, 4 heads, 10,000 tokens, all
embeddings tied) with random weights, on sources of 27 tokens; every output is made to have 32, END included: a text in
batches of 128, and a single sentence. MarianMT has the same shape, in bfloat16; ours is run in float32, in float32 with
products in TF32, and in bfloat16. All are warmed, then take turns; the median of the rounds counts. Captured outputs
are compared with those of the same steps done one by one. A text of sentences of all lengths is translated too, three
times (`--times`), from a cold start: steps are captured on the way.

    python benchmarks/decode_gpu.py --model runs/mine --text test.en --out …

With a model there is only such a text, a real one: MarianMT has the weights of the model, which must compute as it
does, and the same batches; both end outputs by themselves, and all settings are the defaults. If more sentences are
requested than the text has, they are repeated and shuffled. `--cold` gives each process an empty cache of compiled
Triton kernels, instead of the user's own; the first time then includes compilation, of ours and not of the peer's.

    python benchmarks/decode_gpu.py --model runs/mine --text test.en --systems "own, float32" --beams 5 --cold --out …
"""

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from conditions import conditions
from decode_cpu import POSITIONS, read_lines, trained
from plain_marian import Sources, System, computes_alike, generating, marian, marian_of

from regard.decode import Hypothesis, Session, decode_all
from regard.decode.captured import CapturedStepping
from regard.decode.corpus import batches_by_length
from regard.decode.stepping import Stepping
from regard.models import build_model
from regard.recipe import Decoding, TransformerModel
from regard.tasks import Translator
from regard.tokens import END, PAD

VOCABULARY, SOURCE, TOKENS, BATCHES = 10_000, 27, 32, 16
SHAPE = {"encoder_layers": 6, "decoder_layers": 6, "width": 512, "feedforward": 1024, "heads": 4, "tie": "all"}
PRECISIONS = ("float32", "tf32", "bfloat16")
DEVICE = torch.device("cuda")
PARTS = "batches", "memory", "equal", "text"
TIMES = "first_time", "second_time", "third_time"
PEER, WIDE_PEER = "MarianMT generate, bfloat16", "MarianMT generate, float32"
PEERS = {WIDE_PEER: torch.float32, PEER: torch.bfloat16}
ALONE = "weights in bfloat16 alone"
"""Weights only in this format, as in the peer and in the commands; without it a model keeps the original ones too."""
SYSTEMS = (WIDE_PEER, *PRECISIONS, PEER, ALONE)
BEAMS = 5, 1
Found = list[list[Hypothesis]]


def sources_of(count: int, seed: int = 1) -> Sources:
    return np.random.default_rng(seed).integers(4, VOCABULARY, (count, SOURCE - 1)).tolist()


def text_of(count: int, seed: int = 2) -> Sources:
    """Sources whose lengths are distributed as those of a corpus are."""
    rng = np.random.default_rng(seed)
    lengths = np.exp(rng.normal(np.log(25) - 0.15, 0.55, count)).clip(4, 100).round().astype(int)
    return [rng.integers(4, VOCABULARY, length).tolist() for length in lengths]


def shape() -> TransformerModel:
    return TransformerModel.model_validate({"kind": "transformer", **SHAPE})


def own_model(name: str = "float32") -> Session:
    torch.manual_seed(1)
    session = Session(build_model(shape(), VOCABULARY, VOCABULARY).to(DEVICE).eval())
    if name == ALONE:
        session.hold_only("bfloat16")
    return session


def how_of(beam: int, rows: int) -> Decoding:
    """Settings that make every output TOKENS long, END included."""
    exactly = {"least": TOKENS - 1, "longest_factor": 0.0, "longest_extra": TOKENS - 1}
    return Decoding.model_validate({"beam": beam, "batch_tokens": 32 * rows, **exactly})


def peer_model(dtype: torch.dtype = torch.bfloat16) -> Any:
    return marian(shape(), VOCABULARY).to(DEVICE, dtype).eval()


def generate(model: Any, sources: Sources, beam: int, tokens: int = TOKENS) -> Any:
    width = max(map(len, sources)) + 1
    batch = torch.tensor([[*source, END, *[PAD] * (width - len(source) - 1)] for source in sources], device=DEVICE)
    with torch.inference_mode():
        return model.generate(
            input_ids=batch,
            attention_mask=(batch != PAD).long(),
            num_beams=beam,
            do_sample=False,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
        ).tolist()


def generate_all(model: Any, sources: Sources, rows: int, beam: int) -> None:
    for first in range(0, len(sources), rows):
        generate(model, sources[first : first + rows], beam)


def seconds(system: Callable[[], Any]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    system()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def batches(rounds: int) -> Iterator[dict[str, Any]]:
    """Figures of batches of one size: a text of so many of them, or a single sentence."""
    model, peer = own_model(), peer_model()
    for rows, beam in ((128, 5), (128, 1), (1, 5), (1, 1)):
        count = 1 if rows == 1 else BATCHES
        sources, how = sources_of(count * rows), how_of(beam, rows)
        few = sources[: rows * min(count, 3)]  # for the peer, which is slow
        systems: dict[str, Callable[[], Any]] = {PEER: partial(generate_all, peer, few, rows, beam)}
        for precision in PRECISIONS:
            systems[f"own, {precision}"] = partial(own, model, precision, sources, how)
        first = {name: seconds(system) for name, system in systems.items()}
        rates: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(rounds):
            for name, system in systems.items():
                translated = len(few) if name == PEER else len(sources)
                rates[name] += [translated / seconds(system) for _ in range(1 if count > 1 else 5)]
        peer_rate = median(rates[PEER])
        for name, each in rates.items():
            yield {
                "system": name,
                "batch": rows,
                "beam": beam,
                "sentences_per_second": round(median(each), 1),
                "slowest": round(min(each), 1),
                "fastest": round(max(each), 1),
                "first_seconds": round(first[name], 2),
                "times_marian": round(median(each) / peer_rate, 2),
            }


def memory() -> Iterator[dict[str, Any]]:
    """The peak memory of each, in a separate process: libraries keep memory for later use."""
    yield from each_by_itself(peak_of)


def each_by_itself(
    figure: Callable[[str, int], dict[str, Any]],
    systems: Iterable[str] | None = None,
    beams: Iterable[int] = BEAMS,
    *,
    cold: bool = False,
) -> Iterator[dict[str, Any]]:
    """The figures of each system, with a beam and without, each from a new process."""
    systems = list(map(shown, SYSTEMS)) if systems is None else systems
    cases = [(name, beam) for beam in beams for name in SYSTEMS if shown(name) in systems]
    start = cold_start if cold else None
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1, initializer=start) as pool:
        yield from pool.map(figure, *zip(*cases, strict=True))


def cold_start() -> None:
    """Gives this process an empty cache of compiled kernels."""
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="no-kernels-")


def shown(name: str) -> str:
    return name if name in PEERS else f"own, {name}"


def peak_of(name: str, beam: int) -> dict[str, Any]:
    """Peak memory, weights included, in batches of 128 sentences."""
    rows = 128
    sources, how = sources_of(4 * rows), how_of(beam, rows)
    is_peer = name in PEERS
    model = peer_model(PEERS[name]) if is_peer else own_model(name)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        if is_peer:
            generate_all(model, sources, rows, beam)
        else:
            own(model, name, sources, how)
    return {"system": shown(name), "beam": beam, **peaks()}


def peaks() -> dict[str, float]:
    """Peak memory of this process so far."""
    measures = {"peak": torch.cuda.max_memory_allocated, "reserved": torch.cuda.max_memory_reserved}
    return {f"{name}_gibibytes": round(most() / 2**30, 3) for name, most in measures.items()}


def own(session: Session, precision: str, sources: Sources, how: Decoding, stepping: Stepping | None = None) -> Found:
    how = how.model_copy(update={"precision": "bfloat16" if precision == ALONE else precision})
    return decode_all(session, sources, how, stepping=stepping)


def equal_outputs(count: int) -> Iterator[dict[str, Any]]:
    """Whether captured steps equal the same steps done one by one, and steps in other shapes."""
    for precision in PRECISIONS:
        model, text = own_model(), text_of(count)
        for beam in (5, 1):
            how = Decoding(beam=beam, n_best=beam, longest_factor=1.0, longest_extra=2)
            captured = own(model, precision, text, how)
            uncaptured = own(model, precision, text, how, CapturedStepping(DEVICE, capture=None))
            plain = own(model, precision, text, how, Stepping(DEVICE))
            yield {
                "precision": precision,
                "beam": beam,
                "outputs": sum(map(len, captured)),
                "same_tokens_and_scores_uncaptured": captured == uncaptured,
                "same_tokens_in_other_shapes": _share(captured, plain),
            }


def _share(found: Found, others: Found) -> float:
    pairs = [(a, b) for row, other in zip(found, others, strict=True) for a, b in zip(row, other, strict=True)]
    return round(sum(a.tokens == b.tokens for a, b in pairs) / len(pairs), 4)


def repeated(lines: list[str], count: int) -> list[str]:
    """That many of the lines; if there are fewer, they are repeated and shuffled."""
    if count <= len(lines):
        return lines[:count]
    many = lines * -(-count // len(lines))
    random.Random(1).shuffle(many)
    return many[:count]


def file_of(name: str, beam: int, count: int, folder: Path | None, path: Path | None, times: int) -> dict[str, Any]:
    """Figures of a text, several times: it begins without captured graphs."""
    if folder is not None and path is not None:
        lines = repeated(read_lines("--text", path), count)
        text, system = real_text(name, beam, trained("--model", folder), lines)
    elif name in PEERS:
        text, how = text_of(count), limited(beam)
        system = partial(generate_text, peer_model(PEERS[name]), text, how)
    else:
        text = text_of(count)
        system = partial(own, own_model(name), name, text, limited(beam))
    rates = [round(len(text) / seconds(system), 1) for _ in range(times)]
    return {
        "system": shown(name),
        "beam": beam,
        "sentences": len(text),
        **dict(zip(TIMES, rates, strict=False)),
        **peaks(),
    }


def limited(beam: int) -> Decoding:
    """Settings by which random weights, which never end an output, write as many tokens as they read."""
    return Decoding(beam=beam, longest_factor=1.0, longest_extra=0)


def real_text(name: str, beam: int, translator: Translator, lines: list[str]) -> tuple[Sources, Callable[[], Any]]:
    """A text, and its translator: a trained model, or MarianMT with its weights, with default settings."""
    text, how = translator.source_tokenizer.encode_all(lines), Decoding(beam=beam)
    if name in PEERS:
        peer = marian_of(translator.model, translator.recipe.model, POSITIONS).to(DEVICE, PEERS[name])
        return text, partial(generate_as_we_do, generating(peer, how), text, how)
    session = Session(translator.model.to(DEVICE))
    if name == ALONE:
        session.hold_only("bfloat16")
    return text, partial(own, session, name, text, how)


def generate_as_we_do(system: System, text: Sources, how: Decoding) -> None:
    """Runs a system in the same batches as our own search."""
    shapes = CapturedStepping(DEVICE, capture=None)
    widths, fit = [shapes.width(len(source) + 1) for source in text], partial(shapes.fit, sources=len(text), workers=1)
    for batch in batches_by_length(widths, how.batch_tokens, fit):
        rows = [text[example] for example in batch]
        system(rows, len(rows) * (max(map(len, rows)) + 1))


def generate_text(peer: Any, text: Sources, how: Decoding) -> None:
    for batch in batches_by_length([len(source) + 1 for source in text], how.batch_tokens):
        rows = [text[example] for example in batch]
        generate(peer, rows, how.beam, max(map(len, rows)) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of which the median counts")
    parser.add_argument("--sentences", type=int, default=4000, help="of the text")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="some of the figures alone")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    parser.add_argument("--model", type=Path, help="folder of a trained Transformer, for a real text")
    parser.add_argument("--text", type=Path, help="that text, a sentence a line")
    parser.add_argument("--systems", nargs="+", choices=list(map(shown, SYSTEMS)), help="of a text; all by default")
    parser.add_argument("--beams", type=int, nargs="+", default=list(BEAMS), help="of a text: beam sizes")
    parser.add_argument("--times", type=int, default=len(TIMES), choices=range(1, len(TIMES) + 1), help="of a text")
    parser.add_argument("--cold", action="store_true", help="a text begins without compiled kernels")
    arguments = parser.parse_args()
    if (arguments.model is None) != (arguments.text is None):
        parser.error("--model and --text belong together")
    chosen = arguments.parts or (["text"] if arguments.model else PARTS)
    if arguments.model and chosen != ["text"]:
        parser.error(f"--parts {' '.join(chosen)}: with a model there is only the text; leave --parts out")
    if arguments.model and not computes_alike(trained("--model", arguments.model).recipe.model):
        parser.error(f"--model {arguments.model}: MarianMT computes otherwise; give one that can lend it its weights")
    record: dict[str, Any] = conditions(("regard", "torch", "transformers", "numpy"), arguments.commit)
    record["device"] = torch.cuda.get_device_name()
    whose = {"folder": arguments.model, "path": arguments.text}
    text = partial(file_of, count=arguments.sentences, times=arguments.times, **whose)
    parts: dict[str, Iterator[dict[str, Any]]] = {
        "batches": batches(arguments.rounds),
        "memory": memory(),
        "equal": equal_outputs(arguments.sentences // 16),
        "text": each_by_itself(text, arguments.systems, arguments.beams, cold=arguments.cold),
    }
    for name in chosen:
        record[name] = []
        for figure in parts[name]:
            record[name].append(figure)
            print(json.dumps(figure), flush=True)
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
