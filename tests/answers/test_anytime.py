"""Intervals that hold at every look: the martingale behind them, the bound, and what goes by it."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import ndtr, ndtri

import bayeseval as be
from bayeseval.uncertainty import anytime_p, anytime_ratio
from tests.small import every_order

LINEAR = ["P@3", "RBP(p=0.8)", "NumRel"]


@pytest.fixture(scope="module")
def collection() -> xr.DataTree:
    """Two topics with 8 judged documents, two runs."""
    orders = {"a": "abcdefgh", "b": "hgfedcba"}
    rows = [
        (run, t, d, -i) for t in "12" for run, order in orders.items() for i, d in enumerate(order)
    ]
    grades = [("1", d, int(d in "abe")) for d in "abcdefgh"] + [
        ("2", d, int(d in "dgh")) for d in "abcdefgh"
    ]
    return be.read_collection(
        pd.DataFrame(grades, columns=["topic", "document", "grade"]),
        pd.DataFrame(rows, columns=["run", "topic", "document", "score"]),
    )


@pytest.fixture(scope="module")
def order(collection) -> xr.Dataset:
    """Two strata of four documents in each topic."""
    order = be.designs.order(collection, measures="P@8", budget=4, random_seed=1)
    assert order["stratum_size"].values.tolist() == [4, 4, 4, 4]
    return order


@pytest.fixture(scope="module")
def watched() -> xr.DataTree:
    """Six runs of the shipped collection, 40 judgments of each topic."""
    whole = be.simulate.demo_collection()
    runs = be.select(whole, runs=whole["run"].values[:6].tolist())
    design = be.designs.order(runs, random_seed=1)
    return be.reveal(runs, design, be.draw(design, budget=40))


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
@pytest.mark.parametrize(("early", "late"), [(2, 4), (4, 6), (4, 5), (5, 7), (6, 8)])
def test_estimates_of_a_growing_list_are_a_martingale_read_backwards(
    collection, order, estimator, early, late
):
    """The mean of what came before, given what is judged by now, is the estimate of now."""
    how = {"estimator": estimator}
    how |= {"predictor": ("constant", 0.3)} if estimator == "dyn" else {}
    before, now = (every_order(collection, order, budget) for budget in (early, late))
    estimates = [
        be.evaluate(one, LINEAR, **how)
        .estimate.mean("topic")
        .transpose("replicate", ...)
        .to_numpy()
        for one in (before, now)
    ]
    judged = [
        one["judgments/grade"].notnull().transpose("replicate", "pair").to_numpy()
        for one in (before, now)
    ]
    contained = (judged[0].astype(int) @ (~judged[1]).astype(int).T) == 0
    assert (contained.sum(axis=0) > 1).all()
    share = contained / contained.sum(axis=0)
    mean = np.einsum("em,erx->mrx", share, estimates[0])
    assert np.abs(mean - estimates[1]).max() < 1e-12
    assert np.ptp(estimates[0], axis=0).max() > 0.01


def test_the_bound_is_missed_at_any_look_in_no_more_than_the_share_asked_for():
    """Brownian motion, looked at 200 times from the information 1 to 50."""
    information = np.geomspace(1.0, 50.0, 200)
    random = np.random.default_rng(1)
    steps = np.sqrt(np.diff(information, prepend=0.0))
    z = np.abs(np.cumsum(random.standard_normal((20_000, 200)) * steps, axis=1)) / np.sqrt(
        information
    )
    for ci_prob in (0.8, 0.9, 0.95):
        quantile = ndtri(0.5 * (1.0 + ci_prob))
        bound = [quantile * anytime_ratio(quantile, one) for one in information]
        missed, of_one_look = (z > bound).any(axis=1).mean(), (z > quantile).any(axis=1).mean()
        assert 0.3 * (1.0 - ci_prob) < missed < 1.0 - ci_prob < 0.4 * of_one_look


@pytest.mark.parametrize("information", [1.0, 3.0, 40.0])
def test_p_values_and_bounds_that_hold_at_every_look_agree(information):
    quantile = np.array([0.7, 1.645, 3.0])
    z = quantile * anytime_ratio(quantile, information)
    np.testing.assert_allclose(anytime_p(2.0 * ndtr(-z), information), 2.0 * ndtr(-quantile))
    assert anytime_p(np.array(1.0), information) == 1.0


def test_the_interval_is_longer_by_the_bound_and_the_information_is_of_the_list(watched):
    once, always = (
        be.scores(watched, ["P@10", "AP"], estimator="dyn", anytime=one) for one in (False, True)
    )
    design = watched["design"]
    size, number = (design[f"stratum_{name}"].to_numpy() for name in ("size", "sample_size"))
    information = (1 - 1 / size).sum() / (1 / number - 1 / size).sum()
    assert always.attrs["information"] == pytest.approx(information)
    ratio = always.interval.diff("ci_bound") / once.interval.diff("ci_bound")
    np.testing.assert_allclose(ratio, anytime_ratio(ndtri(0.95), information), rtol=1e-9)
    xr.testing.assert_identical(always.standard_error, once.standard_error)
    assert always.attrs["anytime"] == 1 and "anytime" not in once.attrs


def test_where_all_is_judged_an_interval_has_no_length(collection, order):
    sampled = be.reveal(collection, order, be.draw(order, budget=8))
    always = be.scores(sampled, LINEAR, estimator="stat", anytime=True, half_width=0.01)
    assert np.isinf(always.attrs["information"]) and not always.more_judgments.any()
    assert float(abs(always.interval - always.estimate).max()) < 1e-12


@pytest.mark.parametrize("budget", [40, 200])
def test_for_a_population_the_bound_does_not_grow_with_what_is_known_of_these_topics(budget):
    whole = be.simulate.demo_collection()
    runs = be.select(whole, runs=whole["run"].values[1:4].tolist())
    design = be.designs.order(runs, random_seed=1)
    sampled = be.reveal(runs, design, be.draw(design, budget=budget))
    asked = {"estimator": "dyn", "population": "topics"}
    once, always = (be.scores(sampled, "P@10", anytime=one, **asked) for one in (False, True))
    ratio = always.interval.diff("ci_bound") / once.interval.diff("ci_bound")
    information = always.attrs["information"]
    assert (information < 4) == (budget == 40)
    np.testing.assert_allclose(ratio, anytime_ratio(ndtri(0.95), min(information, 4.0)))


@pytest.mark.parametrize("topics", [0.0, 0.2, 1.0])
def test_a_population_is_missed_at_any_look_in_no_more_than_the_share_asked_for(topics):
    """An error of the topics that stays, and one of the design that falls from 1."""
    information = np.geomspace(1.0, 50.0, 200)
    random = np.random.default_rng(2)
    steps = np.sqrt(np.diff(information, prepend=0.0))
    walk = np.cumsum(random.standard_normal((20_000, 200)) * steps, axis=1) / information
    error = np.abs(walk + topics * random.standard_normal((20_000, 1)))
    ratio = [anytime_ratio(ndtri(0.95), min(one, 4.0)) for one in information]
    bound = ndtri(0.95) * np.array(ratio) * np.sqrt(topics**2 + 1.0 / information)
    assert 0.01 < (error > bound).any(axis=1).mean() < 0.1


def test_more_judgments_are_as_many_as_the_length_asked_for_takes(watched):
    whole = be.simulate.demo_collection()
    runs = be.select(whole, runs=watched["run"].values.tolist())
    asked = {"estimator": "dyn", "anytime": True, "half_width": 0.03}
    now = be.scores(watched, "P@10", **asked).isel(measure=0)
    half = now.interval.diff("ci_bound").isel(ci_bound=0) / 2
    assert ((now.more_judgments == 0) == (half <= 0.03)).all()
    run = now["run"].values[now.more_judgments.where(now.contributed, 0).to_numpy().argmax()]
    more = int(now.more_judgments.sel(run=run))
    assert more > 5
    design = be.designs.order(runs, random_seed=1)
    then = be.reveal(runs, design, be.draw(design, budget=40 + more))
    then = be.scores(then, "P@10", **asked).sel(measure="P@10", run=run)
    assert 0.015 < float(then.interval.diff("ci_bound").item() / 2) < 0.045


def test_differences_that_hold_at_every_look(watched):
    asked = {"estimator": "dyn", "reference": "run001", "equivalence": 0.01}
    once, always = (be.compare(watched, "P@10", anytime=one, **asked) for one in (False, True))
    ratio = always.interval.diff("ci_bound") / once.interval.diff("ci_bound")
    np.testing.assert_allclose(ratio, anytime_ratio(ndtri(0.95), always.attrs["information"]))
    for name in ("p_value", "p_tukey"):
        assert (always[name] >= once[name]).all() and (always[name] <= 1.0).all(), name
    excluded = (always.interval.sel(ci_bound="lower") > 0) | (
        always.interval.sel(ci_bound="upper") < 0
    )
    assert ((always.p_value < 0.1) == excluded).all()
    known = (always.interval.sel(ci_bound="upper") < -0.01) | (
        always.interval.sel(ci_bound="lower") >= -0.01
    )
    assert ((always.more_judgments == 0) == known).all()


def test_sets_of_ranks_that_hold_at_every_look_are_wider(watched):
    once, always = (
        be.rank(watched, "P@10", estimator="dyn", top=1, anytime=one) for one in (False, True)
    )
    lower, upper = (once.interval - always.interval).transpose("ci_bound", ...)
    assert (lower >= 0).all() and (upper <= 0).all() and (lower > 0).any()
    assert (always.best | ~once.best).all()


REFUSED = [
    (be.scores, {"estimator": "combined"}, "anytime: scores .* for these topics and one look"),
    (be.scores, {"estimator": "assumed"}, "anytime needs the judgments of a list"),
    (be.scores, {"half_width": 0}, "half_width must be above 0"),
    (be.scores, {"half_width": 0.1, "anytime": False}, "half_width needs anytime=True"),
    (be.compare, {"estimator": "dyn", "population": "topics"}, "are for these topics"),
    (be.rank, {"estimator": "assumed"}, "are for these topics"),
]


@pytest.mark.parametrize(("function", "asked", "message"), REFUSED)
def test_what_does_not_hold_at_every_look_is_refused(watched, function, asked, message):
    with pytest.raises(ValueError, match=message):
        function(watched, "P@10", **{"anytime": True} | asked)


def test_a_sample_that_cannot_grow_is_refused(collection):
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    for ask in (be.scores, be.compare, be.rank):
        with pytest.raises(ValueError, match="anytime needs"):
            ask(sampled, "P@3", anytime=True)
