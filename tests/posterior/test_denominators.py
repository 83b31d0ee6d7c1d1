import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from tests.posterior.handmade import handmade_fit

MEASURES = ["P@10", "AP", "R@20", "Rprec", "NumRel"]


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    return be.simulate.urn_collection(
        [0.03, 0.1, 0.3], n_relevant=[10, 20, 40], n_documents=300, depth=100, random_seed=2
    )


@pytest.fixture(scope="module")
def sampled(collection) -> xr.DataTree:
    design = be.designs.pps_strata(collection, budget=40, n_strata=8)
    return be.reveal(collection, design, be.draw(design, random_seed=3))


def fit_that_finds_too_much(sampled: xr.DataTree) -> xr.DataTree:
    """Fit that takes a third of the unjudged documents for relevant, wherever they stand."""
    model = be.models.relevance_model(sampled, n_topic_components=1, agreement=False)
    given = {"topic_effect": [-0.7, -0.5], "curvature": 0.0, "tail_effect": 0.0}
    return handmade_fit(model, **given)


@pytest.fixture(scope="module")
def posteriors(sampled) -> dict[str, xr.DataArray]:
    fitted = fit_that_finds_too_much(sampled)
    return {
        how: be.posterior_scores(
            fitted, sampled, MEASURES, over=None, denominator=how, random_seed=1
        ).estimate
        for how in ("counts", "model")
    }


def test_ratios_change_by_one_factor_a_topic_and_nothing_else_changes(posteriors):
    by_counts, by_model = posteriors["counts"], posteriors["model"]
    same = ["P@10", "Rprec", "NumRel"]
    xr.testing.assert_identical(by_counts.sel(measure=same), by_model.sel(measure=same))
    factor = by_counts / by_model.where(by_counts < 1.0)
    ratios = factor.sel(measure=["AP", "R@20"])
    of_topic = ratios.mean(["measure", "run", "chain", "draw"])
    assert float(np.abs(ratios - of_topic).max()) < 1e-9
    assert (of_topic > 1.2).all()  # the fit has far too many relevant documents


def test_a_model_that_finds_too_much_divides_by_what_the_sample_says(collection, posteriors):
    truth = be.evaluate(collection, "NumRel", estimator="assumed").estimate.isel(run=0, measure=0)
    number = posteriors["model"].sel(measure="NumRel").isel(run=0).mean(["chain", "draw"])
    assert (number > 1.5 * truth).all()
    factor = posteriors["counts"] / posteriors["model"].where(posteriors["counts"] < 1.0)
    divided_by = number / factor.sel(measure="AP").mean(["run", "chain", "draw"])
    assert (np.abs(divided_by - truth) < 0.25 * np.abs(number - truth)).all()


@pytest.mark.parametrize("outside", ["nonrelevant", "model"])
def test_without_a_design_ratios_are_as_the_model_has_them(collection, outside):
    grade = collection["judgments/grade"].to_numpy().copy()
    grade[::3] = np.nan
    judgments = collection["judgments"].to_dataset(inherit=False).assign(grade=("pair", grade))
    pooled = collection.assign()
    pooled["judgments"] = xr.DataTree(judgments)
    fitted = fit_that_finds_too_much(pooled)
    by_counts, by_model = (
        be.posterior_scores(
            fitted, pooled, "AP", outside=outside, denominator=how, random_seed=1
        ).estimate
        for how in ("counts", "model")
    )
    xr.testing.assert_identical(by_counts, by_model)


def test_documents_outside_the_frame_belong_to_the_number_of_the_model(sampled):
    fitted = fit_that_finds_too_much(sampled)
    by_counts, by_model = (
        be.posterior_scores(
            fitted, sampled, "AP", outside="model", denominator=how, random_seed=1
        ).estimate
        for how in ("counts", "model")
    )
    xr.testing.assert_identical(by_counts, by_model)


def test_complete_judgments_give_the_exact_ratio(collection):
    design = be.designs.pps_strata(collection, budget=300, n_strata=1)
    complete = be.reveal(collection, design, be.draw(design, random_seed=1))
    fitted = fit_that_finds_too_much(complete)
    post = be.posterior_scores(fitted, complete, "AP", random_seed=1).estimate
    exact = be.evaluate(collection, "AP", estimator="assumed").estimate.mean("topic")
    np.testing.assert_allclose(post - exact, 0.0, atol=1e-12)


def test_an_unknown_denominator_is_refused(sampled):
    fitted = fit_that_finds_too_much(sampled)
    with pytest.raises(ValueError, match="denominator must be one of counts, model, not 'topic'"):
        be.posterior_scores(fitted, sampled, "AP", denominator="topic")
