"""Outputs as functions of what passes inside a model, and their gradients."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from classifying_runs import classifying_recipe
from command_line import Trained
from language_runs import language_recipe
from parsing_task import RECIPE, write_treebank
from tagging_runs import tagging_recipe

import regard
from regard.errors import ModelError, UsageError
from regard.inspect import Outputs, attributions, gradient_norms
from regard.inspect.gradients import integrated_gradients, leave_one_out
from regard.recipe import Recipe, TransformerModel
from regard.tap import record
from regard.train import run

TEXT = "the cat sees the dog ."


def barely_trained(recipe: Recipe, folder: Path) -> Any:
    recipe = recipe.model_copy(update={"train": recipe.train.model_copy(update={"steps": 2})})
    run(recipe, folder, reporter=lambda event: None)
    return regard.load(folder, device="cpu")


@pytest.fixture(scope="module")
def models(
    trained: Trained, trained_tagger: Trained, trained_classifier: Trained, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Any, list[str]]]:
    """One of each task, with a text for it."""
    place = tmp_path_factory.mktemp("models")
    (place / "parser").mkdir()
    write_treebank(place / "parser")
    recipe = RECIPE.replace('"train.', f'"{place}/parser/train.').replace('"dev.', f'"{place}/parser/dev.')
    (place / "p.toml").write_text(recipe.replace('"test.', f'"{place}/parser/test.'), encoding="utf-8")

    small = TransformerModel(kind="transformer", width=8, heads=2, feedforward=8, encoder_layers=2, decoder_layers=1)
    transformer = regard.read_recipe(trained.recipe).model_copy(update={"model": small})
    found: dict[str, tuple[Any, list[str]]] = {
        "translator": (regard.load(trained.folder, device="cpu"), ["eins und zwei", "one and red"]),
        "transformer": (barely_trained(transformer, place / "translator"), ["eins rot"]),
        "tagger": (regard.load(trained_tagger.folder, device="cpu"), ["Anna sees Oslo ."]),
        "classifier": (regard.load(trained_classifier.folder, device="cpu"), ["the film is lovely"]),
        "parser": (barely_trained(regard.read_recipe(place / "p.toml"), place / "graph"), ["the dog sees a cat ."]),
    }
    transition = (place / "p.toml").read_text("utf-8").replace('"graph"\narc_width', '"transition"\nhidden')
    (place / "p.toml").write_text(transition, encoding="utf-8")
    recipe = regard.read_recipe(place / "p.toml")
    found["transition parser"] = (barely_trained(recipe, place / "transition"), ["the dog sees ."])
    for kind in ("window", "recurrent", "copying", "transformer", "ngram"):
        recipe = language_recipe(place, kind)
        found[f"{kind} language model"] = (barely_trained(recipe, place / kind), [TEXT])
    return found


def every_output(models: dict[str, tuple[Any, list[str]]]) -> Sequence[tuple[str, Any, Outputs]]:
    return [(name, model, model.outputs(*texts)) for name, (model, texts) in models.items()]


def test_outputs_are_what_the_model_says(models: dict[str, tuple[Any, list[str]]]) -> None:
    for name, model, outputs in every_output(models):
        assert len(outputs) == len(outputs.labels[outputs.axis])
        before = model.inspect(*models[name][1])
        every = [outputs.probabilities(place)[0].numpy() for place in range(len(outputs))]
        np.testing.assert_allclose([each.sum() for each in every], 1, atol=1e-4)
        chosen = [float(each[outputs.chosen[place]]) for place, each in enumerate(every)]
        known = {"tagger": "tags", "classifier": "labels"}.get(name, "probabilities")
        if known in before:
            np.testing.assert_allclose(chosen, before[known].values[: len(chosen)], atol=1e-5)
        elif name == "parser":
            arcs = [before["arcs"].values[word, head] for word, head in enumerate(outputs.chosen)]
            np.testing.assert_allclose(chosen, arcs, atol=1e-5)
        else:
            np.testing.assert_allclose(chosen, before["relations"].values[:, 0], atol=1e-5)
        assert model.inspect(*models[name][1]).to_json() == before.to_json()


def test_without_some_positions_they_are_those_of_the_rest(models: dict[str, tuple[Any, list[str]]]) -> None:
    classifier, tagger, translator = (models[name][0] for name in ("classifier", "tagger", "translator"))
    (left,) = classifier.classify(["the is lovely"])
    (found,) = classifier.outputs("the film is lovely").probabilities(0, without=[[1]])
    expected = [left.probabilities[label] for label in classifier.labels.tags]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    outputs = tagger.outputs("Anna sees Oslo .")
    both = outputs.probabilities(2, without=[[0, 1], [3]])
    for row, text in enumerate(["Oslo .", "Anna sees Oslo"]):
        marginals = tagger.inspect(text)["marginals"].values
        np.testing.assert_allclose(both[row], marginals[text.split().index("Oslo")], atol=1e-5)
    outputs = translator.outputs("eins und zwei", "one and red")
    alone = translator.outputs("eins zwei", "one and red").probabilities(2)
    torch.testing.assert_close(outputs.probabilities(2, without=[(), [1]])[1:], alone)
    shorter = translator.outputs("eins und zwei", "and red").probabilities(1)
    torch.testing.assert_close(outputs.probabilities(2, axis="past", without=[[1]]), shorter)
    parser = models["parser"][0]
    (found,) = parser.outputs("the dog sees a cat .").probabilities(1, without=[[5]])
    arcs = parser.inspect("the dog sees a .")["arcs"].values[1]
    np.testing.assert_allclose(found, [*arcs[:5], 0, arcs[5]], atol=1e-5)


def test_integrated_gradients_are_complete(models: dict[str, tuple[Any, list[str]]]) -> None:
    for name, _, outputs in every_output(models):
        if not outputs.inputs:
            assert name == "ngram language model"
            continue
        for axis in outputs.inputs:
            place = len(outputs) // 2
            found = integrated_gradients(outputs, place, axis=axis)
            difference = found.probability - found.without
            assert found.error <= 0.01, name
            assert found.values.sum() == pytest.approx(difference, abs=max(0.01 * abs(difference), 1e-5)), name


def test_integrated_gradients_of_a_linear_function_are_its_terms(trained_classifier: Trained) -> None:
    """Where the probability is linear in the vectors, each adds its own term, however far the way is cut."""
    model = regard.load(trained_classifier.folder, device="cpu")
    outputs = model.outputs("the film is lovely")
    seen: dict[str, torch.Tensor] = {}
    draw = torch.randn(1, 4, 12)

    def linear(place: int, axis: str, without: Sequence[Any]) -> torch.Tensor:
        tap = dict(model.model.named_modules())["words.output"]
        seen["vectors"] = draw.repeat(len(without), 1, 1)
        share = tap(seen["vectors"])[:, :, 0].sum(1) / 100 + 0.5
        return torch.stack([share, 1 - share], 1).log()

    plain = Outputs(model.model, "output", outputs.labels, [0], str, outputs.inputs, linear)
    found = integrated_gradients(plain, 0)
    np.testing.assert_allclose(found.values, draw[0, :, 0] / 100, atol=1e-6)
    assert found.without == pytest.approx(0.5)


def test_weights_that_are_not_finite_are_told(trained_classifier: Trained) -> None:
    model = regard.load(trained_classifier.folder, device="cpu")
    with torch.no_grad():
        next(model.model.parameters()).fill_(torch.nan)
    with pytest.raises(ModelError, match="output 0: its probability or gradient is not finite"):
        integrated_gradients(model.outputs("the film is lovely"), 0)


def test_attributions_show_themselves(models: dict[str, tuple[Any, list[str]]], tmp_path: Path) -> None:
    model, _ = models["classifier"]
    outputs = model.outputs("the film is lovely")
    found = attributions(outputs, 0, choice="bad")
    assert found.labels["measure"] == ("integrated-gradients", "gradient×input", "leave-one-out")
    probability = model.classify(["the film is lovely"])[0].probabilities["bad"]
    assert float(found["probability"].values) == pytest.approx(probability, abs=1e-6)
    left = model.classify(["the film is"])[0].probabilities["bad"]
    assert found["attributions"].values[2, 3] == pytest.approx(probability - left, abs=1e-5)
    assert found.note == "what each position adds to the probability of 'bad'"
    assert "leave-one-out" in found._repr_html_()
    found.save(tmp_path / "found.png")


def test_a_word_that_is_judged_cannot_be_left_out(models: dict[str, tuple[Any, list[str]]]) -> None:
    tagger, parser = models["tagger"][0], models["transition parser"][0]
    assert np.isnan(leave_one_out(tagger.outputs("Anna sees Oslo ."), 2)).tolist() == [False, False, True, False]
    outputs = parser.outputs("the dog sees .")
    place = next(word for word, head in enumerate(parser.parse(["the dog sees ."])[0].heads) if head)
    kept = {0, place + 1, parser.parse(["the dog sees ."])[0].heads[place]}
    assert set(np.nonzero(np.isnan(leave_one_out(outputs, place)))[0].tolist()) == kept


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_norms_are_those_of_differences(cell: str, tmp_path: Path) -> None:
    """Against finite differences in float64."""
    writer = barely_trained(language_recipe(tmp_path, model={"cell": cell}), tmp_path / "model")
    writer.model.double()
    outputs = writer.outputs(TEXT)
    norms = gradient_norms(outputs, 4)
    assert norms.labels["past"] == ("▸", "the", "cat", "sees", "the")
    tap = outputs.inputs["past"].tap
    with record(writer.model, tap) as seen:
        outputs.probabilities(4)
    width, step = seen.last(tap).shape[2], 1e-5
    by_position = np.zeros((5, width))
    for position in range(5):
        shift = torch.zeros(2 * width, 5, width, dtype=torch.float64)
        shift[:width, position] = step * torch.eye(width)
        shift[width:, position] = -step * torch.eye(width)
        with regard.intervene(writer.model, tap, lambda vectors, shift=shift: vectors + shift), torch.no_grad():
            hidden = outputs.run(4, "past", [()] * (2 * width))[:, outputs.chosen[4]].numpy()
        by_position[position] = (hidden[:width] - hidden[width:]) / (2 * step)
    # The log-probabilities themselves are float32.
    np.testing.assert_allclose(norms[tap].values, np.linalg.norm(by_position, axis=1), rtol=0.05, atol=2e-2)


def test_gradients_at_states_are_products_of_jacobians(tmp_path: Path) -> None:
    """∂ h(t+1) / ∂ h(t) of a tanh RNN is diag(1 − h(t+1)²) U (Pascanu et al. 2013)."""
    writer = barely_trained(language_recipe(tmp_path, model={"cell": "rnn"}), tmp_path / "model")
    outputs, name = writer.outputs(TEXT), "stack.layers.0.ahead.state"
    norms = gradient_norms(outputs)[name]
    assert norms.axes == ("target", "past")
    with record(writer.model, name) as seen, torch.no_grad():
        outputs.log_probs(-1)
    states = seen.last(name)[0]
    layer = writer.model.stack.layers[0].ahead
    last = states[-1].clone().requires_grad_()
    log_probs = writer.model.readout.logits(writer.model.toward(last[None]))[0].log_softmax(-1)
    (gradient,) = torch.autograd.grad(log_probs[outputs.chosen[-1]], last)
    for position in range(len(states) - 1, -1, -1):
        assert norms.values[-1, position] == pytest.approx(float(gradient.norm()), rel=1e-4)
        gradient = layer.hidden_weight.detach().T @ (gradient * (1 - states[position] ** 2))
    assert (np.triu(norms.values, 1) == 0).all()


def test_states_are_in_the_order_of_the_words(tmp_path: Path) -> None:
    """What reads ahead knows nothing of later words, what reads back nothing of earlier ones."""
    tagger = barely_trained(tagging_recipe(tmp_path, model={"output": "softmax"}), tmp_path / "model")
    norms = gradient_norms(tagger.outputs("Anna sees Oslo ."), 1)
    ahead, back = (norms[f"encoder.stack.layers.0.{way}.state"].values > 0 for way in ("ahead", "back"))
    assert ahead.tolist() == [True, True, False, False]
    assert back.tolist() == [False, True, True, True]


def test_several_labels_are_several_outputs(tmp_path: Path) -> None:
    (tmp_path / "some.tsv").write_text("x,y\ta b\nz\tb\n", encoding="utf-8")
    files = {part: [str(tmp_path / "some.tsv")] for part in ("train", "dev", "test")}
    classifier = barely_trained(classifying_recipe(tmp_path, data=files | {"multiple": True}), tmp_path / "model")
    outputs = classifier.outputs("a b")
    shares = classifier.inspect("a b")["probabilities"].values
    assert outputs.labels["label"] == classifier.labels.tags
    found = [float(outputs.probabilities(place)[0, outputs.choice(place, "yes")]) for place in range(3)]
    np.testing.assert_allclose(found, shares, atol=1e-6)


def test_what_is_not_there_is_refused(models: dict[str, tuple[Any, list[str]]]) -> None:
    outputs = models["translator"][0].outputs("eins und zwei", "one and red")
    for call, message in {
        lambda: outputs.log_probs(4): "there is no output 4: this example has 4 along 'target', counted from 0",
        lambda: outputs.choice(0, "zwei"): "'zwei' is not a choice at 0; the likeliest there are 'one', ",
        lambda: outputs.choice(0, 999): r"there is no choice 999: there are \d+ here, counted from 0",
        lambda: gradient_norms(models["ngram language model"][0].outputs(TEXT)): "this model reads no vectors",
        lambda: leave_one_out(outputs, 0, axis="sauce"): "reads nothing along 'sauce'; it reads along 'source'",
        lambda: models["translator"][0].outputs("eins " * 600, "one"): "a text of 601 tokens is too long to look at",
    }.items():
        with pytest.raises(UsageError, match=message):
            call()
    assert repr(outputs) == "<Outputs: 'eins und zwei → one and red', 4 along 'target'>"


def test_what_becomes_of_a_gradient_on_its_way(models: dict[str, tuple[Any, list[str]]]) -> None:
    """The median at each distance, and the factor of the exponential nearest to these, both computed otherwise."""
    for name, kind, back in (
        ("recurrent language model", ".state", lambda t, s, _: t - s),
        ("tagger", ".ahead.state", lambda t, s, _: t - s),
        ("tagger", ".back.state", lambda t, s, _: s - t),
        ("parser", ".ahead.state", lambda t, s, _: t + 1 - s),  # the root is read before the words
        ("parser", "words.output", lambda t, s, _: abs(t + 1 - s)),
        ("translator", "encoder.stack.layers.0.ahead.state", lambda t, s, size: size - 1 - s + t),
        ("translator", "encoder.stack.layers.0.back.state", lambda t, s, _: s + t),
    ):
        model, texts = models[name]
        norms = gradient_norms(model.outputs(*texts))
        tap = next(each for each in norms.shown if each.endswith(kind))
        values, found = norms[tap].values, norms[f"{tap} by distance"]
        assert (found.axes, norms[tap].axes[0]) == (("distance",), model.outputs(*texts).axis)
        at: dict[int, list[float]] = {}
        for (t, s), norm in np.ndenumerate(values):
            at.setdefault(back(t, s, values.shape[1]), []).append(float(norm))
        expected = [np.median(at[each]) for each in range(max(at) + 1)]
        np.testing.assert_allclose(found.values, expected, rtol=1e-5, err_msg=f"{name} {tap}")
        logs = {each: np.log(norm) for each, norm in enumerate(expected) if norm > 0}
        slope = np.polyfit([*logs], [*logs.values()], 1)[0] if len(logs) > 2 else np.nan
        assert float(norms[f"{tap} factor"].values) == pytest.approx(float(np.exp(slope)), rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("factor", [0.5, 1.25])
def test_the_gradient_of_a_linear_recurrence_shrinks_by_its_weight(tmp_path: Path, factor: float) -> None:
    """At states of zero, tanh is linear: with weights that turn and scale, each step back multiplies by the scale."""
    recipe = language_recipe(tmp_path, "recurrent", model={"cell": "rnn"})
    model = barely_trained(recipe, tmp_path / "model")
    cell = model.model.stack.layers[0].ahead
    with torch.no_grad():
        cell.input_weight.zero_()
        cell.input_bias.zero_()
        cell.hidden_bias.zero_()
        cell.hidden_weight.copy_(factor * torch.linalg.qr(torch.randn_like(cell.hidden_weight)).Q)
    norms = gradient_norms(model.outputs(TEXT))
    (tap,) = (name for name in norms.shown if name.endswith("state"))
    assert float(norms[f"{tap} factor"].values) == pytest.approx(factor, rel=0.02)
    last = norms[tap].values[-1]
    np.testing.assert_allclose(last[1:-1] / last[2:], factor, rtol=0.02)


def test_too_few_distances_have_no_factor(models: dict[str, tuple[Any, list[str]]]) -> None:
    model, _ = models["classifier"]
    norms = gradient_norms(model.outputs("lovely film"))
    assert np.isnan(norms["words.output factor"].values)
