"""Posterior scores of an urn model: enumeration of a small urn, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import logit
from scipy.stats import binom

import bayeseval as be
from bayeseval.models.urn.tops import checked_tops, weighted_sums

N_DOCUMENTS, PREVALENCE, ODDS = 6, 0.4, 0.5


def one_run(judged=("a", "c")):
    """A run of six documents; judged are the first two unless said otherwise."""
    labels = ["a", "c", "b", "d", "e", "f"]
    run = pd.DataFrame({"run": "r", "topic": "1", "document": labels, "score": range(6, 0, -1)})
    qrels = pd.DataFrame({"topic": "1", "document": list(judged), "grade": [1, 0][: len(judged)]})
    return be.read_collection(qrels, run)


def handmade_fit(
    collection, *, depth, n_draws=4000, documents="all", gaps="refuse", frame="retrieved"
):
    """A fit whose draws are all at the same parameters, so that the rest is the urn's chance."""
    asked = {"depth": depth, "frame": frame, "documents": documents, "gaps": gaps}
    model = be.models.urn_model(collection, **asked)
    tops = checked_tops(collection, runs=None, relevance_level=1, **asked)
    constant = {v.name: (tuple(map(str, range(v.ndim))), v.get_value()) for v in model.data_vars}
    constant = {
        name: ([f"{name}_{dim}" for dim in dims], value) for name, (dims, value) in constant.items()
    }
    shape = (1, n_draws, tops.run.size), (1, n_draws, collection.sizes["topic"])
    posterior = xr.Dataset(
        {
            "log_odds": (("chain", "draw", "run"), np.full(shape[0], np.log(ODDS))),
            "logit_prevalence": (
                ("chain", "draw", "topic"),
                np.full(shape[1], np.log(PREVALENCE / (1 - PREVALENCE))),
            ),
        },
        coords={"run": tops.coords["run"], "topic": tops.coords["topic"]},
    )
    constant["run_checksum"] = ("run", constant["run_checksum"][1])
    constant["model_version"] = ("model_name", constant["model_version"][1])
    of_run = {"run": tops.coords["run"], "model_name": ["urn_model"]}
    groups = {"posterior": posterior, "constant_data": xr.Dataset(constant, coords=of_run)}
    fitted = xr.DataTree.from_dict(groups)
    fitted["constant_data/relevance_weight"] = 1.0
    return fitted


def sequence_probability(colours, n_relevant):
    left, other, probability = n_relevant, N_DOCUMENTS - n_relevant, 1.0
    for colour in colours:
        total = left + ODDS * other
        probability *= (left if colour else ODDS * other) / total
        left, other = (left - 1, other) if colour else (left, other - 1)
    return probability


def posterior_of_lists(known):
    """All lists of six colours that agree with what is known, and their probabilities."""
    lists = [c for c in product((0, 1), repeat=6) if all(c[i] == v for i, v in known.items())]
    prior = binom.pmf(np.arange(7), 6, PREVALENCE)
    chance = np.array(
        [sum(prior[m] * sequence_probability(c, m) for m in range(7) if sum(c) == m) for c in lists]
    )
    return np.array(lists), chance / chance.sum()


@pytest.mark.parametrize("measure", ["RBP(p=0.8)", "P@5", "NumRelRet"])
def test_scores_have_the_mean_and_spread_of_all_lists_that_agree_with_the_judged_top(measure):
    collection = one_run()
    post = be.posterior_scores(
        handmade_fit(collection, depth=2), collection, measure, random_seed=1
    )
    lists, chance = posterior_of_lists({0: 1, 1: 0})
    weight = {
        "RBP(p=0.8)": 0.2 * 0.8 ** np.arange(6),
        "P@5": np.array([0.2] * 5 + [0]),
        "NumRelRet": np.ones(6),
    }[measure]
    scores = lists @ weight
    mean = chance @ scores
    spread = np.sqrt(chance @ (scores - mean) ** 2)
    drawn = post["estimate"].to_numpy().ravel()
    assert abs(drawn.mean() - mean) < 4 * spread / np.sqrt(drawn.size)
    assert abs(drawn.std() / spread - 1) < 0.06


def test_ranks_left_out_by_lot_are_drawn_given_the_judged_ones_after_them():
    collection = one_run(judged=("a", "b"))  # ranks 1 and 3
    fitted = handmade_fit(collection, depth=3, gaps="ignorable")
    post = be.posterior_scores(fitted, collection, "RBP(p=0.8)", random_seed=1)
    lists, chance = posterior_of_lists({0: 1, 2: 0})
    scores = lists @ (0.2 * 0.8 ** np.arange(6))
    spread = np.sqrt(chance @ (scores - chance @ scores) ** 2)
    drawn = post["estimate"].to_numpy().ravel()
    assert abs(drawn.mean() - chance @ scores) < 4 * spread / np.sqrt(drawn.size)


def test_with_complete_judgments_every_draw_is_the_score_itself():
    collection = be.simulate.urn_collection(
        [0.1, 0.5], n_topics=3, n_documents=40, prevalence=0.3, depth=20, random_seed=1
    )
    for documents in ("all", "unshared"):
        fitted = handmade_fit(collection, depth=20, n_draws=3, documents=documents)
        post = be.posterior_scores(fitted, collection, "RBP(p=0.8)", over=None)
        exact = be.evaluate(collection, "RBP(p=0.8)", estimator="assumed")["estimate"]
        for draw in range(3):
            found = post["estimate"].isel(chain=0, draw=draw).transpose(*exact.dims)
            np.testing.assert_allclose(found, exact, atol=1e-12)


def pooled(depth=4):
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.5], n_topics=4, n_documents=60, prevalence=0.3, depth=30, random_seed=2
    )
    pool = be.designs.depth_pool(collection, depth)
    return be.reveal(collection, pool, be.draw(pool, random_seed=1))


def test_scores_lie_within_the_bounds_of_what_the_unjudged_documents_can_add():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=50, documents="unshared")
    post = be.posterior_scores(fitted, sampled, "RBP(p=0.8)", over=None, random_seed=1)
    bounds = be.residual.rbp_bounds(sampled, 0.8, tail="nonrelevant").interval
    drawn = post["estimate"].isel(measure=0)
    assert bool((drawn >= bounds.sel(ci_bound="lower") - 1e-12).all())
    assert bool((drawn <= bounds.sel(ci_bound="upper") + 1e-7).all())
    assert float(drawn.std("draw").max()) > 0.01


def test_what_urns_fill_and_what_is_judged_are_the_bounds():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=2, documents="unshared")
    post = be.posterior_scores(fitted, sampled, ["RBP(p=0.8)", "P@3", "P@30"], over=None)
    bounds = be.residual.rbp_bounds(sampled, 0.8, tail="nonrelevant").interval
    lower, upper = (bounds.sel(ci_bound=bound) for bound in ("lower", "upper"))
    judged, filled = (
        post[name].sel(measure="RBP(p=0.8)").transpose(*lower.dims)
        for name in ("judged_score", "filled_weight")
    )
    np.testing.assert_allclose(judged, lower, atol=1e-7)
    np.testing.assert_allclose(filled, upper - lower, atol=1e-7)
    assert float(post["filled_weight"].sel(measure="P@3").max()) == 0.0  # the pool's depth is 4
    mean = be.posterior_scores(fitted, sampled, "P@30")["filled_weight"]
    each = post["filled_weight"].sel(measure=["P@30"]).mean("topic")
    np.testing.assert_allclose(mean, each.transpose(*mean.dims))


def test_errors_of_an_urn_are_in_the_odds_of_what_it_fills():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=400, documents="unshared")
    post = be.posterior_scores(fitted, sampled, ["P@3", "P@30"], random_seed=1)
    wider, plain = with_errors(post, 0.5), be.summarize(post)
    for name in ("estimate", "interval"):  # nothing is left to fill
        np.testing.assert_allclose(*(one[name].sel(measure="P@3") for one in (wider, plain)))
    assert (wider.interval <= post["judged_score"] + post["filled_weight"] + 1e-12).all()
    # of a share that is known but for this error the interval is the error's
    judged, weight = post["judged_score"], post["filled_weight"]
    half = post.assign(estimate=xr.zeros_like(post.estimate) + judged + 0.5 * weight)
    known = with_errors(half, 0.5).sel(measure="P@30")
    odds = logit((known.interval - judged.sel(measure="P@30")) / weight.sel(measure="P@30"))
    np.testing.assert_allclose(abs(odds), 1.645 * 0.5, rtol=0.1)
    with pytest.raises(ValueError, match="draws the list of each run by itself"):
        be.rankings.compare_draws(wider)


def with_errors(post, near_ratio):
    return be.with_model_errors(post, constants={"contributed": {"near_ratio": near_ratio}})


def test_errors_of_an_urn_need_to_know_what_it_fills():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=2, documents="unshared")
    post = be.posterior_scores(fitted, sampled, "P@30")
    unknown = post[["estimate"]]
    with pytest.raises(ValueError, match="do not say what their urns fill"):
        be.with_model_errors(unknown)


def test_a_mean_over_topics_is_the_mean_of_the_topics_draws():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=20, documents="unshared")
    each = be.posterior_scores(fitted, sampled, "P@10", over=None, random_seed=5)
    mean = be.posterior_scores(fitted, sampled, "P@10", random_seed=5)
    expected = each["estimate"].mean("topic").transpose(*mean["estimate"].dims)
    np.testing.assert_allclose(mean["estimate"], expected, atol=1e-12)


def test_the_same_seed_gives_the_same_draws_and_another_one_does_not():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=20, documents="unshared")
    first, again, other = (
        be.posterior_scores(fitted, sampled, "P@10", random_seed=seed)["estimate"]
        for seed in (1, 1, 2)
    )
    assert bool((first == again).all()) and bool((first != other).any())


def test_a_measure_that_is_no_sum_over_ranks_is_refused():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=2)
    with pytest.raises(ValueError, match="AP has no posterior scores under urn_model"):
        be.posterior_scores(fitted, sampled, "AP")
    with pytest.raises(ValueError, match=r"P\(rel=2\)@10 counts grades from 2"):
        be.posterior_scores(fitted, sampled, "P(rel=2)@10")


def test_runs_drawn_each_by_itself_are_not_compared_or_combined():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=2, documents="unshared")
    post = be.posterior_scores(fitted, sampled, "P@10")
    mean = be.summarize(post).assign_attrs(population="sample")
    for joined in (
        lambda: be.rankings.compare_draws(post),
        lambda: be.rankings.rank_probabilities(post),
        lambda: be.rankings.rank_sets(post),
        lambda: be.combine(mean, post),
    ):
        with pytest.raises(ValueError, match="urn_model draws the list of each run by itself"):
            joined()


def test_what_an_urn_cannot_be_asked_for_is_refused():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=2)
    with pytest.raises(ValueError, match="holds the documents of its frame only"):
        be.posterior_scores(fitted, sampled, "P@10", outside="model")
    other = be.select(sampled, topics=sampled["topic"].values[:3].tolist())
    with pytest.raises(ValueError, match="the fit does not belong to this collection"):
        be.posterior_scores(fitted, other, "P@10")
    others_grades = sampled.copy()
    others_grades["judgments/grade"] = 1.0 - sampled["judgments/grade"]
    with pytest.raises(ValueError, match="other judgments of them"):
        be.posterior_scores(fitted, others_grades, "P@10")
    swapped = sampled.copy()
    rankings = sampled["rankings/ranking"]
    swapped["rankings/ranking"] = rankings.copy(data=rankings.to_numpy()[::-1])
    with pytest.raises(ValueError, match="has another ranking here"):
        be.posterior_scores(fitted, swapped, "P@10")


def test_one_urn_refuses_what_other_runs_had_judged_below_the_depth():
    sampled = pooled()
    fitted = handmade_fit(sampled, depth=4, n_draws=2, documents="all")
    with pytest.raises(ValueError, match="has judged and unjudged documents below rank 4"):
        be.posterior_scores(fitted, sampled, "P@10")


def test_draws_below_the_depth_are_as_relevant_as_independent_runs_make_them():
    odds = np.geomspace(0.1, 0.4, 8)
    collection = be.simulate.urn_collection(
        odds, n_topics=60, n_documents=150, prevalence=0.2, shared=0.0, random_seed=6
    )
    every = xr.DataArray(np.ones(collection.sizes["pair"], dtype=bool), dims="pair")
    pool = be.designs.depth_pool(collection, 10)
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1))
    fitted = handmade_fit(sampled, depth=10, n_draws=40, documents="unshared", frame=every)
    asked = {"documents": "unshared", "gaps": "refuse", "relevance_level": 1}
    tops = checked_tops(sampled, depth=10, frame=every, runs=None, **asked)
    number, known = tops.n_others
    truth = be.evaluate(collection, "P@60", estimator="assumed")["estimate"].isel(measure=0)
    n_relevant = np.bincount(collection["pair_topic"], collection["judgments/grade"] > 0)
    for run in (0, 3, 7):
        share = (n_relevant - known[:, run]) / (tops.count(tops.in_frame) - number[:, run])
        share = share.clip(1e-3, 1 - 1e-3)
        posterior = fitted["posterior"].to_dataset()
        logit = xr.DataArray(np.log(share / (1 - share)), dims="topic")
        posterior["log_odds"] = posterior["log_odds"] * 0 + np.log(odds[run])
        posterior["logit_prevalence"] = posterior["logit_prevalence"] * 0 + logit
        fitted["posterior"] = xr.DataTree(posterior)
        drawn = be.posterior_scores(fitted, sampled, "P@60", over=None, random_seed=1)
        error = drawn["estimate"].mean(["chain", "draw"]).isel(measure=0, run=run) - truth[run]
        assert abs(float(error.mean())) < 4 * float(error.std()) / np.sqrt(60) < 0.02


def test_weighted_sums_count_relevant_places_only():
    filled = np.array([[[1, 0, -2]], [[1, 1, -2]]], dtype=np.int8)
    assert weighted_sums(filled, np.array([[0.5, 0.25, 9.0]])).tolist() == [[0.5, 0.75]]
