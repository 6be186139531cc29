"""Effect of number formats and runtimes on translations on a CPU: BLEU, and the share of unchanged outputs.

    python benchmarks/decode_quality.py --models seed-1 seed-2 seed-3 --text test.en --reference test.de --out …

Each system translates the text once with each model: our own search in float32, bfloat16 and int8, CTranslate2
in float32 and int8, and MarianMT's `generate` with our weights. What takes part and when, says `decode_cpu.py`;
here it must run all of the models, and MarianMT takes part only where it can have their weights.

Models of several seeds separate a format's effect from chance effects on one model. The difference from our own search
in float32 is that of BLEU on the whole text, its mean over the models, and the 95 % interval of that mean by the paired
bootstrap (Koehn 2004): sentences are resampled, the same ones for all systems and models, in the draws of
`regard.metrics.compare`. It covers variation over sentences for these models, not variation over models.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from conditions import conditions, installed
from decode_cpu import (
    ALONE,
    FORMATS,
    MARIAN,
    POSITIONS,
    able,
    check_positive,
    read_lines,
    read_references,
    same_share,
    systems_of,
    texts_of,
    trained,
    write,
)
from plain_marian import computes_alike, generating, marian_of

from regard.metrics.resampling import RESAMPLES
from regard.metrics.text import bleu_metric, bleu_tokenizer
from regard.recipe import Decoding, TransformerModel
from regard.tasks import Translator

SYSTEMS = ("own", *FORMATS, *ALONE, MARIAN)
SEED = 12345
"""sacreBLEU's own."""
Outputs = dict[str, list[tuple[int, ...]]]
"""Outputs of each system, including our own search in float32 ("own")."""
Numbers = npt.NDArray[np.float64]


def systems_for(shapes: Sequence[TransformerModel], wanted: Sequence[str]) -> list[str]:
    """The systems that can run models of all these shapes."""
    names = able({"own", *wanted}, shapes)
    if MARIAN not in wanted:
        return names
    if installed("transformers") and all(map(computes_alike, shapes)):
        return [*names, MARIAN]
    print(f"{MARIAN} takes no part: it needs transformers, and models that compute as it does", file=sys.stderr)
    return names


def translated(translator: Translator, lines: Sequence[str], how: Decoding, names: Sequence[str], told: str) -> Outputs:
    """Each system's translation of a text; `told` names the model in progress messages."""
    model: Any = translator.model
    shape: Any = translator.recipe.model
    sources, outputs = translator.source_tokenizer.encode_all(lines), {}
    with tempfile.TemporaryDirectory() as folder:
        systems = systems_of(model, shape, how, Path(folder), names)
        if MARIAN in names:
            systems[MARIAN] = generating(marian_of(model, shape, POSITIONS), how, None)
        for name, system in systems.items():
            begin = time.perf_counter()
            outputs[name] = system(sources, how.batch_tokens)
            print(f"{told}, {name}: {time.perf_counter() - begin:.1f} s", file=sys.stderr)
    return outputs


def draws(count: int) -> Numbers:
    """How often each of `count` lines occurs in the text itself, then in its resamples (R + 1, lines)."""
    chosen = np.random.default_rng(SEED).choice(count, size=(RESAMPLES, count), replace=True)
    return np.stack([np.ones(count), *(np.bincount(lines, minlength=count) for lines in chosen)])


def bleu_of_draws(
    texts: Mapping[str, Sequence[str]], references: Sequence[str], drawn: Numbers
) -> tuple[dict[str, Numbers], str]:
    """BLEU of each system on each resample (R + 1), and its signature."""
    metric, found = bleu_metric(bleu_tokenizer(references)), {}
    for name, each in texts.items():
        # The statistics of each line: the score of a text is a function of their sums.
        counts = np.array(metric._extract_corpus_statistics(list(each), [list(references)]), dtype=np.float64)
        scores = (metric._compute_score_from_stats(list(sums)).score for sums in drawn @ counts)
        found[name] = np.fromiter(scores, dtype=np.float64)
    signature = metric.get_signature()
    signature.update("bs", RESAMPLES)
    signature.update("seed", str(SEED))
    return found, str(signature)


def figures(outputs: Sequence[Outputs], bleu: Sequence[Mapping[str, Numbers]]) -> list[dict[str, Any]]:
    """A row for each system, given what it wrote with each model, and its BLEU on each drawn text."""
    rows = []
    for name in outputs[0]:
        scores = [float(each[name][0]) for each in bleu]
        same = [same_share(each[name], each["own"]) for each in outputs]
        row = {"system": name, "bleu": [round(score, 4) for score in scores], "mean_bleu": round(mean(scores), 4)}
        row |= {"same_outputs_as_own": same, "mean_same_outputs_as_own": round(mean(same), 4)}
        rows.append(row | difference([each[name] for each in bleu], [each["own"] for each in bleu]))
    return rows


def difference(bleu: Sequence[Numbers], own: Sequence[Numbers]) -> dict[str, Any]:
    """The difference in BLEU from our own search: with each model, the mean over models, and its 95 % interval."""
    each = np.stack(bleu) - np.stack(own)
    means = each.mean(axis=0)
    drawn, cut = np.sort(means[1:]), RESAMPLES // 40  # 2.5 % at either end
    low, high = drawn[cut], drawn[-1 - cut]
    found = {"mean_difference": means[0], "low": low, "high": high}
    differences = [round(float(value), 3) for value in each[:, 0]]
    return {"differences": differences} | {name: round(float(value), 3) for name, value in found.items()}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the figures")
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of Transformers, one a seed")
    parser.add_argument("--text", type=Path, required=True, help="source text for them, a sentence a line")
    parser.add_argument("--reference", type=Path, required=True, help="its translation")
    parser.add_argument("--sentences", type=int, help="how many of its first are translated (default: all)")
    parser.add_argument("--threads", type=int, default=2, help="of torch; CTranslate2 works on as many batches at once")
    parser.add_argument("--beam", type=int, default=5, help="hypotheses kept at each step")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="source tokens of a batch, beam not counted")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, help="which, besides our own search")
    parser.add_argument("--commit", default="", help="commit of the code, where there is no repository to ask")
    arguments = parser.parse_args()
    check_positive(parser, arguments)
    for number, folder in enumerate(arguments.models):
        if folder.resolve() in (other.resolve() for other in arguments.models[:number]):
            parser.error(f"--models {folder}: is given twice; give each model once, or it would count twice")
    return arguments


def main() -> None:
    arguments = options()
    lines = read_lines("--text", arguments.text)
    references = read_references(arguments.reference, len(lines))[: arguments.sentences]
    translators = [trained("--models", folder) for folder in arguments.models]
    record = conditions(
        ("regard", "torch", "ctranslate2", "transformers", "sacrebleu", "numpy"), commit=arguments.commit
    )
    torch.set_num_threads(arguments.threads)
    how = Decoding(beam=arguments.beam, batch_tokens=arguments.batch_tokens)
    shapes: list[Any] = [translator.recipe.model for translator in translators]
    names = systems_for(shapes, arguments.systems)
    outputs, bleu, models, drawn, signature = [], [], [], draws(len(references)), ""
    for number, (folder, translator) in enumerate(zip(arguments.models, translators, strict=True), start=1):
        told = f"model {number} of {len(translators)}, {folder.name}"
        outputs.append(translated(translator, lines[: arguments.sentences], how, names, told))
        scores, signature = bleu_of_draws(texts_of(translator, outputs[-1]), references, drawn)
        bleu.append(scores)
        models.append({"name": folder.name, "seed": translator.recipe.seed})
    record |= {"sentences": len(references), "models": models, "signature": signature}
    write(record | {"figures": figures(outputs, bleu)}, arguments)


if __name__ == "__main__":
    main()
