"""An n-gram model as a generator: its state is the longest known context, one number for each row."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from regard.errors import ModelError
from regard.models.copying import known_tokens
from regard.models.generator import Readout, State
from regard.models.language import Carry, LanguageModel, Reading
from regard.models.ngram.table import LN10, TOLERANCE, NgramTable, unread_table
from regard.recipe import NgramModel
from regard.tap import Tap
from regard.tokens.vocabulary import BEGIN, END

HALF = 2**20
"""A node is represented by two features, node // HALF and node % HALF, which are exact in float32."""


class Trie(nn.Module):
    """The arrays of an `NgramTable` as tensors."""

    bounds: Int64[Tensor, " bounds"]
    keys: Int64[Tensor, " keys"]
    first: Int[Tensor, " ends"]
    links: Int[Tensor, " nodes"]
    log_probs: Float[Tensor, " nodes"]
    back_offs: Float[Tensor, " contexts"]
    totals: Float[Tensor, " contexts"]
    means: Float[Tensor, " contexts"]

    def __init__(self, table: NgramTable) -> None:
        super().__init__()
        self.order, self.size = table.order, table.size
        for name in ("bounds", "keys", "first", "links", "log_probs", "back_offs"):
            self.register_buffer(name, torch.from_numpy(getattr(table, name)))
        self.register_buffer("totals", torch.from_numpy(table.totals).float())
        self.register_buffer("means", torch.from_numpy(table.means).float())

    @property
    def table(self) -> NgramTable:
        """The table; shares memory with the tensors if they are on the CPU."""
        arrays = (self.bounds, self.keys, self.first, self.links, self.log_probs.float(), self.back_offs.float())
        return NgramTable(self.size, *(array.cpu().numpy() for array in arrays))

    def make_room(self, weights: Mapping[str, Tensor]) -> None:
        """Resizes the buffers to those of saved weights, as sizes are known only after counting."""
        for name, buffer in list(self.named_buffers()):
            if name in weights and weights[name].ndim == 1:
                setattr(self, name, torch.empty(weights[name].shape, dtype=buffer.dtype, device=buffer.device))

    def find(self, parents: Int[Tensor, "*rows"], words: Int[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
        """The children of these nodes by these words, −1 if there is no such child or no parent."""
        wanted = (parents * self.size + words).contiguous()
        places = torch.searchsorted(self.keys, wanted)
        return torch.where((self.keys[places] == wanted) & (parents >= 0), places + self.size, -1)

    def contexts(self, nodes: Int[Tensor, "*rows"]) -> list[Int[Tensor, "*rows"]]:
        """The nodes of the last word of each node's n-gram, the last two, and so on below the order; −1 if shorter."""
        lengths = torch.bucketize(nodes.contiguous(), self.bounds[1:-1], right=True) + (nodes >= 0)
        found = []
        for words in range(self.order - 1, 0, -1):
            here = lengths == words
            found.append(torch.where(here, nodes, -1))
            nodes = torch.where(here, self.links[nodes.clamp(min=0)].long(), nodes)
            lengths = lengths - here.long()
        return found[::-1]


class NgramReadout(Readout):
    """Gets the context from two features, and the probabilities of the next word from the trie."""

    width = 2

    def __init__(self, table: NgramTable) -> None:
        super().__init__()
        self.trie = Trie(table)
        self.size = table.size

    def features(self, nodes: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows 2"]:
        return torch.stack((nodes // HALF, nodes % HALF), -1).to(self.trie.log_probs.dtype)

    def nodes(self, features: Float[Tensor, "*rows 2"]) -> Int[Tensor, "*rows"]:
        high, low = features.long().unbind(-1)
        return high * HALF + low

    def logits(self, features: Float[Tensor, "*rows 2"]) -> Float[Tensor, "*rows V"]:
        """Starts from unigrams; every longer context adds its back-off weight and overwrites the words it knows."""
        trie, nodes = self.trie, self.nodes(features).flatten()
        found = trie.log_probs[: self.size].repeat(len(nodes), 1)
        rows = torch.arange(len(nodes), device=nodes.device)
        for context in trie.contexts(nodes):
            known = context.clamp(min=0)
            found += torch.where(context >= 0, trie.back_offs[known], 0)[:, None]
            start = trie.first[known].long()
            counts = torch.where(context >= 0, trie.first[known + 1] - start, 0)
            row = rows.repeat_interleave(counts)
            child = torch.arange(len(row), device=row.device) + (start - counts.cumsum(0) + counts)[row]
            found[row, trie.keys[child - self.size] % self.size] = trie.log_probs[child]
        found = found * LN10 - trie.totals[nodes][:, None]
        return found.view(*features.shape[:-1], self.size)

    def log_probs(
        self, features: Float[Tensor, "*rows 2"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        trie, nodes = self.trie, self.nodes(features)
        found = trie.log_probs[targets]
        for context in trie.contexts(nodes):
            child = trie.find(context, targets)
            lower = found + torch.where(context >= 0, trie.back_offs[context.clamp(min=0)], 0)
            found = torch.where(child >= 0, trie.log_probs[child.clamp(min=0)], lower)
        return found * LN10 - trie.totals[nodes], trie.means[nodes]


@dataclass(frozen=True)
class NgramState(State):
    """The longest known context of each row; −1 if nothing was read."""

    nodes: Int64[Tensor, " N"]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return replace(self, nodes=self.nodes.index_select(0, rows))

    def copy(self) -> Self:
        return self  # never changed in place


class NgramLanguageModel(LanguageModel):
    """A generator from a table of n-grams; the tap `contexts` shows the context number of each position.

    Lines are independent: after END the context is BEGIN. Scores that do not sum to one, such as those of stupid
    back-off, are normalized.
    """

    readout: NgramReadout
    output_width = NgramReadout.width
    has_fixed_shapes = False  # a context has as many words after it as were found there

    def __init__(self, table: NgramTable) -> None:
        super().__init__()
        self.readout = NgramReadout(table)
        self.contexts = Tap("row", "past")

    @property
    def table(self) -> NgramTable:
        return self.readout.trie.table

    @property
    def sums_to_one(self) -> bool:
        """Whether the scores were probabilities before they were normalized."""
        return bool((self.readout.trie.totals.abs() < TOLERANCE).all())

    @property
    def like(self) -> Tensor:
        return self.readout.trie.log_probs

    def make_room(self, weights: Mapping[str, Tensor]) -> None:
        """Resizes the buffers to those of saved weights, as sizes are known only after counting."""
        prefix = "readout.trie."
        bounds = weights.get(f"{prefix}bounds")
        if bounds is None or bounds.shape != self.readout.trie.bounds.shape:
            raise ModelError(
                f"these are not the weights of an n-gram model of order {self.readout.trie.order}; "
                "use the recipe that they were counted with"
            )
        self.readout.trie.make_room({name.removeprefix(prefix): tensor for name, tensor in weights.items()})

    def blank(self, rows: int) -> dict[str, Tensor]:
        return {"contexts": torch.zeros(rows, dtype=torch.long, device=self.like.device)}

    def carried(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, NgramState)
        return {"contexts": state.nodes + 1}

    def resume(self, carry: Carry, capacity: int) -> NgramState:
        return NgramState(carry["contexts"] - 1)

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        """Finds the n-grams that end at all positions in parallel, by increasing length: the n+1-gram that ends at a
        position is a child of the n-gram that ends before it."""
        assert isinstance(state, NgramState)
        trie = self.readout.trie
        tokens = known_tokens(tokens, trie.size)
        tokens = tokens.where(tokens != END, BEGIN)
        longest = ending = tokens
        for before in trie.contexts(state.nodes)[:-1]:
            ending = trie.find(torch.cat((before[:, None], ending[:, :-1]), 1), tokens)
            longest = torch.where(ending >= 0, ending, longest)
        features = self.readout.features(self.contexts(longest))
        return Reading(features, NgramState(longest[:, -1]), features, features)


def build(settings: NgramModel, size: int) -> NgramLanguageModel:
    """An untrained model; `building.count` makes a trained one, and `make_room` prepares this one for its weights."""
    return NgramLanguageModel(unread_table(settings.order, size))
