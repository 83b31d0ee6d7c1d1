"""Collections to files and DataFrames and back, small ones and real ones."""

import gzip

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given

import bayeseval as be
from bayeseval.collection import assemble, open_collection, save_collection, select, with_node
from bayeseval.trec import (
    add_runs,
    read_collection,
    write_prels,
    write_probs,
    write_qrels,
    write_run,
    write_sampleval,
)
from tests.small import small_collection
from tests.strategies import IN_FOLDER, judgments, rankings

SAMPLED = {
    "qrels": ("1 0 a 1\n1 0 b -1\n2 0 NA 0\n", write_qrels),
    "sampleval": ("1 0 a 1 1\n1 0 b 1 -1\n1 0 c 03 2\n2 0 NA 7 0\n", write_sampleval),
    "prels": ("1 a 1 2 0.1\n1 b 3 1 0.3333333333333333\n2 NA 0 0 1.0\n", write_prels),
    "probs": ("1 0 a 1 0.1\n1 0 b 3 0.25\n2 0 NA 0 1e-05\n", write_probs),
}


@pytest.mark.parametrize("qrels_format", SAMPLED)
@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_judgments_are_written_as_they_were_read(tmp_path, qrels_format, ending):
    text, write = SAMPLED[qrels_format]
    if ending == ".zst":
        pytest.importorskip("zstandard")
    (tmp_path / "source").write_text(text)
    collection = read_collection(tmp_path / "source", None, qrels_format=qrels_format)
    path = tmp_path / f"copy{ending}"
    write(collection, path)
    again = read_collection(path, None, qrels_format=qrels_format)
    assert again.identical(collection)
    if not ending:
        assert path.read_text() == text


@pytest.mark.filterwarnings("ignore:no document of the judgments is in a run")
@given(scores=rankings(), grades=judgments())
@IN_FOLDER
def test_runs_and_judgments_survive_writing(tmp_path, scores, grades):
    run = "".join(
        f"{topic} Q0 {document} 0 {score!r} tag\n"
        for topic, documents in scores.items()
        for document, score in documents.items()
    )
    qrels = "".join(
        f"{topic} 0 {document} {grade}\n"
        for topic, documents in grades.items()
        for document, grade in documents.items()
    )
    first = next(iter(scores))
    qrels += "" if first in grades else f"{first} 0 x 0\n"
    (tmp_path / "run").write_text(run)
    (tmp_path / "qrels").write_text(qrels)
    collection = read_collection(tmp_path / "qrels", tmp_path / "run")
    write_run(collection, "tag", tmp_path / "run.copy")
    write_qrels(collection, tmp_path / "qrels.copy")
    again = read_collection(tmp_path / "qrels.copy", tmp_path / "run.copy")
    assert again.identical(collection)


def test_a_written_run_has_ranks_and_descending_scores(tmp_path):
    (tmp_path / "run").write_text("1 Q0 a 9 0.5 r\n1 Q0 b 9 0.25 r\n2 Q0 a 9 0.5 r\n")
    collection = read_collection(None, tmp_path / "run")
    write_run(collection, "r", tmp_path / "copy.gz")
    text = gzip.decompress((tmp_path / "copy.gz").read_bytes()).decode()
    assert text == "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n2 Q0 a 1 1 r\n"
    assert gzip.decompress((tmp_path / "copy.gz").read_bytes()) == text.encode()
    with pytest.raises(ValueError, match="run 's' is not in the collection; it has r"):
        write_run(collection, "s", tmp_path / "copy")


def design(**changed) -> xr.Dataset:
    variables = {
        "inclusion_probability": ("pair", [0.5, 0.5, 1.0]),
        "stratum": ("pair", np.array([1, 1, 0], dtype=np.int32)),
        "stratum_size": ("stratum_id", [1, 2]),
        "stratum_sample_size": ("stratum_id", [1, 1]),
        "stratum_topic": ("stratum_id", np.array([1, 0], dtype=np.int32)),
    }
    return xr.Dataset(variables | changed, attrs={"scheme": "stratified"})


def collection_with(grade, **changed) -> xr.DataTree:
    return assemble(
        topics=["1", "2"],
        runs=[],
        document=["a", "b", "a"],
        pair_topic=[0, 0, 1],
        grade=grade,
        pooled=[True, True, True],
        design=design(**changed),
    )


def test_strata_without_labels_are_numbered_within_their_topic(tmp_path):
    write_sampleval(collection_with([1, np.nan, 0]), tmp_path / "s")
    assert (tmp_path / "s").read_text() == "1 0 a 1 1\n1 0 b 1 -1\n2 0 a 1 0\n"


def test_negative_grades_that_were_judged_are_read_again_from_a_file_that_can_hold_them(tmp_path):
    collection = collection_with([-2, np.nan, 0])
    write_sampleval(collection, tmp_path / "s")
    assert (tmp_path / "s").read_text() == "1 0 a 1 -2\n1 0 b 1 -1\n2 0 a 1 0\n"
    again = read_collection(tmp_path / "s", qrels_format="sampleval", negative_grades="judged")
    np.testing.assert_array_equal(again["judgments/grade"], [-2, np.nan, 0])
    np.testing.assert_array_equal(again["design/stratum_sample_size"], [1, 1])
    np.testing.assert_array_equal(again["design/inclusion_probability"], [0.5, 0.5, 1])
    write_qrels(collection_with([-2, -1, 0]), tmp_path / "q")
    assert (tmp_path / "q").read_text() == "1 0 a -2\n1 0 b -1\n2 0 a 0\n"


def test_prels_of_a_known_frame_list_the_sample_only(tmp_path):
    write_prels(collection_with([1, np.nan, 0]), tmp_path / "p")
    assert (tmp_path / "p").read_text() == "1 a 1 1 0.5\n2 a 0 1 1.0\n"


def test_one_of_several_replicates_is_written(tmp_path):
    collection = collection_with([[1, np.nan, 0], [np.nan, 2, 0]])
    write_probs(collection, tmp_path / "p", replicate=1)
    assert (tmp_path / "p").read_text() == "1 0 b 2 0.5\n2 0 a 0 1.0\n"
    with pytest.raises(ValueError, match="2 replicates; name one of them"):
        write_qrels(collection, tmp_path / "q")


def test_what_a_file_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    cases = [
        (write_qrels, collection_with([0.5, 1, 0]), "document 'a' has grade 0.5; files hold whole"),
        (write_qrels, with_node(collection_with([1, 1, 0]), "judgments", None), "no judgments"),
        (write_prels, with_node(collection_with([1, 1, 0]), "design", None), "has no design"),
        (
            write_probs,
            collection_with([1, 1, 0], inclusion_probability=("pair", [np.nan, 1, 1])),
            "topic '1' document 'a' has inclusion probability nan; probs needs one",
        ),
        (
            write_prels,
            with_node(
                collection_with([1, np.nan, 0]), "design", design().assign_attrs(unlisted="unknown")
            ),
            "topic '1' document 'b' was sampled but has no grade of 0 or more, which prels needs",
        ),
        (
            write_sampleval,
            collection_with(
                [1, 1, 0],
                stratum=("pair", np.array([1, -1, 0], dtype=np.int32)),
                stratum_size=("stratum_id", [1, 1]),
            ),
            "topic '1' document 'b' is pooled but in no stratum.*; write_prels writes.*write_qrels",
        ),
        (
            write_qrels,
            collection_with([-2, np.nan, 0]),
            "document 'a' is judged with grade -2, and .* the -1 of pooled ones .* save_collection",
        ),
        (write_sampleval, collection_with([-1, 1, 0]), "grade -1, and .* that were not drawn"),
        (write_prels, collection_with([-2, np.nan, 0]), "'a' was sampled but has no grade of 0 or"),
        (write_probs, collection_with([-2, 1, 0]), "'a' was sampled but has no grade of 0 or"),
    ]
    for write, collection, message in cases:
        with pytest.raises(ValueError, match=message):
            write(collection, tmp_path / "file")
    blank = assemble(topics=["1"], runs=[], document=["a b"], pair_topic=[0], grade=[1])
    with pytest.raises(ValueError, match="'a b' cannot be written, in the line '1 0 a b 1'"):
        write_qrels(blank, tmp_path / "file")
    comment = assemble(topics=["#1"], runs=[], document=["a"], pair_topic=[0], grade=[1])
    with pytest.raises(ValueError, match="topic '#1' cannot be written"):
        write_qrels(comment, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_or_left_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "qrels"
    path.write_text("before")

    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_qrels(collection_with([1, np.nan, 0]), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    write_qrels(collection_with([1, np.nan, 0]), path)
    assert path.read_text() == "1 0 a 1\n1 0 b -1\n2 0 a 0\n"
    with pytest.raises(ValueError, match="cannot be written because folder"):
        write_qrels(collection_with([1, np.nan, 0]), tmp_path / "nowhere" / "qrels")
    with pytest.raises(ValueError, match="is a folder, which a file cannot replace"):
        write_qrels(collection_with([1, np.nan, 0]), tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_collection_survives_its_data_frames():
    collection = small_collection()
    again = be.read_collection(be.trec.qrels_frame(collection), be.trec.runs_frame(collection))
    for node in ("judgments", "rankings"):
        xr.testing.assert_identical(
            again.children[node].to_dataset(), collection.children[node].to_dataset()
        )


def test_judged_documents_with_negative_grades_are_told_from_those_that_nobody_judged():
    qrels = pd.DataFrame({"topic": "1", "document": list("abc"), "grade": [-2, -1, np.nan]})
    with pytest.warns(UserWarning, match="missing .NaN. in 1 of 3 rows"):
        collection = be.read_collection(qrels, negative_grades="judged")
    frame = be.trec.qrels_frame(collection)
    np.testing.assert_array_equal(frame["grade"], [-2, -1, np.nan])
    with pytest.warns(UserWarning, match="missing .NaN. in 1 of 3 rows"):
        again = be.read_collection(frame, negative_grades="judged")
    assert again.identical(collection)


def test_what_is_not_there_has_no_data_frame():
    collection = small_collection()
    with pytest.raises(ValueError, match="no judgments"):
        be.trec.qrels_frame(be.read_collection(None, be.trec.runs_frame(collection)))
    with pytest.raises(ValueError, match="no runs"):
        be.trec.runs_frame(be.read_collection(be.trec.qrels_frame(collection)))
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    many = be.reveal(collection, design, be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="holds replicates"):
        be.trec.qrels_frame(many)


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
