"""Tests decode a few tokens, for which commands do without kernels; here kernels are what is tested."""

from collections.abc import Iterator

import pytest

from regard.decode import corpus


@pytest.fixture(autouse=True, scope="module")
def kernels_for_few_tokens() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "FEW", 0)
        yield
