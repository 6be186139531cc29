"""The cache that suits a text best is the one that scoring with each of them would find."""

from itertools import product
from pathlib import Path

from language_runs import language_recipe

from regard.data.text import Text
from regard.study.caching import Caches, best_cache
from regard.tasks import load_writer
from regard.train import run


def test_it_is_the_best_of_all(tmp_path: Path) -> None:
    run(language_recipe(tmp_path, train={"steps": 4}), tmp_path / "run", reporter=lambda event: None)
    writer = load_writer(tmp_path / "run", device="cpu")
    text = Text("dev", writer.recipe.data)

    def perplexity(settings: tuple[int, float, float]) -> float:
        return writer.with_cache(*settings).score_text(text, rows=2).scores[0].value

    for sizes, shares in (((3, 30), (0.02, 0.2, 0.6)), ((3,), (0.02, 0.6)), ((30,), (0.01, 0.9))):
        caches = Caches(sizes, (0.1, 5.0), shares)
        each = product(caches.sizes, caches.thetas, caches.shares)
        assert best_cache(writer, text, caches, rows=2) == min(each, key=perplexity)
