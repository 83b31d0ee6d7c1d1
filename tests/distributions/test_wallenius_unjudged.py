"""Unjudged ranks of several topics: labels, seeds and what is refused."""

import numpy as np
import pytest
import xarray as xr

from bayeseval.distributions import wallenius_unjudged
from bayeseval.distributions.wallenius_unjudged_kernel import filled_topic

RELEVANCE = xr.DataArray(
    np.array(
        [[[1, -1, 0, -1], [-1, -1, 1, -2]], [[0, 0, -1, -2], [-1, -1, -1, -1]]], dtype=np.int8
    ),
    dims=("topic", "run", "rank"),
    coords={"topic": ["t1", "t2"], "run": ["a", "b"], "rank": [1, 2, 3, 4]},
)
LOG_ODDS = xr.DataArray(
    np.random.default_rng(1).normal(-1, 1, (2, 30, 2)),
    dims=("chain", "draw", "run"),
    coords={"chain": [0, 1], "draw": np.arange(30), "run": ["a", "b"]},
)
LOGIT = xr.DataArray(
    np.random.default_rng(2).normal(-1, 1, (2, 2, 30)),
    dims=("topic", "chain", "draw"),
    coords={"topic": ["t1", "t2"]},
)


def test_draws_keep_the_dims_of_the_parameters_and_the_judged_ranks():
    drawn = wallenius_unjudged(
        RELEVANCE, LOG_ODDS, n_documents=20, logit_prevalence=LOGIT, random_seed=1
    )
    assert drawn.relevance.dims == ("chain", "draw", "topic", "run", "rank")
    assert drawn.n_relevant.dims == ("chain", "draw", "topic")
    assert drawn.relevance.dtype == np.int8
    for name in ("chain", "draw", "topic", "run", "rank"):
        assert name in drawn.coords
    given = RELEVANCE != -1
    assert (drawn.relevance.where(given) == RELEVANCE.where(given)).where(given, True).all()
    assert drawn.relevance.where(~given, 0).isin([0, 1]).all()
    assert set(np.unique(drawn.relevance.where(~given))[:2]) == {0, 1}


def test_topics_are_drawn_as_the_kernel_does_with_their_own_seeds():
    numbers = xr.DataArray([20, 35], dims="topic", coords={"topic": ["t1", "t2"]})
    depth = xr.DataArray([[2, 4], [3, 0]], dims=("topic", "run"))
    drawn = wallenius_unjudged(
        RELEVANCE, LOG_ODDS, n_documents=numbers, logit_prevalence=LOGIT, depth=depth,
        likelihood_weight=0.5, random_seed=3,
    )  # fmt: skip
    seeds = np.random.SeedSequence(3).generate_state(2, np.uint64)
    for topic in range(2):
        filled, number = filled_topic(
            int(seeds[topic]), RELEVANCE.values[topic], depth.values[topic],
            LOG_ODDS.values.reshape(60, 2), LOGIT.values[topic].ravel(), int(numbers[topic]), 0.5,
        )  # fmt: skip
        ours = drawn.isel(topic=topic)
        np.testing.assert_array_equal(ours.relevance.values.reshape(60, 2, 4), filled)
        np.testing.assert_array_equal(ours.n_relevant.values.ravel(), number)


def test_plain_arrays_of_one_topic_are_draws_runs_and_ranks():
    options = {"n_documents": 20, "n_relevant": 5, "random_seed": 4}
    plain = wallenius_unjudged(RELEVANCE.values[0], LOG_ODDS.values[0], **options)
    labelled = wallenius_unjudged(
        RELEVANCE.isel(topic=0), LOG_ODDS.isel(chain=0).transpose("run", "draw"), **options
    )
    assert plain.relevance.dims == ("draw", "run", "rank")
    np.testing.assert_array_equal(plain.relevance, labelled.relevance)
    assert (plain.n_relevant == 5).all() and plain.n_relevant.dims == ("draw",)
    assert ((plain.relevance == 1).sum("rank") <= 5).all()


def test_one_number_per_run_gives_one_draw():
    drawn = wallenius_unjudged(
        RELEVANCE, [-1.0, 0.0], n_documents=20, n_relevant=[5, 9], random_seed=5
    )
    assert drawn.relevance.dims == ("topic", "run", "rank")
    assert drawn.n_relevant.values.tolist() == [5, 9]


def test_seeds_decide_and_topics_differ():
    alike = xr.concat([RELEVANCE[0], RELEVANCE[0].assign_coords(topic="t2")], "topic")
    same, again, other = (
        wallenius_unjudged(alike, LOG_ODDS, n_documents=20, n_relevant=8, random_seed=seed)
        for seed in (6, 6, 7)
    )
    xr.testing.assert_identical(same, again)
    assert (same.relevance != other.relevance).any()
    assert (same.relevance[:, :, 0] != same.relevance[:, :, 1]).any()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_relevant": None}, "Give n_relevant or logit_prevalence, one of them; neither given"),
        ({"logit_prevalence": 0.0}, "one of them; both given"),
        ({"likelihood_weight": 0.0}, "likelihood_weight must be one fixed number above 0"),
        ({"depth": 5}, "depth must be at most the 4 ranks; found 5"),
        ({"depth": -1}, "depth must be whole numbers, 0 or more; found -1"),
        ({"n_documents": 7.5}, "n_documents must be whole numbers"),
        ({"n_relevant": 21}, "n_relevant must be at most n_documents; found 21 for 20"),
        ({"n_relevant": 0}, "n_relevant of topic 't1' must lie between 1 and 19, .* found 0 to 0"),
        ({"n_documents": 2, "n_relevant": 1}, "n_documents is too small for topic 't1': 2 docum"),
        ({"log_odds": LOG_ODDS.where(LOG_ODDS < -1)}, "log_odds must be finite"),
        ({"relevance": RELEVANCE + 1}, "relevance must hold 1, 0, -1 .* found 2"),
        ({"relevance": RELEVANCE[..., ::-1]}, "only at the end of a run"),
        ({"relevance": RELEVANCE[0, 0]}, "relevance must have the dims"),
        ({"log_odds": LOG_ODDS.values[..., None]}, "an array of 4 dims is given"),
        ({"log_odds": LOG_ODDS[..., ::-1]}, "run"),
    ],
)
def test_what_no_urn_shows_is_refused(changed, message):
    arguments = {
        "relevance": RELEVANCE, "log_odds": LOG_ODDS, "n_documents": 20, "n_relevant": 5,
        "random_seed": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        wallenius_unjudged(**(arguments | changed))


def test_prevalences_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="logit_prevalence must be finite"):
        wallenius_unjudged(
            RELEVANCE, LOG_ODDS, n_documents=20, logit_prevalence=np.inf, random_seed=1
        )
