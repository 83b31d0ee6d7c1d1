"""The committed calibration: its tables follow from its ranks, and name what made them."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.calibration import (
    LEVEL,
    N_DRAWS,
    RESULTS,
    STUDIES,
    calibration_of,
    quantity_table,
    summary_line,
)

MADE = sorted(path.name.removesuffix("_ranks.csv") for path in RESULTS.glob("*_ranks.csv"))
STATED = ["p_value", "adjusted_p_value", "passed"]


@pytest.fixture(params=MADE)
def study(request) -> str:
    return request.param


@pytest.fixture
def ranks(study) -> pd.DataFrame:
    return pd.read_csv(RESULTS / f"{study}_ranks.csv")


def test_studies_with_committed_results_are_those_of_the_script():
    assert {"relevance", "relevance_centred", "grade"} <= set(MADE) <= set(STUDIES)
    for name in MADE:
        assert (RESULTS / f"{name}.png").exists()


def test_ranks_are_whole_numbers_of_every_seed_once(ranks):
    assert len(ranks) >= 100
    assert ranks["seed"].tolist() == list(range(1, len(ranks) + 1))
    values = ranks.filter(regex="^rank:").to_numpy()
    assert values.dtype == np.int64
    assert values.min() >= 0
    assert values.max() <= N_DRAWS


def test_p_values_and_coverage_follow_from_the_ranks(study, ranks):
    stated = pd.read_csv(RESULTS / f"{study}_quantities.csv", index_col="quantity")
    found = calibration_of(ranks)
    again = quantity_table(found)
    assert stated.index.tolist() == again.index.tolist()
    for column in STATED[:2]:
        np.testing.assert_allclose(stated[column], again[column], atol=6e-5)
    assert stated["passed"].tolist() == again["passed"].tolist()
    order = round((N_DRAWS + 1) * 0.05)
    inside = (found["rank"] >= order) & (found["rank"] <= N_DRAWS - order)
    np.testing.assert_allclose(stated["coverage"], inside.mean("simulation"), atol=6e-5)


def test_the_summary_follows_from_the_ranks_and_its_command_is_one_of_the_script(study, ranks):
    summary = pd.read_csv(RESULTS / "summary.csv", dtype=str).set_index("study")
    line = summary_line(study, STUDIES[study].__doc__ or "", ranks)
    for name, value in line.items():
        if name == "study":
            continue
        if isinstance(value, float):
            assert float(summary.loc[study, name]) == pytest.approx(value, nan_ok=True)
        else:
            assert summary.loc[study, name] == str(value)
    words = shlex.split(str(summary.loc[study, "command"]))
    assert Path(words[1]).exists() or (RESULTS.parents[1] / words[1]).exists()
    assert words[2:] == ["run", study, "--simulations", str(len(ranks))]
    assert f"level {LEVEL}" in str(summary.loc[study, "test"])
