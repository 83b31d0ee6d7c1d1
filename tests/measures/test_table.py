"""The table of measures: what a row of each kind has, and that it is told to users."""

import re

import pytest

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
