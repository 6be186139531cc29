"""How fast a tagger of words with a CRF is, beside flair's and beside plain torch with the package `pytorch-crf`.

    pip install flair gensim pytorch-crf     # each is left out where it is not installed
    python benchmarks/tagging_speed.py --conll conll2003 --vectors glove.6B.50d.txt
    python benchmarks/tagging_speed.py --conll conll2003 --vectors glove.6B.50d.txt --device cuda

All have the same shape: word vectors of width 50, a bidirectional LSTM of 25 + 25 over the characters of each word, a
bidirectional LSTM over the words, a CRF. They tag the development text of CoNLL-2003 in batches of `--sentences`,
from lists of words to lists of tags, without probabilities; weights are random, since they do not change the work.
flair and the plain tagger get the sentences in the order of their length, as Regard puts them itself. What a tagger
makes of words first (numbers, flair's tokens) counts. The systems take turns; a figure is that of the best turn.

Training: milliseconds of a step of the recipe `conll2003-tagger` with a CRF and with a softmax, at its own batches.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
from conditions import conditions
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.data.batches import CorpusPosition
from regard.recipe import TaggingRecipe, read_recipe
from regard.tasks import tagger
from regard.tasks.tagger import load_tagger
from regard.tasks.tagging import TaggingTask
from regard.train import run
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

HIDDEN = 200
CHARACTERS = 25
"""Width of character embeddings, and of each direction over them, as flair has it."""
LETTERS = range(33, 383)
"""Characters with a vector in the peers."""
Words = Sequence[Sequence[str]]
Tag = Callable[[Words], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conll", type=Path, required=True, help="folder with eng.train and eng.testa")
    parser.add_argument("--vectors", type=Path, required=True, help="word vectors of width 50 as text")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--sentences", type=int, default=32, help="sentences of a batch")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40, help="training steps of a turn")
    parser.add_argument("--commit", default="", help="what is measured, where git cannot say it")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    record = conditions(("regard", "torch", "flair", "pytorch-crf"), arguments.commit)
    record |= {"device": arguments.device, "threads": arguments.threads, "batch": arguments.sentences}
    if arguments.device == "cuda":
        record["gpu"] = torch.cuda.get_device_name()
    with tempfile.TemporaryDirectory() as folder:
        record["tagging"] = tagging(arguments, Path(folder))
        record["training"] = training(arguments, Path(folder))
    print(json.dumps({name: record[name] for name in ("tagging", "training")}, indent=2))
    suffix = "_gpu" if arguments.device == "cuda" else ""
    out = arguments.out or Path(__file__).parent / "results" / f"tagging_speed{suffix}.json"
    out.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def tagging(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Sentences a second of each system, by name."""
    device = torch.device(arguments.device)
    sentences = sorted(sentences_of(arguments.conll / "eng.testa"), key=len)
    train_own(arguments, folder / "own")
    own = load_tagger(folder / "own", device=arguments.device)
    tags = list(own.tags.tags)
    systems: dict[str, Tag] = {"regard": lambda some: own.tag(some, probabilities=False)}
    if find_spec("torchcrf"):
        known = {word.lower() for sentence in sentences_of(arguments.conll / "eng.train") for word in sentence}
        systems["torch and pytorch-crf"] = PlainTagger(sorted(known), tags).to(device).eval()
    if find_spec("flair"):
        systems["flair"] = flair_tagger(of_gensim(arguments.vectors, folder), tags, arguments.sentences, device)
    size = arguments.sentences
    batches = [sentences[first : first + size] for first in range(0, len(sentences), size)]
    best = dict.fromkeys(systems, float("inf"))
    # Regard batches by tokens: as many as the others' batches have with sentences of the mean length.
    tagger.BATCH_WORDS = size * sum(map(len, sentences)) // len(sentences)
    for tag in systems.values():
        tag(sentences[: 4 * size])  # initializes what is created on first use
    for _ in range(arguments.turns):
        for name, tag in systems.items():
            begun = time.perf_counter()
            for batch in [sentences] if name == "regard" else batches:
                tag(batch)
            best[name] = min(best[name], time.perf_counter() - begun)
    return {name: round(len(sentences) / seconds, 1) for name, seconds in best.items()}


def training(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Milliseconds of a training step by output, over the same batches."""
    device = torch.device(arguments.device)
    outputs = {"crf": [], "softmax": ["model.output=softmax", "model.forbid=false"]}
    steps = {}
    for output, changes in outputs.items():
        recipe = own_recipe(arguments, changes)
        (folder / output).mkdir()
        steps[output] = step_of(TaggingTask.prepare(recipe, folder / output, lambda line: None), device)
    best = dict.fromkeys(steps, float("inf"))
    for step in steps.values():
        # New batch shapes are captured first.
        clock(step, 3 * arguments.steps if arguments.device == "cuda" else 2, device)
    for _ in range(arguments.turns):
        for output, step in steps.items():
            best[output] = min(best[output], clock(step, arguments.steps, device))
    return {output: round(1e3 * seconds, 2) for output, seconds in best.items()}


def step_of(task: TaggingTask, device: torch.device) -> Callable[[], None]:
    """The next step of training, as the loop does it."""
    learner, batches, done = Learner(task, device, Ranks()), task.batches(CorpusPosition()), 0

    def step() -> None:
        nonlocal done, batches
        try:
            batch, _ = next(batches)
        except StopIteration:
            batches = task.batches(CorpusPosition())
            batch, _ = next(batches)
        done += 1
        learner.runner.run([batch], Plan(done, batch.count, 1e-3, False, 0.0), learner.carry)

    return step


def clock(step: Callable[[], None], count: int, device: torch.device) -> float:
    """Mean seconds of a step."""
    begun = time.perf_counter()
    for _ in range(count):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / count


def own_recipe(arguments: argparse.Namespace, changes: Sequence[str]) -> TaggingRecipe:
    named = [f"data.{part}={json.dumps([str(arguments.conll.absolute() / file)])}" for part, file in FILES.items()]
    named += [f"words.vectors.file={json.dumps(str(arguments.vectors.absolute()))}", f"train.device={arguments.device}"]
    return read_recipe("conll2003-tagger", [*named, "data.test=[]", *changes], kind=TaggingRecipe)


FILES = {"train": "eng.train", "dev": "eng.testa"}


def train_own(arguments: argparse.Namespace, folder: Path) -> None:
    """A tagger of the common shape, trained for one step."""
    shape = [f"words.characters.embedding={CHARACTERS}", f"words.characters.width={2 * CHARACTERS}"]
    shape += ["words.characters.kind=lstm", "model.encoder.embedding=100", f"model.encoder.hidden={HIDDEN}"]
    run(own_recipe(arguments, [*shape, "train.steps=1"]), folder)


def sentences_of(path: Path) -> list[list[str]]:
    """The words of each sentence of a CoNLL file."""
    sentences: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            sentences.append([])
        elif not line.startswith("-DOCSTART-"):
            sentences[-1].append(line.split()[0])
    return [sentence for sentence in sentences if sentence]


class PlainTagger(nn.Module):
    """The same shape from torch's own layers, and the CRF of `pytorch-crf`."""

    def __init__(self, words: Sequence[str], tags: Sequence[str]) -> None:
        from torchcrf import CRF

        super().__init__()
        self.tags = list(tags)
        self.words = {word: number for number, word in enumerate(words, start=2)}
        self.letters = {chr(code): number for number, code in enumerate(LETTERS, start=2)}
        self.word_vectors = nn.Embedding(len(words) + 2, 50)
        self.letter_vectors = nn.Embedding(len(self.letters) + 2, CHARACTERS)
        self.over_letters = nn.LSTM(CHARACTERS, CHARACTERS, batch_first=True, bidirectional=True)
        self.over_words = nn.LSTM(100, HIDDEN, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * HIDDEN, len(tags))
        self.crf = CRF(len(tags), batch_first=True)

    @torch.inference_mode()
    def forward(self, sentences: Words) -> list[list[str]]:
        device = self.project.weight.device
        flat = [word for sentence in sentences for word in sentence]
        lengths = [len(sentence) for sentence in sentences]
        spelled = [torch.tensor([self.letters.get(letter, 1) for letter in word]) for word in flat]
        letters = nn.utils.rnn.pad_sequence(spelled, batch_first=True).to(device)
        packed = pack_padded_sequence(
            self.letter_vectors(letters), torch.tensor(list(map(len, flat))), batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.over_letters(packed)
        words = torch.tensor([self.words.get(word.lower(), 1) for word in flat]).to(device)
        both = torch.cat([self.word_vectors(words), last[0], last[1]], dim=1)
        rows = nn.utils.rnn.pad_sequence(both.split(lengths), batch_first=True)
        held = pack_padded_sequence(rows, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
        features, _ = pad_packed_sequence(self.over_words(held)[0], batch_first=True)
        there = torch.arange(rows.size(1), device=device) < torch.tensor(lengths, device=device)[:, None]
        best = self.crf.decode(self.project(features), mask=there)
        return [[self.tags[tag] for tag in row] for row in best]


def flair_tagger(vectors: Path, tags: Sequence[str], batch: int, device: torch.device) -> Tag:
    """flair's tagger of the same shape, which loads word vectors and makes those of characters itself."""
    import flair
    from flair.data import Dictionary, Sentence
    from flair.embeddings import CharacterEmbeddings, StackedEmbeddings, WordEmbeddings
    from flair.models import SequenceTagger

    flair.device = device
    dictionary = Dictionary(add_unk=False)
    for tag in tags:
        dictionary.add_item(tag)
    letters = Dictionary()
    for code in LETTERS:
        letters.add_item(chr(code))
    embeddings = StackedEmbeddings([WordEmbeddings(str(vectors)), CharacterEmbeddings(letters)])
    made = SequenceTagger(
        embeddings=embeddings,
        tag_dictionary=dictionary,
        tag_type="ner",
        tag_format="BIOES",
        hidden_size=HIDDEN,
        use_crf=True,
        reproject_embeddings=False,
        allow_unk_predictions=False,
    ).eval()

    def tag(sentences: Words) -> list[list[str]]:
        tokens = [Sentence(list(sentence)) for sentence in sentences]
        made.predict(tokens, mini_batch_size=batch)
        return [[token.get_label("ner").value for token in sentence] for sentence in tokens]

    return tag


def of_gensim(vectors: Path, folder: Path) -> Path:
    """Word vectors in the form that flair reads."""
    from gensim.models import KeyedVectors

    made = folder / "vectors.gensim"
    KeyedVectors.load_word2vec_format(str(vectors), no_header=True).save(str(made))
    return made


if __name__ == "__main__":
    main()
