"""Which judged lists the urn may be fitted to: runs of a pool to its depth, and gaps by lot."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.models.urn.estimate import urn_lists

CONTRAST = np.log(0.1 / 0.9) - np.log(0.2)
POOLED = ["run001", "run002", "run003"]
FLAT = {"profile": np.array([-2.0])}  # one point: the profile is not looked at here


@pytest.fixture(scope="module")
def complete():
    """Four runs alike, every pair judged."""
    return be.simulate.urn_collection(
        [0.2] * 4, n_topics=50, n_documents=100, prevalence=0.1, depth=20, random_seed=3
    )


def hidden(collection, unjudged, *, contributed=None):
    """The collection without its design and without the grades of some pairs."""
    nodes = {node.path: node.to_dataset(inherit=False) for node in collection.subtree}
    nodes.pop("/design", None)
    grade = nodes["/judgments"]["grade"]
    nodes["/judgments"] = nodes["/judgments"].assign(grade=grade.where(~unjudged))
    if contributed is not None:
        nodes["/"] = nodes["/"].assign(contributed=("run", contributed))
    return xr.DataTree.from_dict(nodes)


@pytest.fixture(scope="module")
def pooled(complete):
    """The same, judged as the pool of the first three runs to depth 10."""
    design = be.designs.depth_pool(complete, 10, runs=POOLED)
    return be.reveal(complete, design, be.draw(design, random_seed=1))


@pytest.fixture(scope="module")
def bare(complete, pooled):
    """The judgments of the pool without a word of where they come from; all runs contribute."""
    return hidden(complete, np.isnan(pooled["judgments/grade"].to_numpy()))


def test_the_contrast_of_pooled_runs_is_that_of_full_judgments(complete, pooled):
    asked = {"n_documents": 100, "depth": 10, **FLAT}
    fit = be.residual.urn_estimate(pooled, **asked)
    assert fit["run"].values.tolist() == POOLED
    assert (abs(fit.contrast - CONTRAST) < 4 * fit.contrast_standard_error).all()
    same = be.residual.urn_estimate(complete, runs=POOLED, **asked)
    np.testing.assert_allclose(fit.contrast, same.contrast, atol=1e-6)


def test_summing_over_gaps_of_an_unpooled_run_is_wrong_and_has_to_be_asked_for(complete, bare):
    asked = {"n_documents": 100, "depth": 10, "runs": ["run004"], **FLAT}
    with pytest.raises(
        ValueError, match="run 'run004' has an unjudged document of the frame at rank"
    ):
        be.residual.urn_estimate(bare, **asked)
    wrong = be.residual.urn_estimate(bare, gaps="ignorable", **asked).isel(run=0)
    right = be.residual.urn_estimate(complete, **asked).isel(run=0)
    assert abs(right.contrast - CONTRAST) < 3 * right.contrast_standard_error
    assert wrong.contrast - CONTRAST > 3 * wrong.contrast_standard_error
    assert wrong.attrs["gaps"] == "ignorable"


def test_gaps_by_lot_are_summed_over_without_bias(complete):
    by_lot = np.random.default_rng(4).random(complete.sizes["pair"]) < 0.3
    fit = be.residual.urn_estimate(
        hidden(complete, by_lot), n_documents=100, depth=10, gaps="ignorable", **FLAT
    )
    assert (abs(fit.contrast - CONTRAST) < 4 * fit.contrast_standard_error).all()


@pytest.mark.parametrize("depth", [1, 2, 10])
def test_an_unpooled_run_is_refused_at_any_depth(bare, depth):
    # at depth 1 no judged rank is below a gap, and yet only the judged topics would count
    with pytest.raises(ValueError, match=f"as 1 of 4 runs have down to rank {depth}; choo"):
        urn_lists(bare, n_documents=100, depth=depth)


def test_ranks_below_the_depth_of_the_pool_are_refused(pooled, bare):
    for gaps in ("refuse", "ignorable"):
        with pytest.raises(ValueError, match="depth must be at most 10, the depth of the pool"):
            urn_lists(pooled, n_documents=100, depth=11, gaps=gaps)
    with pytest.raises(ValueError, match="at rank 11 of topic '1', as 3 of 3 runs have"):
        urn_lists(bare, n_documents=100, depth=20, runs=POOLED)


def test_runs_that_are_not_of_the_pool_are_refused(pooled):
    for gaps in ("refuse", "ignorable"):
        with pytest.raises(ValueError, match="run 'run004' is not among the 3 runs of the pool"):
            urn_lists(pooled, n_documents=100, depth=5, runs=["run001", "run004"], gaps=gaps)


def test_only_contributing_runs_are_used_unless_others_are_named(complete, bare):
    contributed = np.array([True, True, True, False])
    judged = hidden(bare, np.zeros(bare.sizes["pair"], bool), contributed=contributed)
    lists, labels = urn_lists(judged, n_documents=100, depth=10)
    assert labels.tolist() == POOLED and lists.relevance.shape == (50, 3, 10)
    _, named = urn_lists(complete, n_documents=100, depth=10, runs=["run004", "run002"])
    assert named.tolist() == ["run002", "run004"]
    nobody = hidden(complete, np.zeros(bare.sizes["pair"], bool), contributed=~contributed & False)
    with pytest.raises(
        ValueError, match="no run of the collection contributed, so .*; name the runs"
    ):
        urn_lists(nobody, n_documents=100, depth=10)


def small(qrels):
    """One run of three documents in topics 1 and 2, with these judgments."""
    run = pd.DataFrame({"run": "a", "document": list("abc"), "score": [3, 2, 1]})
    run = pd.concat([run.assign(topic=topic) for topic in ("1", "2")])
    return be.read_collection(pd.DataFrame(qrels, columns=["topic", "document", "grade"]), run)


def test_a_topic_without_a_judgment_is_no_gap_and_says_nothing():
    judged = [("1", "a", 0), ("1", "b", 2)]
    lists, _ = urn_lists(small(judged), n_documents=9, depth=2)
    assert lists.relevance.tolist() == [[[0, 1]], [[-1, -1]]]
    with pytest.raises(ValueError, match="at rank 1 of topic '2', as 1 of 1 runs have down to"):
        urn_lists(small([*judged, ("2", "b", 1)]), n_documents=9, depth=2)


def test_ignorable_gaps_are_marked():
    grades = [("1", "a", 0), ("1", "c", 2), ("2", "a", 1)]
    lists, _ = urn_lists(small(grades), n_documents=9, depth=3, relevance_level=2, gaps="ignorable")
    assert lists.relevance.tolist() == [[[0, -1, 1]], [[0, -1, -1]]]


def test_an_unknown_option_for_gaps_is_refused(complete):
    with pytest.raises(ValueError, match="gaps must be one of refuse, ignorable, not 'sum'"):
        urn_lists(complete, n_documents=100, depth=10, gaps="sum")
