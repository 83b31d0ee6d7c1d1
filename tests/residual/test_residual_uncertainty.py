"""Park's mean, variance and intervals: by enumeration, by hand and against complete judgments."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.residual import rbp_bounds, rbp_uncertainty, rbp_uncertainty_cdf


def collection_of(topics):
    """Collection with one run; per topic a list of grades by rank, None for unjudged."""
    runs, qrels = [], []
    for topic, grades in topics.items():
        qrels.append((topic, "elsewhere", 0))
        for rank, grade in enumerate(grades):
            runs.append(("a", topic, f"d{rank:03d}", -rank))
            if grade is not None:
                qrels.append((topic, f"d{rank:03d}", grade))
    run = pd.DataFrame(runs, columns=["run", "topic", "document", "score"])
    return be.read_collection(pd.DataFrame(qrels, columns=["topic", "document", "grade"]), run)


TOPICS = {"1": [1, None, 0, None], "2": [None, None, 1], "3": [0, 1, None, None, None, None]}


def every_completion(topics, probability, persistence):
    """Mean RBP of every filling of the unjudged ranks, and its probability."""
    gaps = [(t, i) for t, grades in topics.items() for i, g in enumerate(grades) if g is None]
    mean, chance = [], []
    for filling in itertools.product([0, 1], repeat=len(gaps)):
        filled = {t: [g or 0 for g in grades] for t, grades in topics.items()}
        prob = 1.0
        for (t, i), r in zip(gaps, filling, strict=True):
            filled[t][i] = r
            q = probability[t]
            prob *= q if r else 1.0 - q
        scores = [
            (1 - persistence) * sum(r * persistence**i for i, r in enumerate(grades))
            for grades in filled.values()
        ]
        mean.append(np.mean(scores))
        chance.append(prob)
    return np.array(mean), np.array(chance)


@pytest.mark.parametrize("q", [0.3, {"1": 0.1, "2": 0.5, "3": 0.9}])
def test_moments_and_exact_interval_of_the_mean_equal_enumeration(q):
    collection = collection_of(TOPICS)
    by_topic = q if isinstance(q, dict) else dict.fromkeys(TOPICS, q)
    given = q if isinstance(q, float) else xr.DataArray(list(q.values()), coords={"topic": list(q)})
    value, chance = every_completion(TOPICS, by_topic, 0.8)
    known = rbp_uncertainty(collection, 0.8, given, over="topic", distribution="exact").sel(run="a")
    mean = (value * chance).sum()
    assert known.estimate.item() == pytest.approx(mean, abs=1e-14)
    variance = ((value - mean) ** 2 * chance).sum()
    assert known.unjudged_variance.item() == pytest.approx(variance, rel=1e-12)
    order = np.argsort(value)
    cumulative = np.cumsum(chance[order])
    expected = [value[order][np.searchsorted(cumulative, p)] for p in (0.05, 0.95)]
    np.testing.assert_allclose(known.interval, expected, atol=1e-14)
    assert known.n_topics.item() == 3


def test_the_distribution_function_equals_enumeration_for_eight_unjudged_ranks():
    value, chance = every_completion(TOPICS, dict.fromkeys(TOPICS, 0.3), 0.8)
    law = rbp_uncertainty_cdf(collection_of(TOPICS), 0.8, 0.3, n_points=57).sel(run="a")
    expected = [(chance * (value <= v + 1e-12)).sum() for v in law.base.item() + law.value.values]
    np.testing.assert_allclose(law.cdf, expected, atol=1e-12)
    assert (law.cdf_bound <= 1e-6).all()
    between = 0.5 * (law.cdf + law.cdf.shift(point=1, fill_value=0.0))
    assert abs(between - law.normal_cdf).max() < 0.06  # eight weights are near normal already


@pytest.mark.parametrize("level", [1, 2])
def test_the_distribution_starts_from_the_base_at_its_relevance_level(level):
    collection = collection_of({"1": [1, None, 2, None], "2": [2, 1, None]})
    options = {"relevance_level": level, "tail": "nonrelevant"}
    law = rbp_uncertainty_cdf(collection, 0.5, 0.2, **options)
    known = rbp_uncertainty(collection, 0.5, 0.2, over="topic", **options)
    by_hand = {1: (0.5 + 0.125 + 0.5 + 0.25) / 2, 2: (0.125 + 0.5) / 2}
    assert law.base.item() == known.base.item() == by_hand[level]
    assert law.attrs["relevance_level"] == level


def test_per_topic_values_by_hand():
    known = rbp_uncertainty(collection_of({"1": [1, None, 0, None]}), 0.5, 0.2)
    weights = np.array([0.25, 0.0625])
    assert known.base.item() == 0.5
    assert known.unjudged_mean.item() == pytest.approx(0.2 * weights.sum())
    assert known.unjudged_variance.item() == pytest.approx(0.16 * (weights**2).sum())
    half = 1.6448536269514722 * 0.4 * np.sqrt((weights**2).sum())
    assert known.interval.values.ravel() == pytest.approx(
        [known.estimate.item() - half, known.estimate.item() + half]
    )


def test_equation_8_as_printed_holds_where_all_topics_have_the_same_unjudged_ranks():
    grades = [1, 0] * 5 + [None] * 90
    collection = collection_of({str(t): grades for t in range(1, 6)})
    known = rbp_uncertainty(collection, 0.8, 0.2, over="topic", ci_prob=0.95)
    power = 0.8 ** np.arange(10, 100)
    half = 1.959963984540054 * np.sqrt(0.04 * 0.16 * (power**2).sum() / 5)
    centre = 0.2 * (0.8 ** np.arange(0, 10, 2)).sum() + 0.2 * 0.2 * power.sum()
    np.testing.assert_allclose(known.interval.squeeze(), [centre - half, centre + half], rtol=1e-12)


@pytest.mark.parametrize("persistence", [0.5, 0.8, 0.99])
def test_ranks_past_the_end_count_only_where_asked_for(persistence):
    collection = collection_of({"1": [1, None]})
    bare = rbp_uncertainty(collection, persistence, 0.3)
    whole = rbp_uncertainty(collection, persistence, 0.3, tail="unjudged")
    weight = (1 - persistence) * persistence ** np.arange(20_000.0)
    assert bare.unjudged_mean.item() == pytest.approx(0.3 * weight[1])
    assert whole.unjudged_mean.item() == pytest.approx(0.3 * weight[1:].sum())
    assert whole.unjudged_variance.item() == pytest.approx(0.21 * (weight[1:] ** 2).sum())
    cut = rbp_uncertainty(collection, persistence, 0.3, tail="unjudged", cutoff=5)
    assert cut.unjudged_mean.item() == pytest.approx(0.3 * weight[1:5].sum())
    assert cut.unjudged_variance.item() == pytest.approx(0.21 * (weight[1:5] ** 2).sum())


def test_exact_and_normal_intervals_agree_for_a_tail_of_many_small_weights():
    collection = collection_of({str(t): [1, None] for t in range(1, 6)})
    options = {"tail": "unjudged", "over": "topic"}
    exact = rbp_uncertainty(collection, 0.99, 0.4, distribution="exact", **options)
    normal = rbp_uncertainty(collection, 0.99, 0.4, **options)
    error = normal.standard_error.item()
    np.testing.assert_allclose(exact.interval, normal.interval, atol=0.02 * error)
    with pytest.raises(ValueError, match="would list 230247 ranks at persistence 0.9999"):
        rbp_uncertainty(collection, 0.9999, 0.4, distribution="exact", **options)


def test_certain_probabilities_leave_no_uncertainty_and_meet_the_bounds():
    collection = collection_of(TOPICS)
    bounds = rbp_bounds(collection, 0.8, tail="nonrelevant", over="topic")
    for q, bound in ((0.0, "lower"), (1.0, "upper")):
        for distribution in ("normal", "exact"):
            known = rbp_uncertainty(collection, 0.8, q, over="topic", distribution=distribution)
            assert known.standard_error.item() == 0.0
            edge = bounds.interval.sel(ci_bound=bound).item()
            np.testing.assert_allclose(known.interval, edge, atol=1e-14)


def urn_runs(n_replicates):
    """Runs of random order whose documents below rank 4 are judged in no topic."""
    collection = be.simulate.urn_collection(
        [1.0] * n_replicates, n_topics=20, n_documents=1000, prevalence=0.2, shared=0.0, depth=30,
        random_seed=3,
    )  # fmt: skip
    return collection


def test_intervals_cover_the_truth_where_relevance_does_not_depend_on_rank():
    complete = urn_runs(60)
    truth = rbp_bounds(complete, 0.8, over="topic", tail="nonrelevant").base
    ranking = complete["rankings/ranking"].to_numpy()
    inside = []
    for run in range(60):
        shown = complete["judgments/grade"].to_numpy().copy()
        shown[ranking[run, :, 4:]] = np.nan
        one = be.select(complete, runs=[truth.run.values[run]])
        nodes = {node.path: node.to_dataset(inherit=False) for node in one.subtree}
        # select keeps all pairs, so the grades can be hidden by position
        assert nodes["/judgments"].sizes["pair"] == shown.size
        nodes["/judgments"] = nodes["/judgments"].assign(grade=("pair", shown))
        hidden = xr.DataTree.from_dict(nodes)
        bounds = rbp_uncertainty(hidden, 0.8, 0.2, over="topic", distribution="exact").interval
        lower, upper = bounds.to_numpy().ravel()
        inside.append(lower <= truth.values[run] <= upper)
    # 60 runs at .9: fewer than 46 or none outside happen once in a thousand
    assert 46 <= sum(inside) < 60


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (1.2, r"relevance_probability must lie in \[0, 1\], not 1.2"),
        (xr.DataArray([0.1], coords={"topic": ["1"]}), "has no value for topic '2'"),
        (xr.DataArray([0.1], dims="rank"), "has the dim 'rank'; it may have run and topic"),
    ],
)
def test_probabilities_that_do_not_fit_are_refused(q, message):
    with pytest.raises(ValueError, match=message):
        rbp_uncertainty(collection_of(TOPICS), 0.8, q)


def test_replicates_stand_side_by_side_and_have_no_one_distribution():
    complete = be.simulate.urn_collection(
        [0.1, 0.5], n_topics=3, n_documents=60, n_relevant=10, depth=20, random_seed=1
    )
    design = be.designs.uniform_strata(complete, budget=10, n_strata=2, random_seed=3)
    selected = be.draw(design, n_replicates=3, random_seed=1)
    sampled = be.reveal(complete, design, selected)
    for over in (None, "topic"):
        both = rbp_uncertainty(sampled, 0.8, 0.2, over=over, distribution="exact")
        one = rbp_uncertainty(
            be.reveal(complete, design, selected[1]), 0.8, 0.2, over=over, distribution="exact"
        )
        for name in ("estimate", "standard_error", "interval"):
            both_one = both[name].isel(replicate=1).transpose(*one[name].dims)
            np.testing.assert_array_equal(both_one, one[name])
    with pytest.raises(ValueError, match="the judgments have the dim 'replicate'"):
        rbp_uncertainty_cdf(sampled, 0.8, 0.2)


@pytest.mark.parametrize("function", [rbp_uncertainty, rbp_uncertainty_cdf])
def test_a_collection_without_judgments_is_refused(function):
    run = pd.DataFrame({"run": "a", "topic": "1", "document": ["x", "y"], "score": [2, 1]})
    with pytest.raises(ValueError, match="the collection has no judgments"):
        function(be.read_collection(None, run), 0.8, 0.2)
