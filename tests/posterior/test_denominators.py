import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.measures.names import parse_measures
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.posterior.denominators import Denominators, chosen_draws
from tests.estimators.test_few_counts import known_items
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
    model = be.models.relevance_model(sampled)
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


def test_average_precision_changes_by_one_factor_a_topic_and_other_measures_do_not(posteriors):
    by_counts, by_model = posteriors["counts"], posteriors["model"]
    same = ["P@10", "Rprec", "NumRel"]
    xr.testing.assert_identical(by_counts.sel(measure=same), by_model.sel(measure=same))
    factor = (by_counts / by_model.where(by_counts < 1.0)).sel(measure="AP")
    of_topic = factor.mean(["run", "chain", "draw"])
    assert float(np.abs(factor - of_topic).max()) < 1e-9
    assert (of_topic > 1.05).all()  # the fit has far too many relevant documents


def test_recall_is_nearer_where_the_counts_say_how_many_there_are(collection, posteriors):
    truth = be.evaluate(collection, "R@20", estimator="assumed").estimate.isel(measure=0)
    errors = [
        float(np.abs(posteriors[how].sel(measure="R@20").mean(["chain", "draw"]) - truth).mean())
        for how in ("counts", "model")
    ]
    assert errors[0] < 0.95 * errors[1]


def test_a_run_that_has_every_document_finds_them_all(sampled):
    retrieved = [sampled["document"].values[sampled["pair_topic"].values == t] for t in range(3)]
    table = pd.concat(
        pd.DataFrame({"run": "all", "topic": topic, "document": documents}).assign(
            score=-np.arange(documents.size)
        )
        for topic, documents in zip(sampled["topic"].values, retrieved, strict=True)
    )
    both = be.add_runs(sampled, table)
    found = be.posterior_scores(
        fit_that_finds_too_much(sampled), both, "R@1000", departures="none", random_seed=1
    )
    np.testing.assert_allclose(found.estimate.sel(run="all"), 1.0, atol=1e-12)


def test_documents_count_by_what_their_stratum_lacks(sampled):
    frame = RelevanceDraws(fit_that_finds_too_much(sampled), sampled, 1).frame
    denominators, measure = Denominators(frame, "counts"), parse_measures("R@20")[0]
    inside = frame.sample.of_topic(0)
    judged = ~np.isnan(frame.grade[0, inside])
    value = np.zeros((judged.size, 2), dtype=np.int8)
    value[judged] = np.nan_to_num(frame.grade[0, inside][judged])[:, None] >= 1
    value[~judged, 0] = 1  # no precision, so that the counts alone are believed
    weight = denominators.weight(0, measure, value)
    assert weight is not None and (weight[judged] == 1.0).all()
    stratum = frame.sample.stratum[inside]
    for number in np.unique(stratum):
        assert np.unique(weight[~judged & (stratum == number)]).size <= 1
    left = (weight[~judged, None] * value[~judged]).mean(axis=1)
    counts = denominators._relevance.topic(0, np.full((1, 1), -1, dtype=np.int32)).counts(measure)
    assert value[judged, 0].sum() + left.sum() == pytest.approx(counts.draw.mean(), rel=0.05)


def test_a_model_that_finds_too_much_divides_by_less(collection, posteriors):
    truth = be.evaluate(collection, "NumRel", estimator="assumed").estimate.isel(run=0, measure=0)
    number = posteriors["model"].sel(measure="NumRel").isel(run=0).mean(["chain", "draw"])
    assert (number > 1.5 * truth).all()
    factor = (posteriors["counts"] / posteriors["model"].where(posteriors["counts"] < 1.0)).sel(
        measure="AP"
    )
    divided_by = number / factor.mean(["run", "chain", "draw"])
    assert (divided_by > truth).all()
    assert (np.abs(divided_by - truth) < 0.85 * np.abs(number - truth)).all()


def test_numbers_are_weighed_by_their_precision(sampled):
    fitted = fit_that_finds_too_much(sampled)
    frame = RelevanceDraws(fitted, sampled, 1).frame
    denominators = Denominators(frame, "counts")
    measure = parse_measures("AP")[0]
    inside = frame.sample.of_topic(0)
    judged = ~np.isnan(frame.grade[0, inside])
    value = np.zeros((judged.size, 2), dtype=np.int8)
    value[~judged, 0] = 1  # one draw has them all, the other none: an enormous variance
    counted = value.sum(axis=0).mean() / denominators.factor(0, measure, value)
    value[:, 1] = value[:, 0]  # no variance at all
    assert denominators.factor(0, measure, value) == 1.0
    assert 5.0 < counted < 25.0  # 10 in truth, of 260 that were not judged
    assert denominators.used == "counts"


def both_ways(sampled, **options) -> list[xr.Dataset]:
    fitted = fit_that_finds_too_much(sampled)
    return [
        be.posterior_scores(fitted, sampled, "AP", denominator=how, random_seed=1, **options)
        for how in ("counts", "model")
    ]


def test_without_a_design_the_number_is_the_models(collection):
    grade = collection["judgments/grade"].to_numpy().copy()
    grade[::3] = np.nan
    judgments = collection["judgments"].to_dataset(inherit=False).assign(grade=("pair", grade))
    pooled = collection.assign()
    pooled["judgments"] = xr.DataTree(judgments)
    by_counts, by_model = both_ways(pooled, outside="model")
    xr.testing.assert_identical(by_counts, by_model)
    assert by_counts.attrs["denominator"] == "model"


def test_of_one_topic_alone_the_number_is_the_models(collection):
    alone = be.select(collection, topics=["2"])
    design = be.designs.pps_strata(alone, budget=40, n_strata=8)
    by_counts, by_model = both_ways(be.reveal(alone, design, be.draw(design, random_seed=3)))
    xr.testing.assert_identical(by_counts, by_model)
    assert by_counts.attrs["denominator"] == "model"


def test_documents_outside_the_frame_belong_to_the_number_of_the_model(sampled):
    by_counts, by_model = both_ways(sampled, outside="model")
    xr.testing.assert_identical(by_counts, by_model)


def test_measures_without_a_number_need_no_counts(sampled, monkeypatch):
    def refused(*_):
        raise AssertionError("the counts were asked for")

    monkeypatch.setattr("bayeseval.posterior.denominators.difference", refused)
    fitted = fit_that_finds_too_much(sampled)
    assert be.posterior_scores(fitted, sampled, ["P@10", "Rprec"]).attrs["denominator"] == "model"


def test_a_poisson_sample_has_counts_too(collection):
    design = be.designs.poisson(collection, budget=40)
    by_counts, by_model = both_ways(be.reveal(collection, design, be.draw(design, random_seed=3)))
    assert by_counts.attrs["denominator"] == "counts"
    assert (
        by_counts.estimate.mean(["chain", "draw"]) > by_model.estimate.mean(["chain", "draw"])
    ).all()


def test_topics_in_which_a_poisson_sample_is_empty_count_as_in_the_design(collection):
    design = be.designs.poisson(collection, budget=2)
    empty = be.reveal(collection, design, be.draw(design, random_seed=0))
    topic = collection["pair_topic"].values[empty["judgments/grade"].notnull().values]
    assert 0 < np.unique(topic).size < 3
    post = be.posterior_scores(fit_that_finds_too_much(empty), empty, "P@10", random_seed=1)
    means = be.mean_over_topics(be.evaluate(empty, "P@10", estimator="dyn"))
    assert (means.n_topics == 3).all()
    by_topic = be.posterior_scores(
        fit_that_finds_too_much(empty), empty, "P@10", over=None, random_seed=1
    )
    xr.testing.assert_allclose(by_topic.estimate.mean("topic", skipna=False), post.estimate)


def test_complete_judgments_give_the_exact_ratio(collection):
    design = be.designs.pps_strata(collection, budget=300, n_strata=1)
    complete = be.reveal(collection, design, be.draw(design, random_seed=1))
    fitted = fit_that_finds_too_much(complete)
    post = be.posterior_scores(fitted, complete, ["AP", "R@20"], random_seed=1).estimate
    exact = be.evaluate(collection, ["AP", "R@20"], estimator="assumed").estimate.mean("topic")
    np.testing.assert_allclose(post - exact, 0.0, atol=1e-12)


def test_an_unknown_denominator_is_refused(sampled):
    fitted = fit_that_finds_too_much(sampled)
    with pytest.raises(ValueError, match="denominator must be one of counts, model, not 'topic'"):
        be.posterior_scores(fitted, sampled, "AP", denominator="topic")


def test_numbers_that_are_few_are_as_the_counts_have_them():
    """Every topic has one relevant document; the model draws documents one by one."""
    complete = known_items(3)
    design = be.designs.pps_strata(complete, budget=20)
    sampled = be.reveal(complete, design, be.draw(design, random_seed=3))
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=50, random_seed=1
    )
    how = {"measures": ["R@10", "R@40", "P@10"], "over": None, "random_seed": 1}
    by_counts = be.posterior_scores(fitted, sampled, **how).estimate
    by_model = be.posterior_scores(fitted, sampled, denominator="model", **how).estimate
    # of two documents the runs find one, of none nothing
    recall = [x.sel(measure=["R@10", "R@40"]) for x in (by_counts, by_model)]
    half, other = (float(((x > 0.0) & (x < 1.0)).mean()) for x in recall)
    assert half < 0.03 < 0.06 < other
    deep = {"measure": "R@40"}
    assert float(by_counts.sel(deep).mean()) > float(by_model.sel(deep).mean()) + 0.05
    np.testing.assert_array_equal(by_counts.sel(measure="P@10"), by_model.sel(measure="P@10"))


def test_topics_have_nothing_relevant_as_often_as_the_counts_say():
    """Twelve of 32 topics have none, which the model's curves over ranks can hardly say."""
    number = np.concatenate([np.zeros(12, int), np.random.default_rng(5).integers(2, 16, 20)])
    complete = be.simulate.urn_collection(
        [0.03, 0.05, 0.1, 0.2], n_relevant=number, n_documents=400, depth=400, random_seed=5
    )
    design = be.designs.pps_strata(complete, budget=25, n_strata=8)
    sampled = be.reveal(complete, design, be.draw(design, random_seed=5))
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=50, random_seed=1
    )
    how = {"measures": ["AP", "R@400", "P@10"], "over": None, "random_seed": 1}
    by_counts = be.posterior_scores(fitted, sampled, **how).estimate
    by_model = be.posterior_scores(fitted, sampled, denominator="model", **how).estimate
    ratios = {"measure": ["AP", "R@400"]}
    nothing, other = (
        (scores.sel(ratios) == 0.0).all("run").mean(["chain", "draw"])
        for scores in (by_counts, by_model)
    )
    n_draws = by_counts.sizes["chain"] * by_counts.sizes["draw"]
    draws = RelevanceDraws(fitted, sampled, 1)
    denominators = Denominators(draws.frame, "counts")
    measure = parse_measures("AP")[0]
    for topic in range(12):
        known = denominators._counts(topic, measure)
        assert known is not None
        np.testing.assert_allclose(nothing[:, topic], 1.0 - known.some[0], atol=1.0 / n_draws)
    assert float(nothing[:, :12].min()) > 0.85 > 0.75 > float(other[:, :12].max())
    seen = sampled["judgments/grade"].groupby(sampled["pair_topic"]).max() > 0
    assert float(nothing.values[:, seen.values].max()) == 0.0
    precision = {"measure": "P@10"}
    xr.testing.assert_identical(by_counts.sel(precision), by_model.sel(precision))


def test_draws_stay_in_place_as_far_as_numbers_let_them():
    random = np.random.default_rng(2)
    number = random.poisson(0.8, 2000)
    chosen = chosen_draws(number, np.array([1.0] * 9 + [2.0]), random)
    assert np.bincount(number[chosen]).tolist() == [0, 1800, 200]
    same = chosen == np.arange(2000)
    assert same[number == 1].all()
    assert same[number == 2].mean() == pytest.approx(200 / (number == 2).sum())
    # five documents were never drawn: the nearest number that was
    assert set(number[chosen_draws(number, np.array([90.0]), random)]) == {number.max()}
