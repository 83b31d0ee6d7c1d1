"""Collections on disk, of which blocks of topics are read, give the numbers of those in memory."""

import importlib.util
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be

pytest.importorskip("zarr")
pytest.importorskip("dask")

N_TOPICS, N_RUNS = 9, 4


@pytest.fixture
def files(tmp_path):
    """Files of runs, of which the last lacks topics and has ties, and a table of judgments."""
    random = np.random.default_rng(0)
    paths, rows = [], []
    for run in range(N_RUNS):
        lines = []
        for topic in random.permutation(N_TOPICS - 2 * (run == N_RUNS - 1)):
            documents = random.choice(60, size=random.integers(20, 40), replace=False)
            scores = np.sort(random.integers(0, 25, documents.size))[::-1]
            for document, score in zip(documents, scores, strict=True):
                name = f"é{document}" if document % 7 == 0 else f"d{document}"
                lines.append(f"q{topic + 1} Q0 {name} 0 {score} run{run}\n")
                rows.append((f"q{topic + 1}", name, int(random.random() < 0.3)))
        paths.append(tmp_path / f"run{run}.txt")
        paths[-1].write_text("".join(lines), encoding="utf-8")
    qrels = pd.DataFrame(rows, columns=["topic", "document", "grade"])
    qrels = pd.concat(
        [qrels, pd.DataFrame([("q1", "unseen", 1), ("q3", "x", -1)], columns=qrels.columns)]
    )
    return paths, qrels.drop_duplicates(["topic", "document"])


@pytest.fixture
def both(files, tmp_path, monkeypatch):
    """The same collection in memory and in a store, of which few topics are read at once."""
    monkeypatch.setattr("bayeseval.trec.storing.CELLS", 400)
    monkeypatch.setattr("bayeseval.trec.storing.PAIRS", 50)
    monkeypatch.setattr("bayeseval.frame.rankings.CELLS", 400)
    monkeypatch.setattr("bayeseval.frame.sample.CELLS", 400)
    paths, qrels = files
    stored = be.read_collection(qrels, paths, store=tmp_path / "c.zarr")
    return be.read_collection(qrels, paths), stored


def test_a_store_holds_what_is_read_into_memory(both, files, tmp_path):
    whole, stored = both
    ranking = stored["rankings/ranking"]
    assert ranking.chunks is not None and max(ranking.chunks[1]) < N_TOPICS
    assert stored["document"].chunks is not None
    assert stored["judgments/grade"].chunks is None
    assert stored.load().identical(whole)
    assert be.open_collection(tmp_path / "c.zarr").identical(whole)
    shallow = be.read_collection(None, files[0], depth=5, store=tmp_path / "d.zarr")
    assert shallow.load().identical(be.read_collection(None, files[0], depth=5))


def test_a_store_that_is_there_stays(both, files, tmp_path):
    with pytest.raises(ValueError, match="c.zarr is a store already: be.open_collection"):
        be.read_collection(None, files[0], store=tmp_path / "c.zarr")
    assert be.open_collection(tmp_path / "c.zarr").identical(both[0])


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("lost", ["c.zarr", "c.zarr/rankings/ranking/c/0"])
def test_rankings_that_are_not_there_are_no_zeros(both, tmp_path, saved, lost):
    """Zarr reads a chunk that is missing as its fill value."""
    stored = both[1]
    if saved:
        be.save_collection(stored.load(), tmp_path / "other.zarr")
        (tmp_path / "other.zarr").replace(tmp_path / "c.zarr.new")
        shutil.rmtree(tmp_path / "c.zarr")
        (tmp_path / "c.zarr.new").replace(tmp_path / "c.zarr")
        stored = be.open_collection(tmp_path / "c.zarr", chunks={})
    shutil.rmtree(tmp_path / lost)
    message = "the rankings of the store cannot be read|leave its store as it is"
    for call in (
        lambda: be.evaluate(stored, "P@5", estimator="assumed"),
        lambda: be.designs.order(stored, budget=5, random_seed=1, frame="retrieved"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_scores_of_a_store_are_those_in_memory(both):
    samples = []
    for collection in both:
        design = be.designs.order(collection, frame="retrieved", budget=12, random_seed=1)
        selected = be.draw(design)
        samples.append(be.reveal(collection, design, selected, unjudged="nonrelevant"))
    assert samples[0]["design"].to_dataset().identical(samples[1]["design"].to_dataset().load())
    assert samples[1]["rankings/ranking"].chunks is not None
    for estimator in ("assumed", "stat", "dyn"):
        first, second = (
            be.evaluate(one, ["AP", "P@5", "nDCG@10"], estimator=estimator) for one in samples
        )
        xr.testing.assert_identical(first, second)


def test_a_model_says_what_memory_it_needs(both):
    _, stored = both
    with pytest.warns(UserWarning, match="of all [0-9]+ documents .* in memory: about .* GB"):
        be.models.relevance_model(stored)


def test_what_is_suspected_of_labels_is_said_of_a_store_too(files, tmp_path):
    paths, qrels = files
    other = qrels.assign(document="z" + qrels["document"])
    with pytest.warns(UserWarning, match="no document of the judgments is in a run"):
        be.read_collection(other, paths, store=tmp_path / "c.zarr")


def test_a_store_needs_its_packages_and_a_name(files, tmp_path, monkeypatch):
    paths, qrels = files
    with pytest.raises(ValueError, match="store must be a folder that ends in .zarr"):
        be.read_collection(qrels, paths, store=tmp_path / "c.nc")
    with pytest.raises(ValueError, match="needs runs, and does not go with qrels_format"):
        be.read_collection(qrels, store=tmp_path / "c.zarr")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "bayeseval.collection.storage.find_spec",
        lambda name: None if name == "dask" else found(name),
    )
    with pytest.raises(ValueError, match=r"needs dask: pip install 'bayeseval\[scale\]'"):
        be.read_collection(qrels, paths, store=tmp_path / "c.zarr")
    assert not (tmp_path / "c.zarr").exists()


def test_judgments_that_come_back_leave_the_rankings_on_disk(both, tmp_path):
    whole, stored = both
    order = be.designs.order(stored, frame="retrieved", budget=12, random_seed=1)
    be.save_design(order, tmp_path / "design.nc")
    asked = np.flatnonzero(be.draw(order))
    topic = whole["topic"].to_numpy()[whole["pair_topic"].to_numpy()[asked]]
    judged = pd.DataFrame({"topic": topic, "document": whole["document"].to_numpy()[asked]})
    judged = judged.assign(grade=np.arange(asked.size) % 2)
    sampled = be.attach_judgments(stored, tmp_path / "design.nc", judged)
    assert sampled["rankings/ranking"].chunks is not None
    xr.testing.assert_identical(
        be.evaluate(sampled, "AP", estimator="dyn"),
        be.evaluate(be.attach_judgments(whole, order, judged), "AP", estimator="dyn"),
    )
