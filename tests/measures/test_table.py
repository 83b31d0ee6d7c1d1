"""The table of measures: what a row of each kind has, and that it is told to users."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeseval.measures import rank_sums, small_sums
from bayeseval.measures.names import EXAMPLES, parse_measures
from bayeseval.measures.table import MEASURES, linear

OTHER = {  # than the defaults
    **{"cutoff": 7, "rel": 2, "p": 0.5, "beta": 2, "recall": 0.5},
    **{"dcg": "exp-log2", "gains": {1: 3}},
}


def written(name: str, given: dict) -> str:
    """A measure with parameters, as users write it; with a cutoff where it needs one."""
    params = dict(given)
    if MEASURES[name].needs_cutoff:
        params.setdefault("cutoff", 10)
    if "recall" in MEASURES[name].parameters:
        params.setdefault("recall", 0.1)
    cutoff = params.pop("cutoff", None)
    inside = ",".join(f"{key}={value!r}" for key, value in params.items())
    return f"{name}({inside})" + ("" if cutoff is None else f"@{cutoff}")


@pytest.mark.parametrize("name", MEASURES)
def test_a_kind_says_what_a_row_has(name):
    row = MEASURES[name]
    assert (row.of_relevance is None) == (row.kind == "preference")
    assert (row.of_lists is None) == (row.kind != "preference")
    assert (row.of_topic is None) or row.kind not in ("linear", "preference")
    assert (row.of_topic is not None) or row.kind not in ("count", "ratio")
    assert (row.of_relevance is linear) == (row.kind == "linear")


@pytest.mark.parametrize("name", MEASURES)
def test_every_parameter_of_a_measure_is_in_its_label(name):
    (usual,) = parse_measures(written(name, {}))
    for parameter in MEASURES[name].parameters:
        (other,) = parse_measures(written(name, {parameter: OTHER[parameter]}))
        assert other.label != usual.label, f"{parameter} of {name} is dropped"
        assert parse_measures(other.label) == [other]


def test_messages_name_every_measure():
    assert {re.split(r"[(@]", text)[0] for text in EXAMPLES.split(", ")} == set(MEASURES)


@given(seed=st.integers(0, 999), n_columns=st.integers(1, 3), depth=st.integers(1, 40))
def test_sums_without_numba_are_those_of_the_kernels_to_the_last_bit(seed, n_columns, depth):
    rng = np.random.default_rng(seed)
    value = rng.choice([0.0, 0.3, 1.0, 3.0, rng.normal()], size=(50, n_columns))
    position = rng.integers(-1, 50, (7, depth)).astype(np.int32)
    weight, start = rng.uniform(size=depth), np.array([0, 20, 20, 50])
    cutoff = rng.uniform(0, depth + 3, (7, n_columns))
    asked = [("weighted_sum", (position, weight, value)), ("precision_sum", (position, value))]
    asked += [("best_sum", (weight, value, start)), ("cumulative_at", (position, value, cutoff))]
    for name, arguments in asked:
        small = getattr(small_sums, name)(*arguments)
        np.testing.assert_array_equal(small, getattr(rank_sums, name)(*arguments), err_msg=name)
