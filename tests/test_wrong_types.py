"""What newcomers hand over instead is refused in words."""

import numpy as np
import pytest
import xarray as xr

import bayeseval as be


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return be.simulate.urn_collection([0.1, 0.3], n_topics=2, prevalence=0.2, random_seed=1)


@pytest.fixture(scope="module")
def design(collection) -> xr.Dataset:
    return be.designs.pps_strata(collection, budget=10, n_strata=2)


@pytest.fixture(scope="module")
def sampled(collection, design) -> xr.DataTree:
    return be.reveal(collection, design, be.draw(design, random_seed=1))


def test_a_collection_is_no_design(collection, tmp_path):
    said = "read_design reads, not this DataTree"
    with pytest.raises(ValueError, match=said):
        be.draw(collection, random_seed=1)
    with pytest.raises(ValueError, match=said):
        be.save_design(collection, tmp_path / "design.nc")
    with pytest.raises(ValueError, match=said):
        be.attach_judgments(collection, collection, be.qrels_frame(collection))
    assert not list(tmp_path.iterdir())


def test_the_file_of_a_design_stands_for_it(collection, design, sampled, tmp_path):
    be.save_design(design, tmp_path / "design.nc")
    attached = be.attach_judgments(collection, tmp_path / "design.nc", be.qrels_frame(sampled))
    xr.testing.assert_identical(attached["judgments/grade"], sampled["judgments/grade"])


def test_a_file_or_scores_are_no_fit(sampled):
    with pytest.raises(ValueError, match="a fit is the DataTree that be.fit returns.* this str"):
        be.posterior_scores("fit.nc", sampled, "P@10")
    means = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="stat"))
    with pytest.raises(ValueError, match="that be.fit returns, not this Dataset"):
        be.verdict(means)


def test_lists_where_one_name_is_wanted(sampled):
    with pytest.raises(ValueError, match="no estimator"):
        be.evaluate(sampled, "P@10", estimator=["dyn"])
    with pytest.raises(ValueError, match="reference is the name of one run, not this list"):
        be.compare(sampled, "P@10", estimator="stat", reference=["run001"])


def test_draws_are_summed_up_before_they_are_compared(sampled):
    means = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="stat"))
    draws = xr.Dataset(
        {"estimate": (("chain", "draw", "measure", "run"), np.zeros((1, 3, 1, 2)))},
        coords={"measure": means["measure"], "run": means["run"]},
    )
    with pytest.raises(ValueError, match="summary must be what summarize returns"):
        be.compare_intervals(means, draws)
