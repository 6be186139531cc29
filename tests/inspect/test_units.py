"""What units do together, against plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.inspect import Array, Inspection, over_units
from regard.inspect.units import STATISTICS

GATE, CANDIDATE, STATE = "encoder.ahead.gates.forget", "encoder.ahead.gates.candidate", "encoder.ahead.state"


def seen(steps: int, units: int, seed: int) -> Inspection:
    draw = np.random.default_rng(seed)
    arrays = {
        GATE: Array(("source", "feature"), draw.random((steps, units))),
        CANDIDATE: Array(("source", "feature"), draw.random((steps, units))),
        STATE: Array(("source", "feature"), draw.normal(size=(steps, units))),
        "share": Array(("source", "feature"), draw.random((steps, 1))),
        "surprisals": Array(("source",), draw.random(steps)),
    }
    return Inspection(arrays, {"source": tuple("abcdefgh"[:steps])}, title="a title")


@given(st.integers(0, 5), st.integers(2, 9), st.integers(0, 99))
def test_statistics_are_those_of_numpy(steps: int, units: int, seed: int) -> None:
    given = seen(steps, units, seed)
    found = over_units(given)
    assert [*found] == [GATE, CANDIDATE, STATE]
    assert found.labels["statistic"] == STATISTICS
    for name, array in found.items():
        values, (mean, low, high, opened, shut) = given[name].values, array.values
        assert array.axes == ("statistic", "source")
        np.testing.assert_allclose(mean, values.mean(1), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(low, [np.quantile(row, 0.1) for row in values], rtol=1e-5, atol=1e-6)
        assert (low <= high).all()
        if name == GATE:
            np.testing.assert_allclose(opened, [sum(unit > 0.9 for unit in row) / units for row in values], rtol=1e-5)
            np.testing.assert_allclose(shut, [sum(unit < 0.1 for unit in row) / units for row in values], rtol=1e-5)
        else:
            assert np.isnan([*opened, *shut]).all()


def test_what_has_no_units_is_refused() -> None:
    with pytest.raises(UsageError, match="there are no gates or states to measure here: this model is not recurrent"):
        over_units(Inspection({"surprisals": Array(("source",), np.ones(2))}, {}))
