"""Translation on a CPU, side by side: our own search, CTranslate2 through our engine, and Hugging Face's `generate`.

    python benchmarks/decode_cpu.py --out benchmarks/results/decode_cpu.json
    python benchmarks/decode_cpu.py --model runs/mine --text test.en --out benchmarks/results/decode_cpu_mine.json

Without a model: a Transformer of random weights (3 + 3 layers, width 256, feed-forward 1024, 4 heads, 8,000 tokens)
that ends every output by itself after 32 tokens, on sources of 32 random tokens; and a recurrent one (LSTM of width
256, additive attention before the cell) that is made to write as much, which only our own search runs. Outputs of
random weights say nothing: of them CTranslate2's may well differ from ours. With a model: what it makes of a text.

MarianMT has the same shape and random weights of its own, reads the same sources in the same batches, and is made to
write as many tokens as the longest output of ours in each batch. It takes part if transformers is installed, and
CTranslate2 if it is. Every system is warmed; then all take turns, and the median of the rounds counts.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import torch

from regard.data.batch import Padded
from regard.decode import Hypothesis
from regard.decode.corpus import batches_by_length
from regard.models import build_model
from regard.recipe import Decoding, RecurrentModel, TransformerModel
from regard.tasks import load
from regard.tasks.engines import OwnEngine, make_engine
from regard.tokens import BEGIN, END, PAD

SIZE, LENGTH = 8000, 32
Sources = list[list[int]]
System = Callable[[Sources], list[tuple[int, ...]]]
"""Translates sources; gives the best output of each."""


def ending_model(settings: TransformerModel) -> torch.nn.Module:
    """Random weights, but for the position after LENGTH tokens, which says END louder than anything else speaks."""
    model = build_model(settings, SIZE, SIZE).eval()
    with torch.no_grad():
        vector = model.decoder.input.embedding.weight[END]
        model.decoder.input.position.weight[LENGTH:] = 100 * vector / vector.norm()
    return model


def best(found: Sequence[Sequence[Hypothesis]]) -> list[tuple[int, ...]]:
    return [hypotheses[0].tokens for hypotheses in found]


def random_systems(settings: TransformerModel, how: Decoding, folder: Path) -> dict[str, System]:
    """Our systems on models of random weights."""
    torch.manual_seed(1)
    recurrent = OwnEngine(build_model(RecurrentModel(kind="recurrent"), SIZE, SIZE).eval())
    exactly = how.model_copy(update={"least": LENGTH, "longest_factor": 0.0, "longest_extra": LENGTH})
    systems = engines(ending_model(settings), settings, how, folder)
    return systems | {"own, recurrent": lambda sources: best(recurrent.decode_all(sources, exactly))}


def engines(model: Any, settings: TransformerModel, how: Decoding, folder: Path) -> dict[str, System]:
    """A Transformer with every engine that is installed."""
    names = ["own", *(["ctranslate2", "ctranslate2:int8"] if installed("ctranslate2") else [])]
    made = {name: make_engine(name, model, settings, folder) for name in names}
    return {name: lambda sources, engine=engine: best(engine.decode_all(sources, how)) for name, engine in made.items()}


def marian(settings: TransformerModel, sizes: tuple[int, int], how: Decoding, lengths: Sequence[int]) -> System:
    """MarianMT of the same shape, made to write the longest of the given lengths in each batch."""
    from transformers import MarianConfig, MarianMTModel

    heads = {"encoder_attention_heads": settings.heads, "decoder_attention_heads": settings.heads}
    hidden = {"encoder_ffn_dim": settings.feedforward, "decoder_ffn_dim": settings.feedforward}
    layers = {"encoder_layers": settings.encoder_layers, "decoder_layers": settings.decoder_layers}
    tokens = {"pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": BEGIN, "forced_eos_token_id": None}
    words = {"vocab_size": sizes[0], "decoder_vocab_size": sizes[1], "share_encoder_decoder_embeddings": False}
    shape = {"d_model": settings.width, "max_position_embeddings": 1024, "scale_embedding": True}
    model = MarianMTModel(MarianConfig(**heads, **hidden, **layers, **tokens, **words, **shape)).eval()

    def translate(sources: Sources) -> list[tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for chosen in batches_by_length([len(source) + 1 for source in sources], how.batch_tokens):
            batch = Padded.of([[*sources[example], END] for example in chosen])
            count = max(lengths[example] for example in chosen) + 1
            written = model.generate(
                input_ids=batch.tokens,
                attention_mask=batch.keep.long(),
                num_beams=how.beam,
                do_sample=False,
                min_new_tokens=count,
                max_new_tokens=count,
            )
            found.update(zip(chosen, map(tuple, written[:, 1:].tolist()), strict=True))
        return [found[example] for example in range(len(sources))]

    return torch.inference_mode()(translate)


def measure(systems: dict[str, System], sources: Sources, rounds: int) -> dict[str, list[float]]:
    """Seconds of each system in each round; they take turns, so that a busy minute of the machine hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(rounds):
        for name, system in systems.items():
            begin = time.perf_counter()
            system(sources)
            seconds[name].append(time.perf_counter() - begin)
            print(f"round {number + 1}, {name}: {len(sources) / seconds[name][-1]:.1f} sentences/s", file=sys.stderr)
    return seconds


def figures(seconds: dict[str, list[float]], outputs: dict[str, list[tuple[int, ...]]]) -> list[dict[str, Any]]:
    own = outputs["own"]
    rates = {name: len(own) / median(times) for name, times in seconds.items()}
    peer = rates.get("MarianMT generate")
    return [
        {
            "system": name,
            "sentences_per_second": round(rates[name], 1),
            "slowest": round(len(own) / max(times), 1),
            "fastest": round(len(own) / min(times), 1),
            "output_tokens": sum(len(tokens) + 1 for tokens in outputs[name]),
            "times_own": round(rates[name] / rates["own"], 2),
            "times_marian": round(rates[name] / peer, 2) if peer else None,
            "same_outputs_as_own": _same(outputs[name], own) if name.startswith("ctranslate2") else None,
        }
        for name, times in seconds.items()
    ]


def _same(outputs: list[tuple[int, ...]], own: list[tuple[int, ...]]) -> float:
    return round(sum(one == other for one, other in zip(outputs, own, strict=True)) / len(own), 4)


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def conditions(arguments: argparse.Namespace, load_before: float) -> dict[str, Any]:
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run(
        ["git", "status", "--porcelain", "src"], capture_output=True, text=True, check=False
    ).stdout
    packages = ("regard", "torch", "ctranslate2", "transformers", "numpy")
    return {
        "command": " ".join(["python", *sys.argv]),
        "commit": arguments.commit or head,
        "uncommitted_changes": bool(changed.strip()),
        "settings": {name: str(value) for name, value in vars(arguments).items()},
        "versions": {"python": platform.python_version()} | {name: installed(name) for name in packages},
        "cpus": os.cpu_count(),
        "load_average_before": round(load_before, 2),
        "load_average_after": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--model", type=Path, help="folder of a trained Transformer (default: random weights)")
    parser.add_argument("--text", type=Path, help="source text for it, a sentence a line")
    parser.add_argument("--sentences", type=int, default=200, help="how many are translated in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts")
    parser.add_argument("--threads", type=int, default=2, help="of torch; CTranslate2 works on as many batches at once")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="source tokens of a batch, beam not counted")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    if (arguments.model is None) != (arguments.text is None):
        parser.error("--model and --text belong together")
    before = os.getloadavg()[0]
    torch.set_num_threads(arguments.threads)
    how = Decoding(beam=arguments.beam, batch_tokens=arguments.batch_tokens)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.model:
            translator = load(arguments.model, device="cpu")
            settings = translator.recipe.model
            sizes = translator.source_tokenizer.size, translator.target_tokenizer.size
            lines = arguments.text.read_text(encoding="utf-8").splitlines()[: arguments.sentences]
            sources = translator.source_tokenizer.encode_all(lines)
            systems = engines(translator.model, settings, how, Path(folder))
        else:
            settings, sizes = TransformerModel(kind="transformer", position="learned"), (SIZE, SIZE)
            draw = Random(1)
            sources = [[draw.randrange(4, SIZE) for _ in range(LENGTH - 1)] for _ in range(arguments.sentences)]
            systems = random_systems(settings, how, Path(folder))
        outputs = {name: system(sources) for name, system in systems.items()}
        if installed("transformers"):
            systems["MarianMT generate"] = marian(settings, sizes, how, [len(tokens) for tokens in outputs["own"]])
            outputs["MarianMT generate"] = systems["MarianMT generate"](sources)
        result = figures(measure(systems, sources, arguments.rounds), outputs)
    record = conditions(arguments, before) | {"figures": result}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
