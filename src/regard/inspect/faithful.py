"""Is attention an explanation of an output? Questions that one example answers (Jain and Wallace 2019).

    found = faithfulness(model.outputs("a lovely film"), 0)      # a Faithfulness, which is an Inspection
    found.sentence                                               # what follows, with its number
    found.divergence, found.variations["uniform"], found.correlations["leave-one-out"]
    found.save("found.png")                                      # .svg, .html, .json

If other attention weights leave an output unchanged, these weights alone do not explain it. That none were found does
not prove the opposite. Nor could the model have computed arbitrary weights: its attention depends on everything else
that passes through it (Wiegreffe and Pinter 2019).
"""

import math

import numpy as np
import torch
from jaxtyping import Float

from regard.inspect.chosen_attention import ChosenAttention
from regard.inspect.gradients import attributions
from regard.inspect.inspection import Array, Inspection
from regard.inspect.most_different import Different, most_different, permuted, total_variation, uniform
from regard.inspect.outputs import Outputs
from regard.metrics.rank_correlation import kendall

LIMIT = 0.01
"""Total variation up to which an output counts as unchanged (Jain and Wallace 2019)."""
LEAST = 0.1
"""Divergence from which weights count as different. It is at most log 2 times the share of the weight that is
elsewhere, so that this is at least 14 %."""
PERMUTATIONS = 100
REMOVALS = 20
"""Random draws of words to remove."""
SHARE = 0.2
"""Share of the words of a text that is removed; at least one word."""
CHANGES = ("most-different", "uniform", "permuted")
REMOVED = ("most-attended", "random")


class Faithfulness(Inspection):
    """How faithful one attention is to one output: named arrays, and a sentence that sums them up."""

    @property
    def sentence(self) -> str:
        """The conclusion, in words."""
        return self.note

    @property
    def divergence(self) -> float:
        """Divergence of the most different weights that leave the output unchanged, in nats, at most 0.69; NaN if there
        is only one position to attend to."""
        return float(self["divergence"].values)

    @property
    def is_refuted(self) -> bool:
        """Whether different weights leave the output unchanged."""
        return self.divergence >= LEAST

    @property
    def variations(self) -> dict[str, float]:
        """Total variation of the output under other weights: the most different, uniform, permuted (median)."""
        return self._by_label("changes", "change")

    @property
    def drops(self) -> dict[str, float]:
        """Loss of probability without the most attended words, and without random ones (median)."""
        return self._by_label("drops", "without")

    @property
    def correlations(self) -> dict[str, float]:
        """Kendall's τ-b between the weights and the absolute attributions of each measure."""
        return self._by_label("correlations", "measure")

    def _by_label(self, name: str, axis: str) -> dict[str, float]:
        return dict(zip(self.labels[axis], self[name].values.tolist(), strict=True))


def faithfulness(
    outputs: Outputs,
    place: int = -1,
    *,
    layer: str | None = None,
    head: int | None = None,
    query: int | None = None,
    choice: int | str | None = None,
    limit: float = LIMIT,
    seed: int = 1,
) -> Faithfulness:
    """Whether the attention of a layer explains a choice. By default it is the attention that the choice is made from,
    over all heads (`ChosenAttention.of`)."""
    attention = ChosenAttention.of(outputs, place, layer=layer, head=head, query=query)
    place, axis, choice = attention.place, attention.axis, outputs.choice(place, choice)
    generator = torch.Generator().manual_seed(seed)
    changed = torch.cat([uniform(attention)[None], permuted(attention, PERMUTATIONS, generator)])
    before = outputs.probabilities(place)
    uniformly, *shuffled = total_variation(attention.probabilities(changed), before).tolist()
    different = most_different(attention, limit, seed=seed)
    attributed = attributions(outputs, place, choice=choice, axis=axis)
    length = outputs.length(axis, place)
    own, other = (_of_inputs(weights, length) for weights in (attention.weights, different.weights))
    correlations = [kendall(own, abs(row)) for row in attributed["attributions"].values]
    drops = _drops(outputs, attention, choice, own, seed)
    variations = np.array([different.variation, uniformly, np.median(shuffled)])
    away = np.array(different.divergence)
    if not attention.has_choice:
        variations, away = variations * np.nan, away * np.nan
    return Faithfulness(
        {
            "weights": Array(("attention", axis), np.stack([own, other])),
            "attributions": attributed["attributions"],
            "divergence": Array((), away),
            "changes": Array(("change",), variations),
            "drops": Array(("without",), drops),
            "correlations": Array(("measure",), np.array(correlations)),
            "probability": attributed["probability"],
            "completeness error": attributed["completeness error"],
        },
        {
            **attributed.labels,
            "attention": ("own", CHANGES[0]),
            "change": CHANGES,
            "without": REMOVED,
        },
        title=f"{outputs.title}: {outputs.told(place, choice)}, {attention.told}",
        shown=("weights", "attributions", "changes", "drops", "correlations"),
        note=_sentence(outputs.told(place, choice), attention, different, uniformly, limit),
    )


def _of_inputs(weights: Float[torch.Tensor, "M K"], length: int) -> Float[np.ndarray, " S"]:
    """The mean weight of each input position. Keys are the last positions read, and may be followed by one that is not
    an input."""
    mean = weights.double().mean(0).cpu().numpy()[:length]
    return np.pad(mean, (length - len(mean), 0))


def _drops(
    outputs: Outputs, attention: ChosenAttention, choice: int, weights: Float[np.ndarray, " S"], seed: int
) -> Float[np.ndarray, " 2"]:
    """The drop in the probability of a choice without the most attended words, and without as many random ones
    (median); NaN if there are no other words."""
    words = outputs.removable(attention.place, attention.axis)
    count = max(1, round(SHARE * len(words)))
    if count >= len(words):
        return np.full(2, np.nan)
    draw = np.random.default_rng(seed)
    attended = sorted(words, key=lambda word: -weights[word].sum())[:count]
    drawn = [[words[each] for each in draw.choice(len(words), count, replace=False)] for _ in range(REMOVALS)]
    without = [(), *([position for word in some for position in word] for some in (attended, *drawn))]
    found = outputs.probabilities(attention.place, axis=attention.axis, without=without)[:, choice].double()
    drops = (found[0] - found[1:]).cpu().numpy()
    return np.array([drops[0], np.median(drops[1:])])


def _sentence(told: str, attention: ChosenAttention, different: Different, uniformly: float, limit: float) -> str:
    """The conclusion for this input."""
    if not attention.has_choice:
        return f"There is one position to attend to, so that its weight says nothing about {told}."
    far = f"(Jensen–Shannon divergence; {math.log(2):.2f} at most)"
    if different.divergence >= LEAST:
        return (
            f"Other weights, different by {different.divergence:.2f} {far}, leave {told} as it was (total variation "
            f"{different.variation:.3f}), so these weights alone do not tell what it rests on."
        )
    if uniformly <= limit:
        return (
            f"Uniform weights leave {told} as it was (total variation {uniformly:.3f}), and these hardly differ from "
            "them, so that they tell nothing about it."
        )
    return (
        f"None found: the most different weights that leave {told} as it was differ by {different.divergence:.2f} "
        f"{far}, and uniform ones change it by {uniformly:.2f} (total variation), so it does depend on these weights."
    )
