"""Looking: where a model attends, as numbers, alignments and pictures.

    weights = watch(model, sources, targets)                              # {tap: "H T S"} of each example
    links = link(fold(choose(weights[0]), target_words, source_words))    # word alignments …
    print(pharaoh(links))                                                 # … in the exchange format

    look = Look(source_labels, target_labels, weights[0])
    save_picture(look, Path("look.png"))                                  # PNG, SVG, PDF
    save_page([look], Path("look.html"))                                  # one HTML file, nothing to fetch
    print_look(look)                                                      # in the terminal

matplotlib is imported when something is drawn, not before.
"""

from regard.inspect.alignment import WordWeights, fold, link, reverse, symmetrize
from regard.inspect.figure import check_picture_name
from regard.inspect.heatmap import draw, save_picture, save_pictures
from regard.inspect.lengths import draw_lengths, save_lengths
from regard.inspect.look import END_LABEL, Links, Look, choose
from regard.inspect.page import page, save_page
from regard.inspect.pharaoh import GoldLinks, parse_gold, parse_pharaoh, pharaoh, read_gold, read_pharaoh
from regard.inspect.terminal import print_look, terminal_picture
from regard.inspect.watch import Weights, watch
from regard.inspect.wordmap import draw_map, save_map
from regard.inspect.wordmap_page import map_page, save_map_page

__all__ = [
    "END_LABEL",
    "GoldLinks",
    "Links",
    "Look",
    "Weights",
    "WordWeights",
    "check_picture_name",
    "choose",
    "draw",
    "draw_lengths",
    "draw_map",
    "fold",
    "link",
    "map_page",
    "page",
    "parse_gold",
    "parse_pharaoh",
    "pharaoh",
    "print_look",
    "read_gold",
    "read_pharaoh",
    "reverse",
    "save_lengths",
    "save_map",
    "save_map_page",
    "save_page",
    "save_picture",
    "save_pictures",
    "symmetrize",
    "terminal_picture",
    "watch",
]
