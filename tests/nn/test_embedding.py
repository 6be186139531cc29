"""Vectors of tokens: looked up, scaled, tied."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from regard.errors import UsageError
from regard.nn import TokenEmbedding, TokenVectors
from regard.tap import intervene, record


def test_each_token_gets_its_own_vector_times_the_scale() -> None:
    embedding = TokenEmbedding(5, 3, scale=2.0)
    tokens = torch.tensor([[4, 0], [1, 4]])
    found = embedding(tokens)
    for place in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        torch.testing.assert_close(found[place], 2 * embedding.weight[tokens[place]])


def test_features_start_with_variance_one_when_scaled_by_the_root_of_the_width() -> None:
    embedding = TokenEmbedding(500, 64, scale=64**0.5)
    assert embedding(torch.arange(500)).std().item() == pytest.approx(1.0, abs=0.05)
    assert embedding.weight.std().item() == pytest.approx(1 / 8, abs=0.01)


def test_tied_vectors_are_one_parameter_saved_once_and_stay_tied_when_copied_and_moved() -> None:
    lender = TokenEmbedding(5, 3)
    pair = nn.ModuleDict({"lender": lender, "borrower": TokenEmbedding(5, 3, shared=lender)})
    assert list(pair.state_dict()) == ["lender.vectors"]
    assert [name for name, _ in pair.named_parameters(remove_duplicate=False)] == ["lender.vectors"]

    copied = deepcopy(pair).double()
    assert copied["borrower"].weight is copied["lender"].vectors
    assert copied["borrower"].weight is not lender.vectors
    assert copied["borrower"](torch.tensor([1])).dtype == torch.float64


def test_gradients_of_both_uses_of_tied_vectors_add_up() -> None:
    lender = TokenEmbedding(4, 2)
    borrower = TokenEmbedding(4, 2, shared=lender)
    (lender(torch.tensor([1])).sum() + 3 * borrower(torch.tensor([2])).sum()).backward()
    assert lender.vectors.grad is not None
    assert lender.vectors.grad.tolist() == [[0, 0], [1, 1], [3, 3], [0, 0]]


def test_vectors_of_different_vocabularies_cannot_be_tied() -> None:
    with pytest.raises(UsageError) as error:
        TokenVectors(5, 3, shared=TokenVectors(6, 3))
    assert str(error.value) == (
        "vectors of 5 tokens × width 3 cannot be tied to those of 6 tokens × width 3; "
        "tie vectors of one vocabulary and one width, or do not tie them"
    )


def test_embeddings_can_be_looked_at_and_changed() -> None:
    embedding = TokenEmbedding(5, 3)
    tokens = torch.tensor([2, 3])
    with record(embedding, "output") as seen, intervene(embedding, "output", torch.zeros_like):
        found = embedding(tokens)
    assert torch.equal(seen.last("output"), found)
    assert found.count_nonzero() == 0
