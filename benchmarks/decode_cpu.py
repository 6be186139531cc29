"""Translation on a CPU, side by side: our own search, CTranslate2 on what `regard export` writes, Hugging Face's
`generate`, and JoeyNMT.

    python benchmarks/decode_cpu.py --out benchmarks/results/decode_cpu.json
    python benchmarks/decode_cpu.py --model runs/mine --text test.en --reference test.de --sentences 1000 --out …
    python benchmarks/decode_cpu.py --joeynmt joey/bin/python --hidden 512 --out …

Without a model: a Transformer of random weights (3 + 3 layers, width 256, feed-forward 1024, 4 heads, 8,000 tokens)
that ends every output by itself after 32 tokens, on sources of 32 random tokens. Outputs of random weights mean
nothing: CTranslate2's may well differ from ours. With a model: its translation of a text, and its BLEU. In both cases
recurrent models (LSTM, additive attention before the cell, or after it and fed to the next input) of random weights and
of the same vocabulary are made to write as many tokens as they read.

MarianMT has the same shape and reads the same sources in batches made alike. Of a model that computes as it does
(`norm = "post"` and sinusoidal positions) it has the weights, and writes what it finds, but not PAD and BEGIN, which
our search never writes either; else its weights are random, and it is made to write as many tokens as the longest
output of ours in each batch. So is JoeyNMT, whose recurrent model is ours with attention that is fed (`joeynmt_peer.py`
says how to install it). MarianMT takes part if transformers is installed, CTranslate2 if it is, JoeyNMT if the Python
of its environment is given, and our search in int8 if the processor has it.

Every system translates in batches of several sizes, of which the fastest counts: that of the shortest median of the
rounds, by the clock. The figures of a system are all of that size of its own, and a ratio is of two systems each at its
best. First each is warmed at every size, and what it then writes at the size that counts is what is compared, and has
BLEU; then all take turns. Peers that are made to write as much as we do are told the lengths at the first size.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import torch
from conditions import conditions, installed
from joeynmt_peer import JoeyNMT, recurrent_network, transformer_network
from plain_marian import Outputs, Sources, System, computes_alike, generating, marian, marian_of
from sacrebleu import corpus_bleu

from regard.decode import Session, decode_all
from regard.decode.export import check_can_export, ctranslate2, export
from regard.decode.int8 import has_int8
from regard.errors import RegardError, UsageError, counted
from regard.models import build_model
from regard.recipe import AttentionSettings, Decoding, RecurrentModel, TransformerModel
from regard.tasks import Translator, load
from regard.tokens import END

SIZE, LENGTH, SURE, POSITIONS = 8000, 32, 12.0, 1024
MARIAN = "MarianMT generate"
ALONE = {"CTranslate2 alone, float32": "float32", "CTranslate2 alone, int8": "int8"}
FORMATS = {"own, bfloat16": "bfloat16", "own, int8": "int8"}
"""`decode.precision` of our own search, where it is not the default."""
ONE_MODEL = ("own", *FORMATS, *ALONE)
"""Systems that run the weights of any Transformer."""
RECURRENT = {"own, recurrent": "before", "own, recurrent, fed": "feed"}
"""The place of the attention of each."""
JOEYNMT = ("JoeyNMT, recurrent", "JoeyNMT, Transformer")
SYSTEMS = (*ONE_MODEL, *RECURRENT, MARIAN, *JOEYNMT)
BATCH_TOKENS = "source tokens of a batch, beam not counted: each system at each size, of which its fastest counts"


def ending_model(settings: TransformerModel) -> torch.nn.Module:
    """Random weights, except that the position after LENGTH tokens gives END the highest score.

    It is as confident of each token as a trained model: a search with an unconfident one takes long.
    """
    model = build_model(settings, SIZE, SIZE).eval()
    with torch.no_grad():
        model.decoder.norm.weight.mul_(SURE)
        vector = model.decoder.input.embedding.weight[END]
        model.decoder.input.position.weight[LENGTH:] = 100 * vector / vector.norm()
    return model


def searching(model: Any, how: Decoding) -> System:
    """Our own search, which caches what it prepares for decoding."""
    session = Session.of(model)

    def translate(sources: Sources, batch_tokens: int) -> Outputs:
        found = decode_all(session, sources, how.model_copy(update={"batch_tokens": batch_tokens}))
        return [hypotheses[0].tokens for hypotheses in found]

    return translate


def random_systems(settings: TransformerModel, how: Decoding, folder: Path, names: Sequence[str]) -> dict[str, System]:
    """Our systems on a model of random weights."""
    torch.manual_seed(1)
    return systems_of(ending_model(settings), settings, how, folder, names)


def recurrent_model(hidden: int, placement: str = "feed") -> RecurrentModel:
    attention = AttentionSettings(placement=placement, hidden=hidden)
    return RecurrentModel(kind="recurrent", hidden=hidden, attention=attention)


def recurrent(settings: RecurrentModel, sizes: tuple[int, int], how: Decoding) -> System:
    """Our own search on a recurrent model of random weights; few of these end an output by themselves."""
    torch.manual_seed(1)
    as_long = how.model_copy(update={"longest_factor": 1.0, "longest_extra": 0})
    return searching(build_model(settings, *sizes).eval(), as_long)


def trained(option: str, folder: Path) -> Translator:
    """A trained model whose shape the other systems can take."""
    try:
        translator = load(folder, device="cpu")
    except RegardError as error:  # which names the folder
        raise SystemExit(f"{option} {error}") from None
    if not isinstance(translator, Translator):
        raise SystemExit(f"{option} {folder}: is a language model; give the folder of a translator")
    shape = translator.recipe.model
    if not isinstance(shape, TransformerModel) or shape.copying:
        kind = f"{shape.kind}, copying" if shape.copying else shape.kind
        raise SystemExit(
            f"{option} {folder}: its kind is {kind}, but it is compared with peers of the same shape, which are "
            "Transformers that do not copy; give the folder of such a one"
        )
    return translator


def read_lines(option: str, path: Path) -> list[str]:
    """The lines of a text; there must be one. Only a line feed ends a line, as in `regard translate`."""
    try:
        with open(path, encoding="utf-8", newline="\n") as text:
            lines = [line.removesuffix("\n").removesuffix("\r") for line in text]
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{option} {path}: cannot be read as text ({error}); give a sentence a line") from None
    if not lines:
        raise SystemExit(f"{option} {path}: there is no line in it; give a sentence a line")
    return lines


def able(wanted: Iterable[str], shapes: Sequence[TransformerModel]) -> list[str]:
    """The requested systems that can run models of all these shapes; for the others the reason is printed."""
    hindered = {name: next(filter(None, (hindrance(name, shape) for shape in shapes)), "") for name in ONE_MODEL}
    for name in wanted:
        if hindered.get(name):
            print(f"{name} takes no part: {hindered[name]}", file=sys.stderr)
    return [name for name in ONE_MODEL if name in wanted and not hindered[name]]


def hindrance(name: str, shape: TransformerModel) -> str:
    """Why a system cannot run models of a shape; empty if it can."""
    if FORMATS.get(name) == "int8" and not has_int8():
        return "this processor, or torch on it, has no fast and exact int8 products"
    if name in ALONE:
        try:
            ctranslate2()
            check_can_export(shape)
        except UsageError as error:
            return str(error).partition(";")[0]  # what follows is advice for `regard export`
    return ""


def systems_of(
    model: Any, settings: TransformerModel, how: Decoding, folder: Path, names: Collection[str]
) -> dict[str, System]:
    """A Transformer with our own search, and with the named systems; others are not loaded."""
    names = [name for name in ONE_MODEL if name == "own" or name in names]
    formats = {name: how.model_copy(update={"precision": FORMATS.get(name, how.precision)}) for name in names}
    systems = {name: searching(model, formats[name]) for name in names if name not in ALONE}
    if set(names) & ALONE.keys():
        exported = folder / "exported"
        export(model, settings, exported)
        systems |= {name: alone(exported, compute, how) for name, compute in ALONE.items() if name in names}
    return systems


def alone(folder: Path, compute: str, how: Decoding) -> System:
    """CTranslate2 as its users call it, on what `regard export` writes."""
    import ctranslate2

    threads = torch.get_num_threads()
    translator = ctranslate2.Translator(str(folder), compute_type=compute, inter_threads=threads, intra_threads=1)
    torch.set_num_threads(threads)  # which it has changed

    def translate(sources: Sources, batch_tokens: int) -> Outputs:
        results = translator.translate_batch(
            [[*map(str, source), str(END)] for source in sources],
            beam_size=how.beam,
            max_batch_size=batch_tokens,
            batch_type="tokens",
            length_penalty=how.length_penalty,
        )
        return [tuple(map(int, result.hypotheses[0])) for result in results]

    return translate


@dataclass(frozen=True)
class Time:
    """Time of one round: by the clock, and by CPU time, which depends less on other load."""

    seconds: float
    processor_seconds: float


Times = dict[int, list[Time]]
"""Times of a system: at each batch size, in each round."""


def warmed(systems: Mapping[str, System], sources: Sources, sizes: Sequence[int]) -> dict[str, dict[int, Outputs]]:
    """Each system's outputs at each batch size in the warm-up."""
    return {name: {size: system(sources, size) for size in sizes} for name, system in systems.items()}


def measure(systems: Mapping[str, System], sources: Sources, rounds: int, sizes: Sequence[int]) -> dict[str, Times]:
    """The times of each system; they take turns, so that a busy minute of the machine hits all alike."""
    times: dict[str, Times] = {name: {size: [] for size in sizes} for name in systems}
    for number, size in product(range(rounds), sizes):
        for name, system in systems.items():
            begin, processor = time.perf_counter(), processor_seconds(system)
            system(sources, size)
            taken = Time(time.perf_counter() - begin, processor_seconds(system) - processor)
            times[name][size].append(taken)
            rate = len(sources) / taken.seconds
            print(f"round {number + 1}, {name}, batches of {size}: {rate:.1f} sentences/s", file=sys.stderr)
    return times


def processor_seconds(system: System) -> float:
    """CPU time of this process so far, and of the system's process, if it has one."""
    return time.process_time() + (system.processor_seconds if isinstance(system, JoeyNMT) else 0.0)


def fastest_sizes(times: Mapping[str, Times]) -> dict[str, int]:
    """The size of batches at which the median time of each system is the shortest, by the clock."""
    medians = {
        name: {size: median(time.seconds for time in rounds) for size, rounds in each.items()}
        for name, each in times.items()
    }
    return {name: min(each, key=each.__getitem__) for name, each in medians.items()}


def figures(
    times: Mapping[str, Times], outputs: Mapping[str, Outputs], one_model: Collection[str], bleu: Mapping[str, float]
) -> list[dict[str, Any]]:
    """A row for each system, at its fastest size; outputs are compared of those that run the same model."""
    own, sizes = outputs["own"], fastest_sizes(times)
    chosen = {name: each[sizes[name]] for name, each in times.items()}
    clock = {name: len(own) / median(time.seconds for time in each) for name, each in chosen.items()}
    processor = {name: len(own) / median(time.processor_seconds for time in each) for name, each in chosen.items()}
    joey = {name: f"JoeyNMT, {'recurrent' if 'recurrent' in name else 'Transformer'}" for name in times}
    return [
        {
            "system": name,
            "batch_tokens": sizes[name],
            "sentences_per_second": round(clock[name], 1),
            "slowest": round(len(own) / max(time.seconds for time in each), 1),
            "fastest": round(len(own) / min(time.seconds for time in each), 1),
            "sentences_per_processor_second": round(processor[name], 1),
            "sentences_per_second_by_batch_tokens": {
                str(size): round(len(own) / median(time.seconds for time in rounds), 1)
                for size, rounds in times[name].items()
            },
            "output_tokens": sum(len(tokens) + 1 for tokens in outputs[name]),
            "times_own": round(clock[name] / clock["own"], 2),
            "times_marian": _ratio(clock, name, MARIAN),
            "times_marian_by_processor": _ratio(processor, name, MARIAN),
            "times_joeynmt": _ratio(clock, name, joey[name]),
            "times_joeynmt_by_processor": _ratio(processor, name, joey[name]),
            "same_outputs_as_own": same_share(outputs[name], own) if name in one_model and name != "own" else None,
            "bleu": bleu.get(name),
        }
        for name, each in chosen.items()
    ]


def _ratio(rates: Mapping[str, float], name: str, peer: str) -> float | None:
    """How many times as fast as a peer; None if it takes no part."""
    return round(rates[name] / rates[peer], 2) if peer in rates else None


def same_share(outputs: Outputs, own: Outputs) -> float:
    """Share of outputs that are equal, token by token."""
    return round(sum(one == other for one, other in zip(outputs, own, strict=True)) / len(own), 4)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--model", type=Path, help="folder of a trained Transformer (default: random weights)")
    parser.add_argument("--text", type=Path, help="source text for it, a sentence a line")
    parser.add_argument("--reference", type=Path, help="its translation")
    parser.add_argument("--sentences", type=int, default=200, help="how many are translated in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts")
    parser.add_argument("--threads", type=int, default=2, help="of torch; CTranslate2 works on as many batches at once")
    parser.add_argument("--beam", type=int, default=5, help="hypotheses kept at each step")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[1024, 2048, 4096], help=BATCH_TOKENS)
    parser.add_argument("--hidden", type=int, default=256, help="width of the recurrent models")
    parser.add_argument("--joeynmt", type=Path, help="Python of an environment that has JoeyNMT")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, help="which, besides our own search")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    if (arguments.model is None) != (arguments.text is None):
        parser.error("--model and --text belong together")
    if arguments.reference and arguments.model is None:
        parser.error("--reference is what a trained model is measured by; give --model and --text too")
    check_positive(parser, arguments)
    return arguments


def check_positive(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Every number, single or in a list, must be 1 or more."""
    for name, value in vars(arguments).items():
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and number < 1:
                parser.error(f"--{name.replace('_', '-')} {number}: give 1 or more")


def read_references(path: Path, count: int) -> list[str]:
    """As many references as there are lines of text."""
    references = read_lines("--reference", path)
    if len(references) != count:
        counts = f"{counted(len(references), 'line')} for {count} of --text"
        raise SystemExit(f"--reference {path}: {counts}; give its translation, line for line")
    return references


def texts_of(translator: Translator, outputs: Mapping[str, Outputs]) -> dict[str, list[str]]:
    """Each system's outputs as text."""
    return {name: [translator.target_tokenizer.decode(tokens) for tokens in found] for name, found in outputs.items()}


def bleu_of(texts: Mapping[str, list[str]], references: list[str]) -> dict[str, float]:
    return {name: round(corpus_bleu(found, [references]).score, 2) for name, found in texts.items()}


def write(record: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Writes the figures, with the settings of the measurement."""
    settings = {name: plain(value) for name, value in vars(arguments).items()}
    record |= {"settings": settings, "load_average_after": round(os.getloadavg()[0], 2)}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["figures"], indent=1))


def plain(value: object) -> str | list[str]:
    """A setting as it is written; of paths, only the last part."""
    if isinstance(value, (list, tuple)):
        return [str(plain(each)) for each in value]
    return value.name if isinstance(value, Path) else str(value)


def main() -> None:
    arguments = options()
    used = {"ctranslate2": "CTranslate2", "transformers": "MarianMT"}
    peers = [package for package, name in used.items() if any(name in system for system in arguments.systems)]
    record = conditions(("regard", "torch", *peers, "numpy"), arguments.commit)
    torch.set_num_threads(arguments.threads)
    how, batches = Decoding(beam=arguments.beam), arguments.batch_tokens
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        if arguments.model:
            translator = trained("--model", arguments.model)
            settings = translator.recipe.model
            sizes = translator.source_tokenizer.size, translator.target_tokenizer.size
            lines = read_lines("--text", arguments.text)
            references = read_references(arguments.reference, len(lines)) if arguments.reference else []
            sources = translator.source_tokenizer.encode_all(lines[: arguments.sentences])
            systems = systems_of(translator.model, settings, how, Path(folder), able(arguments.systems, [settings]))
        else:
            settings, sizes = TransformerModel(kind="transformer", position="learned"), (SIZE, SIZE)
            draw = Random(1)
            sources = [[draw.randrange(4, SIZE) for _ in range(LENGTH - 1)] for _ in range(arguments.sentences)]
            systems = random_systems(settings, how, Path(folder), able(arguments.systems, [settings]))
        written = warmed(systems, sources, batches)
        for name, placement in RECURRENT.items():
            if name in arguments.systems:
                systems[name] = recurrent(recurrent_model(arguments.hidden, placement), sizes, how)
        lengths, one_model = [len(tokens) for tokens in written["own"][batches[0]]], set(written)
        if installed("transformers") and MARIAN in arguments.systems:
            if arguments.model and computes_alike(settings):
                systems[MARIAN] = generating(marian_of(translator.model, settings, POSITIONS), how, None)
                one_model.add(MARIAN)
            else:
                systems[MARIAN] = generating(marian(settings, *sizes, positions=POSITIONS), how, lengths)
        if arguments.joeynmt:
            as_read = [len(source) for source in sources]
            asked = (
                (recurrent_network(recurrent_model(arguments.hidden)), as_read),
                (transformer_network(settings), lengths),
            )
            for name, (network, counts) in zip(JOEYNMT, asked, strict=True):
                if name in arguments.systems:
                    peer = JoeyNMT(arguments.joeynmt, network, sizes, how, counts)
                    systems[name] = processes.enter_context(peer)
                    record["versions"]["joeynmt"] = peer.versions["joeynmt"]
        else:
            print("JoeyNMT takes no part: --joeynmt says which Python has it", file=sys.stderr)
        written |= warmed({name: each for name, each in systems.items() if name not in written}, sources, batches)
        times = measure(systems, sources, arguments.rounds, batches)
        outputs = {name: written[name][size] for name, size in fastest_sizes(times).items()}
        alike = {name: found for name, found in outputs.items() if name in one_model}
        bleu = bleu_of(texts_of(translator, alike), references[: len(sources)]) if arguments.reference else {}
        result = figures(times, outputs, one_model, bleu)
    write(record | {"figures": result}, arguments)


if __name__ == "__main__":
    main()
