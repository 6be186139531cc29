"""Inspection: where a model attends, as numbers, alignments and pictures.

    seen = model.inspect("Das ist ein Haus .")                            # an Inspection: named, labelled arrays
    seen.save("look.png")                                                 # SVG, PDF, HTML and JSON too
    print_inspection(seen, show="encoder.*")                              # in the terminal
    save_page([seen, another], "look.html")                               # one HTML file, nothing to fetch

    arrays = watch(model, sources, targets)                               # {tap: Array} of each example
    with changed(model, [Silence("encoder.layers.0.*weights", head=2)]):  # other attention, other outputs
        seen = model.inspect("Das ist ein Haus .", "This is a house .")

    links = link(fold(choose(weights), target_words, source_words))       # word alignments …
    print(pharaoh(links))                                                 # … in the exchange format

matplotlib and rich are imported when something is drawn, not before.
"""

from typing import TYPE_CHECKING

from regard.inspect.alignment import Alignment, WordWeights, fold, link, reverse
from regard.inspect.changes import Permute, SetGate, SetWeight, Silence, Temper, Uniform, changed, changed_outputs
from regard.inspect.figure import check_picture_name
from regard.inspect.gold import read_gold
from regard.inspect.gradients import attributions, gradient_norms
from regard.inspect.heads import head_statistics, over_layers
from regard.inspect.inspection import Array, Inspection, Links
from regard.inspect.labels import BEGIN_LABEL, END_LABEL
from regard.inspect.outputs import Outputs
from regard.inspect.page import page, save_page
from regard.inspect.panel import Panel, choose, panels
from regard.inspect.pharaoh import GoldLinks, parse_gold, parse_pharaoh, pharaoh, read_pharaoh
from regard.inspect.saving import check_look_name
from regard.inspect.symmetrization import Joining, symmetrization_named, symmetrize
from regard.inspect.units import over_units
from regard.inspect.watch import recorded, watch, watch_writing
from regard.registry import found_on_use

if TYPE_CHECKING:
    from regard.inspect.faithful import Faithfulness, faithfulness
    from regard.inspect.heatmap import draw, save_pictures
    from regard.inspect.lengths import draw_lengths, save_lengths
    from regard.inspect.terminal import print_inspection, terminal_picture
    from regard.inspect.wordmap import draw_map, save_map
    from regard.inspect.words import map_inspection, map_page, neighbors_inspection, save_map_page

__getattr__ = found_on_use(
    __name__,
    {
        "faithful": ("Faithfulness", "faithfulness"),
        "heatmap": ("draw", "save_pictures"),
        "lengths": ("draw_lengths", "save_lengths"),
        "terminal": ("print_inspection", "terminal_picture"),
        "wordmap": ("draw_map", "save_map"),
        "words": ("map_inspection", "map_page", "neighbors_inspection", "save_map_page"),
    },
)

__all__ = [
    "BEGIN_LABEL",
    "END_LABEL",
    "Alignment",
    "Array",
    "Faithfulness",
    "GoldLinks",
    "Inspection",
    "Joining",
    "Links",
    "Outputs",
    "Panel",
    "Permute",
    "SetGate",
    "SetWeight",
    "Silence",
    "Temper",
    "Uniform",
    "WordWeights",
    "attributions",
    "changed",
    "changed_outputs",
    "check_look_name",
    "check_picture_name",
    "choose",
    "draw",
    "draw_lengths",
    "draw_map",
    "faithfulness",
    "fold",
    "gradient_norms",
    "head_statistics",
    "link",
    "map_inspection",
    "map_page",
    "neighbors_inspection",
    "over_layers",
    "over_units",
    "page",
    "panels",
    "parse_gold",
    "parse_pharaoh",
    "pharaoh",
    "print_inspection",
    "read_gold",
    "read_pharaoh",
    "recorded",
    "reverse",
    "save_lengths",
    "save_map",
    "save_map_page",
    "save_page",
    "save_pictures",
    "symmetrization_named",
    "symmetrize",
    "terminal_picture",
    "watch",
    "watch_writing",
]
