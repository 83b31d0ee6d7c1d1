"""Confidence sets of ranks: brute force on small cases, coverage at ties, where bootstraps fail."""

import itertools

import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.rankings.evidence import Evidence, normal_draws, shrunk_covariance
from bayeseval.rankings.rank_sets import separated, tie_groups


def means(estimate, **variables):
    runs = [f"r{i}" for i in range(len(estimate))]
    return xr.Dataset(
        {"estimate": (("measure", "run"), [estimate])} | variables,
        coords={"measure": ["P@10"], "run": runs},
    )


def matrix(covariance):
    runs = [f"r{i}" for i in range(len(covariance))]
    return xr.DataArray(
        [covariance],
        dims=("measure", "run", "run_other"),
        coords={"measure": ["P@10"], "run": runs, "run_other": runs},
    )


def shared_errors(n_runs, seed, size=0.02):
    random = np.random.default_rng(seed)
    root = size * random.normal(size=(n_runs, n_runs + 3)) / np.sqrt(n_runs + 3)
    return root @ root.T


def brute_step_down(estimate, covariance, errors, ci_prob, families):
    """Rejected (r, s), "r is better than s", one hypothesis and one draw at a time."""
    rejected = set()
    for family in families:
        left = list(family)
        while left:
            largest = []
            for draw in errors:
                ratios = []
                for r, s in left:
                    error = np.sqrt(covariance[r, r] + covariance[s, s] - 2 * covariance[r, s])
                    ratios.append((draw[r] - draw[s]) / error)
                largest.append(max(ratios))
            limit = np.quantile(largest, ci_prob)
            more = [
                (r, s)
                for r, s in left
                if (estimate[r] - estimate[s])
                / np.sqrt(covariance[r, r] + covariance[s, s] - 2 * covariance[r, s])
                > limit
            ]
            if not more:
                break
            rejected |= {(family[0][0], pair) for pair in more}
            left = [pair for pair in left if pair not in more]
    return rejected


@pytest.mark.parametrize("simultaneous", [True, False])
def test_pairs_found_apart_are_those_of_brute_force(simultaneous):
    n_runs, n_draws = 5, 200
    covariance = shared_errors(n_runs, 1)
    estimate = np.array([0.50, 0.44, 0.43, 0.40, 0.33])
    evidence = Evidence(estimate, covariance, np.inf, None, combined=False)
    found = separated(
        evidence, ci_prob=0.9, simultaneous=simultaneous, n_draws=n_draws,
        random=np.random.default_rng(4),
    )  # fmt: skip
    errors = normal_draws(covariance, n_draws, np.random.default_rng(4))
    every = list(itertools.permutations(range(n_runs), 2))
    families = [every]
    if not simultaneous:
        families = [
            sorted((p for p in every if run in p), key=lambda p, run=run: (p[0] != run, p))
            for run in range(n_runs)
        ]
    expected = brute_step_down(estimate, covariance, errors, 0.9, families)
    if simultaneous:
        ours = set(zip(*np.nonzero(found[0]), strict=True))
        assert ours == {pair for _, pair in expected}
        np.testing.assert_array_equal(found[1], found[0].T)
    else:
        ours = {(r, (r, s)) for r, s in zip(*np.nonzero(found[0]), strict=True)}
        ours |= {(r, (s, r)) for r, s in zip(*np.nonzero(found[1]), strict=True)}
        assert ours == expected
    assert 0 < found[0].sum() < 10


def test_step_down_finds_more_than_a_single_step():
    """One pair in doubt beside many clear ones: the clear ones leave the family."""
    estimate = np.concatenate([np.arange(10.0), [20.0, 20.25]])
    covariance = 0.01 * np.eye(12)
    sets = be.rankings.rank_sets(means(estimate), covariance=matrix(covariance), simultaneous=True)
    single = be.rankings.rank_sets(
        means(estimate[[10, 11]]), covariance=matrix(covariance[:2, :2]), simultaneous=True
    )
    assert single.interval.values.ravel().tolist() == [2, 2, 1, 1]
    assert sets.interval.sel(run="r11").values.ravel().tolist() in ([1, 2], [1, 1])
    assert sets.tie_group.values.max() >= 11


TIED = {
    "all tie": np.zeros(8),
    "near ties": np.array([0, 0.01, 0.02, 0.03, 1, 1.01, 1.02, 3]),
    "two blocks": np.array([0, 0, 0, 0, 2.5, 2.5, 2.5, 2.5]),
}


def true_ranks(truth):
    """Ranks (..., run) by scores (..., run)."""
    return 1 + (truth[..., None, :] > truth[..., :, None]).sum(axis=-1)


@pytest.mark.parametrize("name", TIED)
def test_sets_cover_at_ties_and_near_ties_where_ranks_of_a_bootstrap_do_not(name):
    """200 samples: the Monte Carlo error of a coverage of .9 is .021."""
    truth, n_samples = TIED[name], 200
    random = np.random.default_rng(1)
    covariance = shared_errors(8, 2, size=2.0)
    rank = true_ranks(truth)
    together, by_run, plain, best = [], [], [], []
    for sample in range(n_samples):
        estimate = truth + normal_draws(covariance, 1, random)[0]
        given = {"covariance": matrix(covariance), "n_draws": 300, "random_seed": sample}
        sets = be.rankings.rank_sets(means(estimate), simultaneous=True, top=2, **given)
        lower, upper = sets.interval.isel(measure=0).values.T
        together.append(((lower <= rank) & (rank <= upper)).all())
        best.append(sets.best.values[0][rank <= 2].all())
        lower, upper = be.rankings.rank_sets(means(estimate), **given).interval.values[0].T
        by_run.append((lower <= rank) & (rank <= upper))
        drawn = estimate + normal_draws(covariance, 400, random)
        bounds = np.quantile(true_ranks(drawn), [0.05, 0.95], axis=0, method="nearest")
        plain.append((bounds[0] <= rank) & (rank <= bounds[1]))
    allowed = 0.9 - 2.3 * 0.021
    assert np.mean(together) > allowed
    assert np.mean(best) > allowed
    assert np.mean(by_run, axis=0).min() > allowed
    if name != "near ties":
        assert np.mean(plain, axis=0).min() < 0.8  # what a plain bootstrap of ranks gives


def test_the_spread_over_topics_serves_where_no_covariance_is_given():
    random = np.random.default_rng(1)
    values = np.array([0.2, 0.21, 0.7])[:, None] + 0.1 * random.normal(size=(3, 40))
    scores = xr.Dataset(
        {"estimate": (("measure", "run", "topic"), values[None])},
        coords={"measure": ["AP"], "run": ["a", "b", "c"]},
    )
    sets = be.rankings.rank_sets(scores, simultaneous=True)
    assert sets.interval.sel(run="c").values.tolist() == [[1, 1]]
    assert sets.interval.sel(run="a").values.tolist() == [[2, 3]]
    assert sets.tie_group.values.tolist() == [[2, 2, 1]]
    assert sets.interval.dtype.kind == "i"


@pytest.mark.parametrize(
    ("n_runs", "n_topics", "kin", "least"), [(12, 10, 1.0, 0.9), (40, 10, 0.0, 0.8)]
)
def test_sets_from_the_spread_over_few_topics_cover_where_all_runs_tie(
    n_runs, n_topics, kin, least
):
    """200 samples: errors .02 to .03; by the covariance over topics as it is .83 and .63."""
    random = np.random.default_rng(7)
    held = []
    for sample in range(200):
        alike = kin * random.normal(size=(n_runs // 2, n_topics)).repeat(2, axis=0)
        values = random.normal(size=n_topics) + alike + random.normal(size=alike.shape) / (1 + kin)
        scores = xr.Dataset(
            {"estimate": (("measure", "run", "topic"), values[None])},
            coords={"measure": ["AP"], "run": np.arange(n_runs).astype(str)},
        )
        given = {"simultaneous": True, "n_draws": 300, "random_seed": sample}
        lower = be.rankings.rank_sets(scores, **given).interval.sel(ci_bound="lower")
        held.append((lower == 1).all())
    assert np.mean(held) > least - 2.3 * np.sqrt(least * (1 - least) / 200)


def of_topics(values, topics):
    """Scores (run, topic) of one measure."""
    return xr.Dataset(
        {"estimate": (("measure", "run", "topic"), np.asarray(values)[None])},
        coords={"measure": ["AP"], "run": [f"r{i}" for i in range(len(values))], "topic": topics},
    )


@pytest.mark.parametrize("n_turns", [1, 3])
def test_topics_in_groups_of_one_size_have_the_ranks_of_the_groups_means(n_turns):
    random = np.random.default_rng(4)
    of_group = random.normal(0.1 * np.arange(5)[:, None], 0.2, (5, 12))
    values = of_group.repeat(n_turns, axis=1) + 0.1 * random.normal(size=(5, 12 * n_turns))
    topics = [f"{group}_{turn}" for group in range(12) for turn in range(n_turns)]
    groups = {topic: topic.split("_")[0] for topic in topics}
    means_of = of_topics(values.reshape(5, 12, n_turns).mean(axis=2), list("abcdefghijkl"))
    for ranked, options in (
        (be.rankings.rank_sets, {"simultaneous": True, "top": 2}),
        (be.rankings.rank_sets, {}),
        (be.rankings.rank_probabilities, {"prior": "flat"}),
        (be.rankings.rank_probabilities, {}),
    ):
        by_topic = ranked(of_topics(values, topics), topic_groups=groups, **options)
        xr.testing.assert_allclose(by_topic, ranked(means_of, **options))


def test_sets_of_topics_in_groups_hold_where_those_of_topics_alone_do_not():
    """Ten runs that tie on 20 conversations of five turns, 100 samples."""
    random = np.random.default_rng(3)
    topics = [f"t{number}" for number in range(100)]
    groups = {topic: number // 5 for number, topic in enumerate(topics)}
    held = {"topics": [], "groups": []}
    for _ in range(100):
        values = random.normal(size=(10, 20)).repeat(5, axis=1) + random.normal(size=(10, 100))
        for name, given in (("topics", None), ("groups", groups)):
            sets = be.rankings.rank_sets(
                of_topics(values, topics), topic_groups=given, simultaneous=True, n_draws=300
            )
            held[name].append((sets.interval.sel(ci_bound="lower") == 1).all())
    assert np.mean(held["topics"]) < 0.5
    assert np.mean(held["groups"]) > 0.9 - 2.3 * 0.03


def test_topics_named_like_turns_are_named_in_a_warning():
    random = np.random.default_rng(3)
    topics = [f"{group}_{turn}" for group in range(20) for turn in range(5)]
    values = random.normal(size=(3, 20)).repeat(5, axis=1) + 0.3 * random.normal(size=(3, 100))
    with pytest.warns(UserWarning, match="by their names topics come in groups") as said:
        be.rankings.rank_sets(of_topics(values, topics))
    assert said[0].filename == __file__


def test_shrunk_correlations_are_those_of_many_topics_and_smaller_for_few():
    random = np.random.default_rng(2)
    kin = random.normal(size=(2000, 2)).repeat(3, axis=1) + random.normal(size=(2000, 6))
    away = kin - kin.mean(axis=1, keepdims=True)
    plain = np.cov(away, rowvar=False)
    np.testing.assert_allclose(shrunk_covariance(kin), plain, atol=0.02)
    few = random.normal(size=(4, 20))
    found, others = shrunk_covariance(few), ~np.eye(20, dtype=bool)
    assert np.linalg.matrix_rank(found) == 20
    plain = np.cov(few - few.mean(axis=1, keepdims=True), rowvar=False)
    assert np.linalg.matrix_rank(plain) == 3
    assert np.abs(found[others]).mean() < 0.5 * np.abs(plain[others]).mean()


def test_identical_runs_have_the_same_set_by_the_spread_over_topics():
    random = np.random.default_rng(1)
    for sample in range(20):
        values = random.normal(size=(30, 25)) + np.linspace(0, 2, 30)[:, None]
        values[16] = values[15]
        scores = xr.Dataset(
            {"estimate": (("measure", "run", "topic"), values[None])},
            coords={"measure": ["AP"], "run": np.arange(30).astype(str)},
        )
        sets = be.rankings.rank_sets(scores, n_draws=500, random_seed=sample).interval[0]
        np.testing.assert_array_equal(sets[15], sets[16])


def test_identical_runs_are_never_found_apart_and_exact_scores_always():
    covariance = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) * 1e-4
    sets = be.rankings.rank_sets(means([0.5, 0.5, 0.2]), covariance=matrix(covariance))
    assert sets.interval.values[0].tolist() == [[1, 2], [1, 2], [3, 3]]
    assert sets["rank"].values[0].tolist() == [1, 1, 3]
    exact = be.rankings.rank_sets(means([0.5, 0.4, 0.2]), covariance=matrix(np.zeros((3, 3))))
    assert exact.interval.values[0].tolist() == [[1, 1], [2, 2], [3, 3]]


def test_posterior_statements_hold_together_with_the_stated_probability():
    random = np.random.default_rng(3)
    draws = np.array([0.5, 0.45, 0.3, 0.26, 0.1]) + 0.02 * random.normal(size=(2, 500, 5))
    post = xr.Dataset(
        {"estimate": (("chain", "draw", "run"), draws)}, coords={"run": list("abcde")}
    )
    sets = be.rankings.rank_sets(post, simultaneous=True)
    flat = draws.reshape(-1, 5)
    stated = np.argwhere(sets.separated.values[0])
    holds = np.all([flat[:, r] > flat[:, s] for r, s in stated], axis=0)
    assert 0.9 <= holds.mean() < 0.99
    rank = np.array([true_ranks(one) for one in flat])
    lower, upper = sets.interval.values[0].T
    assert ((lower <= rank) & (rank <= upper)).all(axis=1).mean() >= 0.9


@pytest.mark.parametrize("simultaneous", [True, False])
@pytest.mark.parametrize("spread", [0.02, 0.0])
def test_draws_that_differ_by_rounding_share_their_sets_and_leave_the_others_theirs(
    spread, simultaneous
):
    random = np.random.default_rng(1)
    draws = np.array([0.3, 0.3, 0.2, 0.1]) + spread * random.normal(size=(2, 500, 4)) / 4.0
    draws[..., 1] = draws[..., 0]
    near = draws.copy()
    near[..., 1] += 1e-15 * random.choice([-2, 1, 3], size=(2, 500) if spread else 1)
    assert (near[..., 0] != near[..., 1]).any()
    same, other = (
        be.rankings.rank_sets(
            xr.Dataset({"estimate": (("chain", "draw", "run"), one)}, coords={"run": list("abcd")}),
            simultaneous=simultaneous,
        )
        for one in (draws, near)
    )
    assert other.interval.values[0].tolist() == [[1, 2], [1, 2], [3, 3], [4, 4]]
    assert other.tie_group.values[0].tolist() == [1, 1, 2, 3]
    xr.testing.assert_equal(same.drop_vars("estimate"), other.drop_vars("estimate"))


def test_tie_groups_are_cut_only_where_all_above_are_better_than_all_below():
    better = np.zeros((4, 4), dtype=bool)
    better[0, 1:] = True
    better[1, 3] = True
    assert tie_groups(np.array([4.0, 3.0, 2.0, 1.0]), better).tolist() == [1, 2, 2, 2]
    better[2, 3] = True
    assert tie_groups(np.array([4.0, 3.0, 2.0, 1.0]), better).tolist() == [1, 2, 2, 3]
    assert tie_groups(np.array([1.0, 2.0, 3.0, 4.0]), better[::-1, ::-1]).tolist() == [3, 2, 2, 1]


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (means([0.1, 0.2]), {}, "or covariance=be.covariance"),
        (means([0.1, np.nan]), {"covariance": matrix(np.eye(2))}, "some are NaN"),
        (means([0.1, 0.2]), {"covariance": matrix(np.eye(2)), "top": 3}, "from 1 to 2, not 3"),
        (means([0.1, 0.2]), {"covariance": matrix(np.eye(2)), "ci_prob": 1}, "between 0 and 1"),
        (means([0.1]), {"covariance": matrix(np.eye(1))}, "at least 2 runs"),
        (means([0.1, 0.2, 0.3]), {"covariance": matrix(np.eye(2))}, "same measures and runs"),
        (
            means([0.1, 0.2]).assign_attrs(population="topics"),
            {"covariance": matrix(np.eye(2))},
            "give the scores per topic instead",
        ),
        (
            means([0.1, 0.2]),
            {"covariance": matrix(np.eye(2)), "topic_groups": {"1": "a", "2": "b"}},
            "topic_groups is for scores per topic",
        ),
        (
            of_topics(np.eye(2), ["1", "2"]),
            {"topic_groups": {"1": "a"}},
            "topic_groups must name the group of every topic; it lacks 2",
        ),
    ],
)
def test_what_gives_no_ranks_is_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        be.rankings.rank_sets(scores, **options)
