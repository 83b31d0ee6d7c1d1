"""The readers on real runs and judgments; skipped where there are none."""

import numpy as np
import pandas as pd
import pytest

from bayeseval.collection import open_collection, save_collection, select
from bayeseval.trec import add_runs, read_collection, write_run, write_sampleval


@pytest.fixture(scope="module")
def some_runs(round5_runs):
    return sorted(round5_runs.iterdir())[::25]


def test_rankings_of_real_runs_are_those_of_a_plain_sort(some_runs):
    collection = read_collection(None, some_runs)
    for run, path in enumerate(some_runs):
        lines = [line.split() for line in path.read_text().splitlines()]
        frame = pd.DataFrame(lines).iloc[:, [0, 2, 4]].set_axis(["t", "d", "s"], axis=1)
        frame["s"] = frame["s"].map(float)
        frame = frame.sort_values(["s", "d"], ascending=False)
        for place, topic in enumerate(collection["topic"].values):
            row = collection["rankings/ranking"].values[run, place]
            documents = collection["document"].values[row[row >= 0]].tolist()
            assert documents == frame.loc[frame["t"] == topic, "d"].tolist()[:1000]


def test_a_real_collection_survives_saving_selecting_and_adding(real_data, some_runs, tmp_path):
    qrels = real_data / "trec-covid" / "qrels.covid-round5.txt.gz"
    collection = read_collection(qrels, some_runs)
    save_collection(collection, tmp_path / "collection.nc")
    assert open_collection(tmp_path / "collection.nc").identical(collection)
    fewer = read_collection(qrels, some_runs[:-1])
    assert select(collection, runs=fewer["run"].values).identical(fewer)
    assert add_runs(fewer, some_runs[-1]).identical(collection)
    write_run(collection, collection["run"].values[0], tmp_path / "run.gz")
    again = read_collection(qrels, [tmp_path / "run.gz", *some_runs[1:]])
    assert again.identical(collection)


def test_real_sampled_judgments_give_their_published_counts(real_data, tmp_path):
    folder = real_data / "pm2017"
    path = folder / "sample-qrels-final-abstracts.2017.txt.gz"
    collection = read_collection(path, None, qrels_format="sampleval")
    weight = 1 / collection["design/inclusion_probability"].values
    relevant = collection["judgments/grade"].values > 0
    topic = collection["pair_topic"].values
    count = np.bincount(topic, weights=np.where(relevant, weight, 0))
    published = pd.read_csv(folder / "published-inum_rel.csv", dtype={0: str}).set_axis(
        ["topic", "count"], axis=1
    )
    published = published.set_index("topic")["count"].reindex(collection["topic"].values)
    np.testing.assert_allclose(count, published, atol=5e-5)
    write_sampleval(collection, tmp_path / "copy.gz")
    again = read_collection(tmp_path / "copy.gz", None, qrels_format="sampleval")
    assert again.identical(collection)
