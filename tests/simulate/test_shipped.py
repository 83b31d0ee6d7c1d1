import importlib.util
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayeseval.collection import check_collection, topic_starts
from bayeseval.simulate import demo_collection, urn_collection
from bayeseval.simulate.urn import unpacked

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def collection():
    return demo_collection()


@pytest.fixture(scope="module")
def topics():
    return pd.read_csv(ROOT / "data" / "trec8_published_topics.csv")


@pytest.fixture(scope="module")
def runs():
    return pd.read_csv(ROOT / "data" / "trec8_published_runs.csv")


@pytest.fixture(scope="module")
def script():
    path = ROOT / "data" / "make_trec8_like.py"
    spec = importlib.util.spec_from_file_location("make_trec8_like", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def per_topic(collection, values):
    return np.add.reduceat(values, topic_starts(collection)[:-1])


def test_the_shipped_collection_has_the_shape_of_trec_8(collection):
    check_collection(collection)
    assert dict(collection["rankings/ranking"].sizes) == {"run": 129, "topic": 50, "rank": 100}
    assert int(collection["contributed"].sum()) == 71
    assert np.unique(collection["team"]).size == 41
    assert (collection["rankings/ranking"] >= 0).all()


def test_the_judged_pairs_are_the_pool_of_the_contributing_runs(collection):
    ranking = collection["rankings/ranking"].values[collection["contributed"].values]
    pool = np.zeros(collection["document"].size, dtype=bool)
    pool[ranking] = True
    np.testing.assert_array_equal(collection["judgments/pooled"], pool)
    np.testing.assert_array_equal(collection["judgments/grade"].notnull(), pool)


def test_topics_have_about_the_published_numbers_of_documents(collection, topics):
    grade = collection["judgments/grade"].values
    judged, relevant = per_topic(collection, ~np.isnan(grade)), per_topic(collection, grade > 0)
    np.testing.assert_allclose(judged, topics["judged"], atol=15)
    np.testing.assert_allclose(relevant, topics["relevant"], atol=2)
    assert judged.mean() == pytest.approx(1736.6, abs=10)


def test_runs_have_about_the_published_mean_average_precision(collection, runs):
    hit = collection["judgments/grade"].values[collection["rankings/ranking"].values] > 0
    n_relevant = per_topic(collection, collection["judgments/grade"].values > 0)
    precision = hit.cumsum(-1) / np.arange(1, hit.shape[-1] + 1)
    mean = ((hit * precision).sum(-1) / n_relevant).mean(-1)
    difference = mean - runs["map"]
    assert np.sqrt(np.mean(difference**2)) < 0.01
    assert np.abs(difference).max() < 0.01
    assert np.corrcoef(hit[..., :10].mean((1, 2)), runs["P_10"])[0, 1] > 0.9


def test_the_file_is_small_and_in_the_wheel():
    path = ROOT / "data" / "trec8_like.nc"
    assert path.stat().st_size < 3_000_000
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"data/trec8_like.nc": "bayeseval/data/trec8_like.nc"}


def test_packing_loses_nothing_but_the_urn_parameters(script):
    collection = urn_collection(
        [0.1, 0.3], n_topics=3, n_documents=40, n_relevant=5, depth=50, random_seed=1
    )
    nodes = {node.path: node.to_dataset(inherit=False) for node in collection.subtree}
    nodes["/"] = nodes["/"].drop_vars(["odds", "n_documents"])
    xr.testing.assert_identical(unpacked(script.packed(collection)), xr.DataTree.from_dict(nodes))


def test_packing_refuses_topics_too_large_for_its_integers(script):
    collection = urn_collection([0.1], n_topics=1, n_documents=65535, n_relevant=5, random_seed=1)
    with pytest.raises(ValueError, match="a topic may have 65534 pairs, not 65535"):
        script.packed(collection)


@pytest.mark.slow
def test_the_script_makes_the_shipped_file_again(script, collection, topics, runs):
    team = script.neutral_teams(runs["participant"])
    contributed = script.contributing(runs["participant"])
    again, pool, _ = script.fitted(topics, runs, team, contributed)
    np.testing.assert_array_equal(again["document"], collection["document"])
    np.testing.assert_array_equal(again["rankings/ranking"], collection["rankings/ranking"])
    np.testing.assert_array_equal(pool, collection["judgments/pooled"])
