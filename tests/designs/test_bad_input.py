"""What the designs refuse: one table."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from tests.small import small_collection

STRATA = {"budget": 4, "n_strata": 2}
STAGES = {"budget": 24, "n_strata": 8, "n_stages": 2, "random_seed": 1}
POOLS = ("hedge", "move_to_front")
WHOLE = "allowed: a whole number, 1 or more"
BAD = [
    *[("pps_strata", {"budget": budget}, "budget must be a whole number") for budget in (0, 2.5)],
    *[("pps_strata", {"n_strata": n}, f"n_strata is {n}; {WHOLE}") for n in (0, 2.5, True)],
    *[("pps_strata", {"pool_depth": n}, f"pool_depth is {n}; {WHOLE}") for n in (0, 2.5)],
    ("pps_strata", {"frame": "everything"}, "frame must be"),
    ("pps_strata", {"frame": np.ones(3, dtype=bool)}, "bool array over the 17"),
    ("pps_strata", {"runs": ["a", "z"]}, "unknown: z"),
    ("pps_strata", {"budget": {"1": 4, "2": 4, "9": 4}}, "budget names topic '9'"),
    ("pps_strata", {"certain": np.ones(17, dtype=bool)}, "which budget counts: 4 leaves none"),
    ("order", {"certain": np.arange(17) < 8, "budget": 8}, "'1' has 8 certain .* 8 leaves none"),
    ("order", {"budget": 0}, "budget must be a whole number"),
    ("order", {"measures": "XYZ@5"}, "measure 'XYZ@5' does not exist"),
    ("order", {"measures": []}, "measure"),
    ("order", {"random_seed": -1}, "random_seed"),
    ("with_replacement", {"budget": 0}, "whole number of judgments"),
    *[("with_replacement", {"exponent": x}, "exponent must be a number, 0") for x in (-1, np.inf)],
    ("with_replacement", {"uniform_share": 1.0}, r"in \[0, 1\)"),
    ("with_replacement", {"runs": ["x"]}, "unknown: x"),
    ("dynamic_stage", {"budget": 0}, "budget must be a whole number"),
    ("dynamic_stage", {"n_strata": 0}, f"n_strata is 0; {WHOLE}"),
    ("dynamic_stage", {"n_stages": 9}, "from 1 to the number of strata, 8, not 9"),
    ("dynamic_stage", {"n_stages": 1.5}, "n_stages must be a whole number"),
    ("dynamic_stage", {"aim": "speed"}, "aim must be one of dyn, stat, relevant, not 'speed'"),
    ("dynamic_stage", {"prior": 1.0}, "prior must lie between 0 and 1"),
    *[
        ("hedge", {"learning_rate": rate}, "learning_rate must lie between 0 and 1")
        for rate in (0.0, 1.0, -1.0, 2.0, np.nan)
    ],
    ("hedge", {"list_length": 0}, f"list_length is 0; {WHOLE}"),
    ("move_to_front", {"variant": "all"}, "variant must be one of local, global"),
    *[(pool, {"budget": 0}, "budget must be a whole number") for pool in POOLS],
    *[(pool, {"budget": {"1": 3}}, "no number of judgments for topic '2'") for pool in POOLS],
    *[(pool, {"runs": ["z"]}, "unknown: z") for pool in POOLS],
    *[(pool, {"frame": "all"}, "frame must be") for pool in POOLS],
    *[(pool, {"pool_depth": 0}, f"pool_depth is 0; {WHOLE}") for pool in POOLS],
    *[
        (pool, {"relevance_level": level}, f"relevance_level is .*; {WHOLE}")
        for pool in (*POOLS, "next_documents")
        for level in (0, 1.5, "1", np.nan)
    ],
    ("next_documents", {"method": "mtf"}, "method must be one of hedge, move_to_front"),
]
OPTIONS = {
    "pps_strata": STRATA,
    "order": {"random_seed": 1},
    "dynamic_stage": STAGES,
    "next_documents": {"n_documents": 2},
}


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return small_collection()


@pytest.mark.parametrize(("name", "options", "message"), BAD)
def test_a_design_that_cannot_be_is_refused(collection, name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(be.designs, name)(collection, **OPTIONS.get(name, {"budget": 3}) | options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("pps_strata", {"random_seed": "1"}, "random_seed is '1'; allowed: a whole number, 0 or"),
        ("pps_strata", {"random_seed": -1}, "random_seed is -1; allowed: a whole number, 0 or"),
        ("pps_strata", {"n_draws": 4}, "n_draws is for designs with replacement"),
        ("with_replacement", {"n_draws": 0}, f"n_draws is 0; {WHOLE}"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(collection, name, options, message):
    design = getattr(be.designs, name)(collection, **OPTIONS.get(name, {"budget": 4}))
    with pytest.raises(ValueError, match=message):
        be.draw(design, **{"random_seed": 1} | options)
