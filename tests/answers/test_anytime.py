"""Intervals that hold at every look: the martingale behind them, the bound, and what goes by it."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import ndtri

import bayeseval as be
from bayeseval.uncertainty import anytime_ratio, at_one_look
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


@pytest.mark.parametrize("information", [1.0, 3.0, 40.0, np.inf])
def test_quantiles_of_one_look_and_of_every_look_are_each_others_inverse(information):
    quantile = np.array([0.7, 1.645, 3.0, 9.0])
    z = quantile * anytime_ratio(quantile, information)
    np.testing.assert_allclose(at_one_look(z, information), quantile)
    np.testing.assert_allclose(at_one_look(-z, information), -quantile)
    assert at_one_look(np.array([0.0, np.inf]), information).tolist() == [0.0, np.inf]


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


def test_more_judgments_are_as_many_as_the_length_asked_for_takes(watched):
    whole = be.simulate.demo_collection()
    runs = be.select(whole, runs=watched["run"].values.tolist())
    design = be.designs.order(runs, random_seed=1)

    def half(budget):
        sampled = be.reveal(runs, design, be.draw(design, budget=budget))
        asked = {"estimator": "dyn", "half_width": 0.03}  # which implies anytime
        scores = be.scores(sampled, "P@10", **asked).isel(measure=0, run=slice(1, 4))
        return scores, scores.interval.diff("ci_bound").isel(ci_bound=0) / 2

    now, lengths = half(40)
    assert now.attrs["anytime"] == 1
    assert ((now.more_judgments == 0) == (lengths <= 0.03)).all()
    for number, more in enumerate(now.more_judgments.astype(int).values.tolist()):
        assert half(40 + more)[1][number] < 0.03 * 1.15
        assert half(40 + more // 2)[1][number] > 0.03


def test_what_is_still_to_be_judged_is_unknown_without_an_interval(watched):
    lines, topics = be.trec.runs_frame(watched), watched["topic"].values.tolist()
    short = lines[(lines["run"] == "run002") & (lines["topic"] == topics[0])].assign(run="short")
    others = be.select(be.add_runs(watched, short), topics=topics[1:])
    asked = {"estimator": "dyn", "half_width": 0.03, "missing_topics": "skip"}
    more = be.scores(others, "P@10", **asked).more_judgments
    assert more.isnull().sum() == 1 and np.isnan(more.sel(run="short").item())


def test_the_pool_of_certain_documents_is_no_part_of_the_information(collection):
    certain = np.zeros(collection.sizes["pair"], dtype=bool)
    certain[[0, 9]] = True
    order = be.designs.order(collection, budget=5, certain=certain, random_seed=1)
    sampled = be.reveal(collection, order, be.draw(order, budget=3))
    scores = be.scores(sampled, "P@3", estimator="stat")
    assert scores.attrs["information"] == pytest.approx(1.0)


def test_further_judgments_are_of_one_sample(collection, order):
    selected = be.draw(order, n_replicates=2, random_seed=1)
    sampled = be.reveal(collection, order, selected)
    with pytest.raises(ValueError, match="further judgments are of one sample"):
        be.scores(sampled, "P@3", estimator="stat", half_width=0.1)


def bounds(pairs):
    return pairs.interval.sel(ci_bound="lower"), pairs.interval.sel(ci_bound="upper")


def test_differences_that_hold_at_every_look(watched):
    asked = {"estimator": "dyn", "reference": "run001", "equivalence": 0.01}
    once, always = (be.compare(watched, "P@10", anytime=one, **asked) for one in (False, True))
    ratio = always.interval.diff("ci_bound") / once.interval.diff("ci_bound")
    np.testing.assert_allclose(ratio, anytime_ratio(ndtri(0.95), always.attrs["information"]))
    for name in ("p_value", "p_holm", "p_tukey", "p_equivalence"):
        assert (always[name] >= once[name] * (1 - 1e-9)).all() and (always[name] <= 1.0).all(), name
    lower, upper = bounds(always)
    assert ((always.more_judgments == 0) == ((upper < -0.01) | (lower >= -0.01))).all()
    assert "more_judgments" not in be.compare(watched, "P@10", estimator="dyn", anytime=True)


@pytest.mark.parametrize("ci_prob", [0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
def test_p_values_at_every_look_agree_with_the_intervals(watched, ci_prob):
    asked = {"estimator": "dyn", "anytime": True, "ci_prob": ci_prob, "equivalence": 0.15}
    pairs = be.compare(watched, "P@10", **asked)
    lower, upper = bounds(pairs)
    excluded = (lower > 0) | (upper < 0)
    assert ((pairs.p_value < 1 - ci_prob) == excluded).all() and 0 < excluded.sum() < 15
    within = (lower > -0.15) & (upper < 0.15)
    assert (pairs.equivalent == within).all()


def test_sets_of_ranks_that_hold_at_every_look_are_wider(watched):
    once, always = (
        be.rank(watched, "P@10", estimator="dyn", top=1, anytime=one) for one in (False, True)
    )
    lower, upper = (once.interval - always.interval).transpose("ci_bound", ...)
    assert (lower >= 0).all() and (upper <= 0).all() and (lower > 0).any()
    assert (always.best | ~once.best).all()


REFUSED = [
    (be.scores, {"estimator": "combined"}, "anytime: scores .* are of one look"),
    (be.scores, {"estimator": "assumed"}, "anytime needs the judgments of a list"),
    (be.scores, {"half_width": 0}, "half_width must be a number above 0"),
    (be.scores, {"estimator": "dyn", "population": "topics"}, "anytime is for these topics"),
    (be.compare, {"estimator": "dyn", "population": "topics"}, "anytime is for these topics"),
    (be.rank, {"estimator": "assumed"}, "anytime needs the judgments of a list"),
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
