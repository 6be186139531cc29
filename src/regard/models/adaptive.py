"""Adaptive softmax (Grave, Joulin, Cissé, Grangier and Jégou 2017): frequent tokens first, the others in parts.

The head has the most frequent tokens and one entry for each part of the others; the probability of a token in a part is
that of the part times that of the token within it. Rarer parts have narrower vectors, which saves time: a quarter of a
million tokens cost as much as some forty thousand.

The paper computes a part only for rows whose target is in it, which the host must count. Here every row computes every
part, in chunks of at most `LARGEST` logits: without a synchronization, so a step can be captured.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.device import without_autocast
from regard.errors import UsageError
from regard.models.generator import Readout
from regard.models.readout import LARGEST, LinearReadout


class AdaptiveReadout(Readout):
    """Tokens below cutoffs[0] are in the head; part i has those from cutoffs[i] to the next cutoff or the end, with
    vectors shrink^(i + 1) times narrower. Tokens must be sorted by frequency."""

    def __init__(
        self, width: int, size: int, cutoffs: Sequence[int], *, shrink: int = 4, largest: int = LARGEST
    ) -> None:
        super().__init__()
        if list(cutoffs) != sorted(set(cutoffs)) or not cutoffs or not 0 < cutoffs[0] <= cutoffs[-1] < size:
            raise UsageError(
                f"cutoffs = {list(cutoffs)} do not cut a vocabulary of {size} tokens into parts; give rising numbers "
                f"between 1 and {size - 1}"
            )
        self.width, self.size = width, size
        self.ends = (*cutoffs, size)
        parts = len(cutoffs)
        self.head = LinearReadout(width, cutoffs[0] + parts, largest=largest)
        widths = [max(1, width // shrink ** (part + 1)) for part in range(parts)]
        self.narrow = nn.ModuleList(nn.Linear(width, narrower, bias=False) for narrower in widths)
        self.parts = nn.ModuleList(
            LinearReadout(narrower, end - begin, largest=largest)
            for narrower, begin, end in zip(widths, self.ends, self.ends[1:], strict=False)
        )

    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        """Log-probabilities."""
        head = _log_softmax(self.head.logits(features))
        first = self.ends[0]
        found = [head[..., :first]]
        for place, (narrow, part) in enumerate(zip(self.narrow, self.parts, strict=True)):
            assert isinstance(part, LinearReadout)
            found.append(head[..., first + place, None] + _log_softmax(part.logits(narrow(features))))
        return torch.cat(found, -1)

    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        # The part of each target (0 is the head), and its entry in the head.
        inside = sum((targets >= end).long() for end in self.ends[:-1])
        assert isinstance(inside, Tensor)
        entry = targets.where(inside == 0, self.ends[0] - 1 + inside)
        chosen, mean = self.head.log_probs(features, entry)
        of_parts = self._of_parts(features, entry, chosen)
        # The sum over the tokens of the head, then over those of each part.
        total = mean * self.head.size - of_parts.sum(-1)
        for place, (narrow, part) in enumerate(zip(self.narrow, self.parts, strict=True)):
            assert isinstance(part, LinearReadout)
            here = inside == place + 1
            within = (targets - self.ends[place]).where(here, 0)
            of_target, of_all = part.log_probs(narrow(features), within)
            chosen = chosen + of_target.where(here, 0.0)
            total = total + part.size * (of_parts[..., place] + of_all)
        return chosen, total / self.size

    def _of_parts(
        self, features: Float[Tensor, "*rows E"], entry: Int[Tensor, "*rows"], chosen: Float[Tensor, "*rows"]
    ) -> Float[Tensor, "*rows parts"]:
        """Log-probability of each part: that of a known entry plus the difference of their logits."""
        weight, bias = self.head.weight.to(chosen.dtype), self.head.bias
        assert bias is not None
        with without_autocast(features):
            features = features.to(chosen.dtype)
            logits = F.linear(features, weight[self.ends[0] :], bias[self.ends[0] :].to(chosen.dtype))
            known = (features * F.embedding(entry, weight)).sum(-1) + bias[entry]
        return logits - (known - chosen)[..., None]


def _log_softmax(logits: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
