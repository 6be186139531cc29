"""A model of JoeyNMT with random weights, run by a Python that has JoeyNMT; `joeynmt_peer.py` starts it.

It reads JSON from its standard input, one object per line, and answers each in a line: first the model to build, then
sources in batches and the number of tokens to write for each batch. Regard need not be installed there.
"""

import json
import logging
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, TextIO

import torch
from joeynmt.batch import Batch
from joeynmt.model import Model, build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary

UNKNOWN, PAD, BEGIN, END = range(4)


def vocabulary(size: int) -> Vocabulary:
    """A vocabulary of this size: the special tokens, where JoeyNMT has them, and numbers."""
    special = {"unk": UNKNOWN, "pad": PAD, "bos": BEGIN, "eos": END}
    tokens = {f"{name}_token": f"<{name}>" for name in special}
    numbers = {f"{name}_id": number for name, number in special.items()}
    settings = SimpleNamespace(**tokens, **numbers, sep_token=None, sep_id=None, lang_tags=[])
    return Vocabulary([str(number) for number in range(len(special), size)], settings)


def batch_of(sources: Sequence[Sequence[int]]) -> Batch:
    """The batch that JoeyNMT makes of sources: END after each, sorted from the longest to the shortest."""
    lengths = torch.tensor([len(source) + 1 for source in sources])
    tokens = torch.full((len(sources), int(lengths.max())), PAD)
    for row, source in zip(tokens, sources, strict=True):
        row[: len(source) + 1] = torch.tensor([*source, END])
    nothing = dict.fromkeys(("src_prompt_mask", "trg", "trg_prompt_mask"))
    places = {"indices": torch.arange(len(sources)), "device": torch.device("cpu")}
    return Batch(tokens, lengths, **nothing, **places, pad_index=PAD, eos_index=END, is_train=False)


@torch.inference_mode()
def translate(model: Model, sources: Sequence[Sequence[int]], count: int, how: Mapping[str, Any]) -> list[list[int]]:
    """The best output of each source, of exactly this many tokens."""
    batch = batch_of(sources)
    order = batch.sort_by_src_length()
    written, _, _ = search(model, batch, count, how["beam"], how["alpha"], min_output_length=count)
    outputs: list[list[int]] = written[order].tolist()
    return outputs


def answers(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The response to each line."""
    how = json.loads(next(lines))
    torch.set_num_threads(how["threads"])
    torch.manual_seed(1)
    source = vocabulary(how["sizes"][0])
    target = source if how["network"].get("tied_embeddings") else vocabulary(how["sizes"][1])
    model = build_model(how["network"], source, target).eval()
    versions = {name: version(name) for name in ("joeynmt", "torch", "numpy")}
    parameters = sum(each.numel() for each in model.parameters())
    yield {"versions": {"python": platform.python_version()} | versions, "parameters": parameters}
    for line in lines:
        begin = time.process_time()
        outputs = [translate(model, batch["sources"], batch["count"], how) for batch in json.loads(line)]
        yield {"outputs": outputs, "processor_seconds": time.process_time() - begin}


def main(asked: TextIO, told: TextIO) -> None:
    for answer in answers(iter(asked)):
        print(json.dumps(answer), file=told, flush=True)


if __name__ == "__main__":
    told, sys.stdout = sys.stdout, sys.stderr  # so that only responses go to standard output
    logging.disable(logging.INFO)
    main(sys.stdin, told)
