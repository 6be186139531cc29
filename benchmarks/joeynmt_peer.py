"""JoeyNMT as a peer in decoding. Its requirements differ from ours, so it has a separate environment and process
(`joeynmt_worker.py`), with which it communicates by JSON.

    python3 -m venv joey
    joey/bin/pip install torch==2.13.0 numpy pandas matplotlib plotly sacrebleu sentencepiece pyyaml tqdm
    joey/bin/pip install importlib_metadata packaging protobuf absl-py six
    joey/bin/pip install --no-deps joeynmt==2.3.0 subword-nmt tensorboard

Its other dependencies are for training, plots and its own development, and not needed for translation.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch

from regard.decode.corpus import batches_by_length
from regard.recipe import Decoding, RecurrentModel, TransformerModel

Network = dict[str, Any]
WORKER = Path(__file__).with_name("joeynmt_worker.py")


def recurrent_network(shape: RecurrentModel) -> Network:
    """JoeyNMT's configuration of a recurrent model: additive attention after the cell, fed to its next input."""
    both = {"type": "recurrent", "rnn_type": shape.cell, "hidden_size": shape.hidden}
    both["embeddings"] = {"embedding_dim": shape.embedding}
    decoder = {"num_layers": shape.decoder_layers, "attention": "bahdanau", "input_feeding": True}
    encoder = {"num_layers": shape.encoder_layers, "bidirectional": shape.bidirectional}
    return {"encoder": both | encoder, "decoder": both | decoder | {"init_hidden": "bridge"}}


def transformer_network(shape: TransformerModel) -> Network:
    """JoeyNMT's configuration of a Transformer; its positions are sinusoidal."""
    both = {"type": "transformer", "hidden_size": shape.width, "ff_size": shape.feedforward, "num_heads": shape.heads}
    both |= {"embeddings": {"embedding_dim": shape.width, "scale": True}, "layer_norm": shape.norm}
    sides = {"encoder": {"num_layers": shape.encoder_layers}, "decoder": {"num_layers": shape.decoder_layers}}
    tied = {"tied_embeddings": shape.tie == "all", "tied_softmax": shape.tie != "none"}
    return {side: both | layers for side, layers in sides.items()} | tied


class JoeyNMT:
    """A model of random weights, made to write the longest of the given lengths (and END) in each batch.

    `python` is the interpreter of JoeyNMT's environment. The batches are ours, the threads as many as torch has here.
    """

    def __init__(
        self, python: Path, network: Network, sizes: Sequence[int], how: Decoding, lengths: Sequence[int]
    ) -> None:
        self.lengths = lengths
        self.processor_seconds = 0.0
        """CPU time of its process for responses so far, all threads together."""
        try:
            command = [str(python), str(WORKER)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise SystemExit(f"--joeynmt {python}: {error.strerror}; give the Python that has JoeyNMT") from None
        settings = {"beam": how.beam, "alpha": how.length_penalty, "threads": torch.get_num_threads()}
        said = self._ask({"network": network, "sizes": list(sizes), **settings})
        self.versions: Mapping[str, str] = said["versions"]
        self.parameters: int = said["parameters"]

    def __call__(self, sources: list[list[int]], batch_tokens: int) -> list[tuple[int, ...]]:
        """The best output of each source. Its last token is in the place of END, and is left out."""
        groups = list(batches_by_length([len(source) + 1 for source in sources], batch_tokens))
        counts = [max(self.lengths[example] for example in group) + 1 for group in groups]
        asked = [
            {"sources": [sources[example] for example in group], "count": count}
            for group, count in zip(groups, counts, strict=True)
        ]
        said = self._ask(asked)
        self.processor_seconds += said["processor_seconds"]
        found = {
            example: tuple(tokens[:-1])
            for group, outputs in zip(groups, said["outputs"], strict=True)
            for example, tokens in zip(group, outputs, strict=True)
        }
        return [found[example] for example in range(len(sources))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()  # closes its input, on which it exits

    def _ask(self, what: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(json.dumps(what), file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.process.communicate()
            raise SystemExit(
                f"JoeyNMT's process ended with status {self.process.returncode}, and said why above; "
                f"{Path(__file__).name} says how to install it"
            )
        return json.loads(answer)
