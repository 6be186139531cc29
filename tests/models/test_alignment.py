"""Statistical aligners: laws, and parity with sums over all alignments."""

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.models.alignment import hidden_markov
from regard.models.alignment.aligner import Posteriors, StatisticalAligner
from regard.models.alignment.learning import learn
from regard.models.alignment.lexicon import stem_of
from regard.models.alignment.spelling import Spelled, Transducer, alphabet_of
from regard.models.alignment.word_pairs import ParallelText
from regard.recipe.alignment import HmmAligner

HMM = HmmAligner(kind="hmm")
FARTHEST = hidden_markov.FARTHEST

Sentences = list[list[str]]


def dictionary_text(pairs: int, seed: int = 1) -> tuple[Sentences, Sentences, list[set[tuple[int, int]]]]:
    """Sentences whose neighboring words change places in translation, some words of which are not translated."""
    draw = random.Random(seed)
    sources, targets, links = [], [], []
    for _ in range(pairs):
        words = draw.sample(range(40), draw.randint(3, 8))
        order = list(range(len(words)))
        for place in range(0, len(words) - 1, 2):
            order[place : place + 2] = order[place + 1], order[place]
        sources.append([f"s{number}" for number in words])
        targets.append([f"t{words[place]}" for place in order] + ["!"])
        links.append({(place, j) for j, place in enumerate(order)})
    return sources, targets, links


@pytest.fixture(scope="module")
def text() -> tuple[Sentences, Sentences, list[set[tuple[int, int]]]]:
    return dictionary_text(300)


@pytest.fixture(scope="module")
def aligner(text: tuple[Sentences, Sentences, list[set[tuple[int, int]]]]) -> StatisticalAligner:
    return learn(ParallelText.of(text[0], text[1]), HMM)


def links(found: Posteriors) -> set[tuple[int, int]]:
    targets, sources = np.nonzero(found.forward * found.backward.T > 0.25)
    return set(zip(sources.tolist(), targets.tolist(), strict=True))


def test_a_dictionary_and_an_order_are_found(
    text: tuple[Sentences, Sentences, list[set[tuple[int, int]]]], aligner: StatisticalAligner
) -> None:
    sources, targets, true = text
    found = [links(each) for each in aligner.posteriors(sources, targets)]
    right = sum(len(a & b) for a, b in zip(found, true, strict=True))
    assert right > 0.97 * sum(map(len, true))
    assert right > 0.97 * sum(map(len, found))
    new_sources, new_targets, new = dictionary_text(50, seed=2)
    found = [links(each) for each in aligner.posteriors(new_sources, new_targets)]
    assert sum(len(a & b) for a, b in zip(found, new, strict=True)) > 0.97 * sum(map(len, new))


def test_the_same_text_gives_the_same_bits(
    text: tuple[Sentences, Sentences, list[set[tuple[int, int]]]], aligner: StatisticalAligner
) -> None:
    again = learn(ParallelText.of(text[0], text[1]), HMM)
    assert all((again.state_dict()[name] == tensor).all() for name, tensor in aligner.state_dict().items())


def test_exchanged_sides_exchange_the_directions(
    text: tuple[Sentences, Sentences, list[set[tuple[int, int]]]], aligner: StatisticalAligner
) -> None:
    sources, targets, _ = text
    exchanged = learn(ParallelText.of(targets, sources), HMM)
    for one, other in zip(
        aligner.posteriors(sources[:20], targets[:20]), exchanged.posteriors(targets[:20], sources[:20]), strict=True
    ):
        np.testing.assert_allclose(one.forward, other.backward, atol=2e-3)
        np.testing.assert_allclose(one.backward, other.forward, atol=2e-3)
        assert one.log_likelihoods == pytest.approx(other.log_likelihoods[::-1], rel=1e-3)


words = st.lists(st.sampled_from([*(f"s{number}" for number in range(40)), "s7x", "new", "!"]), max_size=6)


@given(pairs=st.lists(st.tuples(words, words), max_size=4))
@settings(max_examples=25)
def test_probabilities_sum_to_at_most_one_and_pairs_do_not_influence_each_other(
    aligner: StatisticalAligner, pairs: list[tuple[list[str], list[str]]]
) -> None:
    together = aligner.posteriors([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    for (source, target), found in zip(pairs, together, strict=True):
        assert found.forward.shape == (len(target), len(source))
        assert found.backward.shape == (len(source), len(target))
        for each in (found.forward, found.backward):
            assert (each >= 0).all()
            assert (each.sum(axis=1) <= 1 + 1e-4).all()
        (alone,) = aligner.posteriors([source], [target])
        np.testing.assert_allclose(alone.forward, found.forward, atol=1e-6)
        np.testing.assert_allclose(alone.backward, found.backward, atol=1e-6)


def all_alignments(
    translations: np.ndarray, without: np.ndarray, jumps: np.ndarray, alone: float
) -> tuple[np.ndarray, float]:
    """Link probabilities and the log-likelihood, by the sum over every alignment."""
    targets, sources = translations.shape
    found, total = np.zeros((targets, sources)), 0.0
    for partners in product(range(-1, sources), repeat=targets):
        last, probability = -1, 1.0
        for j, i in enumerate(partners):
            if i < 0:
                probability *= alone * without[j]
                continue
            possible = [jumps[other - last + FARTHEST] for other in range(sources)]
            probability *= (1 - alone) * possible[i] / sum(possible) * translations[j, i]
            last = i
        total += probability
        for j, i in enumerate(partners):
            if i >= 0:
                found[j, i] += probability
    return found / total, float(np.log(total))


@pytest.mark.parametrize(("targets", "sources"), [(1, 1), (1, 3), (3, 1), (4, 3), (3, 4)])
def test_posteriors_are_those_of_the_sum_over_all_alignments(targets: int, sources: int) -> None:
    draw = np.random.default_rng(targets * 10 + sources)
    translations = draw.uniform(0.01, 1, (targets, sources)).astype(np.float32)
    without = draw.uniform(0.01, 1, targets).astype(np.float32)
    jumps = draw.uniform(0.1, 1, 2 * FARTHEST + 1).astype(np.float32)
    found = np.zeros_like(translations)
    score = hidden_markov.posteriors(translations, without, jumps, 0.2, found)
    wanted, log_likelihood = all_alignments(translations, without, jumps, 0.2)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert score == pytest.approx(log_likelihood, rel=1e-4)
    even = np.ones_like(jumps)
    score = hidden_markov.posteriors_without_order(translations, without, 0.2, found)
    wanted, log_likelihood = all_alignments(translations, without, even, 0.2)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert score == pytest.approx(log_likelihood, rel=1e-4)


sentences = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=5), min_size=1, max_size=6)


@given(sources=sentences, data=st.data())
@settings(max_examples=25)
def test_cells_name_the_pairs_of_words(sources: Sentences, data: st.DataObject) -> None:
    exactly = {"min_size": len(sources), "max_size": len(sources)}
    targets = data.draw(st.lists(st.lists(st.sampled_from("uvwxyz"), max_size=5), **exactly))
    text = ParallelText.of(sources, targets)
    names = [(text.source.words[i], text.target.words[j]) for i, j in zip(text.sources, text.targets, strict=True)]
    assert len(set(names)) == len(names)
    wanted = [(i, j) for source, target in zip(sources, targets, strict=True) for j in target for i in source]
    assert [names[cell] for cell in text.cells] == wanted


def test_many_pairs_of_words_are_told_apart() -> None:
    sources = [[f"s{number}" for number in range(start, start + 40)] for start in range(0, 400, 7)]
    text = ParallelText.of(sources, [[word.replace("s", "t") for word in each] for each in sources])
    assert len(set(zip(text.sources.tolist(), text.targets.tolist(), strict=True))) == len(text.sources)
    assert len(set(text.cells.tolist())) == len(text.sources) > 4096


def all_spellings(source: str, target: str, transducer: Transducer) -> float:
    """The probability of two words, by the sum over all ways to write them; characters are digits."""
    if not source and not target:
        return transducer.stop
    found = 0.0
    if source and target:
        both = transducer.both[int(source[0]), int(target[0])]
        found += both * all_spellings(source[1:], target[1:], transducer)
    if source:
        found += transducer.source[int(source[0])] * all_spellings(source[1:], target, transducer)
    if target:
        found += transducer.target[int(target[0])] * all_spellings(source, target[1:], transducer)
    return found


def test_spellings_have_the_probability_of_all_ways_to_write_them() -> None:
    draw = np.random.default_rng(3)
    parts = draw.dirichlet(np.ones(13)) * 0.7  # 2 × 3 pairs, 2 + 3 characters alone, and the end
    transducer = Transducer(parts[:6].reshape(2, 3), parts[6:8], parts[8:11], 0.3 + parts[11] + parts[12])
    targets = ["".join(each) for length in range(9) for each in product("012", repeat=length)]
    sources = ["", "0", "10"]
    spelled = Spelled.of(sources, "0"), Spelled.of(targets, "01")
    pairs = tuple(np.array(each, np.int32) for each in zip(*product(range(3), range(len(targets))), strict=True))
    of_target, of_source = transducer.probabilities(*spelled, (pairs[0], pairs[1]))
    of_target, of_source = of_target.reshape(3, -1), of_source.reshape(3, -1)
    # Given a source, all targets together have probability one, but for those that are longer than eight.
    assert of_target.sum(axis=1) == pytest.approx(np.ones(3), abs=0.02)
    joint = np.array([[all_spellings(source, target, transducer) for target in targets[:40]] for source in sources])
    np.testing.assert_allclose(of_target[:, :40] / of_target[:, :1], joint / joint[:, :1], rtol=1e-9)
    np.testing.assert_allclose(of_source[:, :40] / of_source[:1, :40], joint / joint[:1], rtol=1e-9)


def test_letters_of_another_script_are_learned() -> None:
    draw = random.Random(5)
    sources = ["".join(draw.choices("abcde", k=draw.randint(3, 8))) for _ in range(300)]
    targets = [word.translate(str.maketrans("abcde", "абцде")) for word in sources]
    alphabets = alphabet_of(sources), alphabet_of(targets)
    spelled = Spelled.of(sources, alphabets[0]), Spelled.of(targets, alphabets[1])
    same = np.arange(300, dtype=np.int32)
    transducer = Transducer.learn(alphabets, *spelled, (same, same), np.ones(300))
    right, _ = transducer.probabilities(*spelled, (same, same))
    wrong, _ = transducer.probabilities(*spelled, (same, np.roll(same, 1)))
    assert np.median(right) > 100 * np.median(wrong)


def test_new_words_are_aligned_by_their_stems_and_spelling(aligner: StatisticalAligner) -> None:
    assert [stem_of(word, 4) for word in ("house", "houses", "sea", "2021-03")] == ["hous…", "hous…", "sea", "2021-03"]
    sources = [["the", "house", "is", "red"], ["a", "red", "garden"], ["the", "garden", "is", "small"]] * 5
    targets = [["das", "hausboot", "ist", "rot"], ["ein", "roter", "garten"], ["der", "garten", "ist", "klein"]] * 5
    small = learn(ParallelText.of(sources, targets), HMM)
    (found,) = small.posteriors([["Quixote", "houses"]], [["Quixote", "hausboote"]])
    assert found.forward.argmax(axis=1).tolist() == [0, 1]
    assert found.backward.argmax(axis=1).tolist() == [0, 1]


def test_without_rounds_of_word_order_order_does_not_matter(
    text: tuple[Sentences, Sentences, list[set[tuple[int, int]]]],
) -> None:
    sources, targets, _ = text
    model = learn(ParallelText.of(sources, targets), HmmAligner(kind="hmm", order_rounds=0))
    (found,) = model.posteriors(sources[:1], targets[:1])
    (turned,) = model.posteriors([sources[0][::-1]], targets[:1])
    np.testing.assert_allclose(turned.forward[:, ::-1], found.forward, rtol=1e-5)
    np.testing.assert_allclose(turned.backward[::-1], found.backward, rtol=1e-5)


@pytest.mark.parametrize("changes", [{"stem": 0}, {"spelling": 0.0}, {"stem": 0, "spelling": 0.0, "sharpness": 1.0}])
def test_what_is_left_out_is_not_needed(
    text: tuple[Sentences, Sentences, list[set[tuple[int, int]]]], changes: dict[str, float]
) -> None:
    chosen = HmmAligner.model_validate({"kind": "hmm", "order_rounds": 1, **changes})
    model = learn(ParallelText.of(text[0], text[1]), chosen)
    empty = StatisticalAligner.untrained(chosen, model.words)
    empty.make_room(model.state_dict())
    empty.load_state_dict(model.state_dict())
    for one, other in zip(model.posteriors(text[0], text[1]), empty.posteriors(text[0], text[1]), strict=True):
        assert (one.forward == other.forward).all()
        assert one.forward.sum() > 0.5 * len(one.forward)
