"""Sampling with replacement: the marginals, the draws, their way through files and collections."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import bayeseval as be
from bayeseval.designs.with_replacement import average_precision_marginal
from tests.draws import stopped_chances
from tests.small import small_collection

FALSE_ALARM = 1e-4


@pytest.fixture
def collection() -> xr.DataTree:
    return small_collection()


def joint_weights(length: int) -> np.ndarray:
    """JD(i, j) = 1 / (2 Z max(i, j)), on the diagonal twice that, for a list of Z documents."""
    rank = np.arange(1, length + 1)
    weight = 1.0 / np.maximum(rank[:, None], rank)
    return (weight + np.diag(1.0 / rank)) / (2.0 * length)


@pytest.mark.parametrize("length", [1, 2, 3, 17])
def test_joint_weights_pairs_as_the_sum_of_precisions_does(length):
    joint = joint_weights(length)
    relevant = np.random.default_rng(length).integers(0, 2, (20, length))
    above = np.cumsum(relevant, axis=1)
    sum_of_precisions = (relevant * above / np.arange(1, length + 1)).sum(axis=1)
    expected = length * np.einsum("ni,nj,ij->n", relevant, relevant, joint)
    np.testing.assert_allclose(expected, sum_of_precisions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(joint, joint.T)
    np.testing.assert_allclose(joint.sum(), 1.0)
    np.testing.assert_allclose(average_precision_marginal(length), joint.sum(axis=1), rtol=1e-12)


def test_the_exponent_three_halves_has_the_least_variance_among_powers():
    """Relevance with the marginal as its prior: the second moment of a pair's contribution."""
    marginal = average_precision_marginal(50)
    product = np.outer(marginal, marginal)

    def second_moment(exponent):
        size = marginal**exponent / (marginal**exponent).sum()
        return (product * product**2 / np.outer(size, size)).sum()

    moments = [second_moment(exponent) for exponent in (0.0, 0.5, 1.0, 1.4, 1.5, 1.6, 2.0)]
    assert np.argmin(moments) == 4


def test_draw_probability_is_the_mean_of_the_runs_powers_cut_to_the_frame(collection):
    design = be.designs.with_replacement(collection, budget=4, exponent=1.5)
    ranking = collection["rankings/ranking"].to_numpy()[:, 1]
    expected = np.zeros(collection.sizes["pair"])
    for run in ranking:
        retrieved = run[run >= 0]
        power = joint_weights(retrieved.size).sum(axis=0) ** 1.5
        expected[retrieved] += power / power.sum() / len(ranking)
    second = collection["pair_topic"].to_numpy() == 1
    np.testing.assert_allclose(design.draw_probability[second], expected[second], rtol=1e-12)
    outside = np.zeros(collection.sizes["pair"], dtype=bool)
    outside[[0, 11]] = True
    frame = xr.DataArray(~outside, dims="pair")
    cut = be.designs.with_replacement(collection, budget=4, frame=frame)
    kept = np.where(outside, 0.0, expected)[second]
    np.testing.assert_allclose(cut.draw_probability[second], kept / kept.sum(), rtol=1e-12)
    assert (cut.inclusion_probability.values[outside] == 0).all()
    assert cut.inclusion_probability.isnull().values[~outside].all()


def test_an_exponent_of_zero_spreads_each_run_evenly(collection):
    design = be.designs.with_replacement(collection, budget=4, exponent=0, runs=["c"])
    second = collection["pair_topic"].to_numpy() == 1
    np.testing.assert_allclose(np.unique(design.draw_probability[second]), [0.0, 0.2])
    assert design.attrs["parameters"].count('"n_undrawable": 8')


def test_a_uniform_share_reaches_the_whole_frame_and_bounds_the_weights(collection):
    design = be.designs.with_replacement(collection, budget=4, uniform_share=0.1, runs=["c"])
    assert (design.draw_probability >= 0.1 / 9).all()
    total = np.bincount(collection["pair_topic"], weights=design.draw_probability)
    np.testing.assert_allclose(total, 1.0)


def test_runs_that_did_not_contribute_shape_nothing(collection):
    named = be.designs.with_replacement(collection, budget=4, runs=["a", "b"])
    root = collection.to_dataset().assign(contributed=("run", [True, True, False]))
    other = xr.DataTree.from_dict(
        {"/": root, **{name: node.to_dataset(False) for name, node in collection.children.items()}}
    )
    without = be.designs.with_replacement(other, budget=4)
    xr.testing.assert_identical(named.draw_probability, without.draw_probability)


def test_draws_until_distinct_follow_the_exact_distribution_of_their_counts():
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    design = be.designs.with_replacement(collection, budget=3)
    exact = stopped_chances(design.draw_probability.values, 3)
    n_replicates = 40_000
    count = be.draw(design, n_replicates=n_replicates, random_seed=5)
    assert ((count > 0).sum("pair") == 3).all()
    values, seen = np.unique(count.values, axis=0, return_counts=True)
    seen_by = {tuple(row.tolist()): number for row, number in zip(values, seen, strict=True)}
    common = [counts for counts, chance in exact.items() if chance * n_replicates >= 10]
    observed = np.array([seen_by.get(counts, 0) for counts in common])
    expected = np.array([exact[counts] for counts in common]) * n_replicates
    observed = np.append(observed, n_replicates - observed.sum())
    expected = np.append(expected, n_replicates - expected.sum())
    assert len(common) > 50
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


def test_a_fixed_number_of_draws_is_multinomial(collection):
    design = be.designs.with_replacement(collection, budget=2)
    count = be.draw(design, n_replicates=4000, n_draws=7, random_seed=2)
    topic = collection["pair_topic"].to_numpy()
    for number in (0, 1):
        own = count.values[:, topic == number]
        assert (own.sum(axis=1) == 7).all()
        expected = 7 * 4000 * design.draw_probability.values[topic == number]
        assert stats.chisquare(own.sum(axis=0), expected).pvalue > FALSE_ALARM


def test_a_topic_with_no_more_pairs_than_the_budget_is_drawn_to_the_last(collection):
    design = be.designs.with_replacement(collection, budget=100)
    count = be.draw(design, random_seed=1)
    assert (count >= 1).all()
    assert count.dtype == np.int64 and count.attrs["seed"] == 1
    assert count.name == "draw_count"


def test_the_same_seed_gives_the_same_draws(collection):
    design = be.designs.with_replacement(collection, budget=4)
    one, two, three = (be.draw(design, n_replicates=3, random_seed=seed) for seed in (1, 1, 2))
    assert one.equals(two) and not one.equals(three)


def test_reveal_shows_what_was_drawn_and_keeps_how_often(collection):
    design = be.designs.with_replacement(collection, budget=4)
    count = be.draw(design, n_replicates=3, random_seed=1)
    sampled = be.reveal(collection, design, count)
    np.testing.assert_array_equal(sampled["judgments/draw_count"], count)
    np.testing.assert_array_equal(sampled["judgments/grade"].notnull(), count > 0)
    with pytest.raises(ValueError, match="whole numbers, how often"):
        be.reveal(collection, design, count > 0)
    with pytest.raises(ValueError, match="negative counts"):
        be.reveal(collection, design, count - 5)
    cut = be.designs.with_replacement(collection, budget=4, runs=["c"])
    with pytest.raises(ValueError, match="pairs that the design cannot draw"):
        be.reveal(collection, cut, xr.ones_like(count))


def labelled_qrels(design, judged) -> pd.DataFrame:
    where = np.flatnonzero(judged)
    topic = design["topic"].to_numpy()[design["pair_topic"].to_numpy()[where]]
    document = design["document"].to_numpy()[where]
    return pd.DataFrame({"topic": topic, "document": document, "grade": 1})


def test_design_and_counts_survive_files_judging_and_added_runs(tmp_path, collection):
    rankings = be.select(collection, runs=["a", "b"])
    design = be.designs.with_replacement(rankings, budget=4)
    count = be.draw(design, random_seed=3)
    be.save_design(design.assign(draw_count=count), tmp_path / "design.nc")
    back = be.read_design(tmp_path / "design.nc")
    shuffled = back.isel(pair=np.s_[::-1])
    qrels = labelled_qrels(back, back["draw_count"] > 0)
    attached = be.attach_judgments(collection, shuffled, qrels)
    np.testing.assert_array_equal(attached["judgments/draw_count"], count)
    np.testing.assert_allclose(attached["design/draw_probability"], design.draw_probability)
    be.save_collection(attached, tmp_path / "attached.nc")
    assert be.open_collection(tmp_path / "attached.nc").identical(attached)
    new = pd.DataFrame({"run": "n", "topic": "1", "document": ["new", "d1"], "score": [2, 1]})
    added = be.add_runs(attached, new)
    known = added["document"].to_numpy() != "new"
    np.testing.assert_array_equal(added["judgments/draw_count"][known], count)
    assert added["judgments/draw_count"].values[~known] == 0
    assert added["design/draw_probability"].values[~known] == 0
    some = be.select(attached, topics=["2"], runs=["c"])
    second = attached["pair_topic"].to_numpy() == 1
    assert some["judgments/draw_count"].sum() == count[second].sum()
    replicates = be.reveal(collection, design, be.draw(design, n_replicates=2, random_seed=1))
    cut = be.select(replicates, topics=["2"])
    np.testing.assert_array_equal(
        cut["judgments/draw_count"], replicates["judgments/draw_count"][:, second]
    )


def test_judgments_of_draws_must_be_those_of_the_drawn_pairs(collection):
    design = be.designs.with_replacement(collection, budget=4)
    qrels = labelled_qrels(design, np.ones(design.sizes["pair"], dtype=bool))
    with pytest.raises(ValueError, match="how often each pair was drawn"):
        be.attach_judgments(collection, design, qrels)
    drawn = design.assign(draw_count=be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="that were not selected"):
        be.attach_judgments(collection, drawn, qrels)
    kept = labelled_qrels(drawn, drawn["draw_count"] > 0)
    with pytest.raises(ValueError, match="no judgment for 1 of the selected pairs"):
        be.attach_judgments(collection, drawn, kept.iloc[1:])
    wrong = drawn.assign(draw_count=-drawn["draw_count"])
    with pytest.raises(ValueError, match="it must be 0 or more"):
        be.attach_judgments(collection, wrong, kept)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda design: design.drop_vars("draw_probability"), "lacks draw_probability"),
        (lambda design: design.assign(draw_probability=design.draw_probability * 2), "add up to 1"),
        (lambda design: design.assign(draw_probability=-design.draw_probability), r"lie in \(0, 1"),
    ],
)
def test_a_broken_design_file_is_refused(tmp_path, collection, change, match):
    design = be.designs.with_replacement(collection, budget=4)
    be.save_design(change(design), tmp_path / "design.nc")
    with pytest.raises(ValueError, match=match):
        be.read_design(tmp_path / "design.nc")


@pytest.mark.parametrize("estimator", ["stat", "dyn"])
def test_stat_and_dyn_refuse_draws_with_replacement(collection, estimator):
    design = be.designs.with_replacement(collection, budget=4)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    with pytest.raises(ValueError, match="with_replacement; estimators that exist for it"):
        be.evaluate(sampled, "P@3", estimator=estimator)


def test_every_pair_of_the_process_view_stops_at_the_same_time():
    """The last distinct pair has been drawn once, in every replicate."""
    run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdefgh")})
    collection = be.read_collection(None, run.assign(score=np.arange(8)))
    design = be.designs.with_replacement(collection, budget=5)
    count = be.draw(design, n_replicates=500, random_seed=1)
    assert ((count == 1).sum("pair") >= 1).all()
    assert (count.sum("pair") > 5).any()


def test_enumeration_of_the_tests_is_a_distribution():
    chances = stopped_chances([0.5, 0.3, 0.2], 2)
    assert 1 - sum(chances.values()) < 1e-3
    for counts in itertools.islice(chances, 5):
        assert np.count_nonzero(counts) == 2
