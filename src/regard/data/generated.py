"""Generated corpora: pure functions, the same on every machine and in every process."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import overload

from regard.data.examples import Corpora, Pair, Split

_HELD_OUT: dict[int, Split] = {0: "dev", 1: "test"}


class Generated(Sequence[Pair]):
    """One split of a generated corpus. Example i is a function of seed, split and i alone, and made on demand: a
    corpus of any size needs no memory, and a larger one begins with the smaller one."""

    def __init__(self, seed: int, split: Split, size: int) -> None:
        self.seed, self.split, self._size = seed, split, size

    @abstractmethod
    def example(self, index: int) -> Pair:
        """Example `index`, whatever the size of the corpus."""

    def summary(self) -> list[str]:
        """Statistics of the examples, in lines for the terminal, after one pass over them."""
        return []

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        chosen = range(self._size)[index]
        return self.example(chosen) if isinstance(chosen, int) else [self.example(place) for place in chosen]

    def __iter__(self) -> Iterator[Pair]:
        return map(self.example, range(self._size))

    def draw(self, index: int, attempt: int) -> int:
        """128 random bits for one attempt at one example."""
        key = f"{self.seed} {self.split} {index} {attempt}"
        return int.from_bytes(blake2b(key.encode(), digest_size=16).digest(), "big")


def split_of(key: str) -> Split:
    """The split of everything about `key`: eight tenths are train, one each dev and test.

    It depends only on the key, so that neither size nor seed moves it to another split.
    """
    tenth = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") % 10
    return _HELD_OUT.get(tenth, "train")


def three_splits(make: Callable[[Split, int], Generated], examples: int) -> Corpora:
    """A corpus with `examples` training examples; dev and test get a tenth of that each, at most 1,000."""
    held_out = held_out_size(examples)
    return Corpora(make("train", examples), make("dev", held_out), make("test", held_out))


def held_out_size(examples: int) -> int:
    """Examples of dev, and as many of test, beside `examples` for training."""
    return max(1, min(1_000, examples // 10))
