import os

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayeseval.collection import (
    add_pairs,
    assemble,
    check_collection,
    open_collection,
    pair_positions,
    save_collection,
    select,
    topic_order,
    topic_starts,
    with_node,
)
from bayeseval.collection.labels import row_of_pair
from bayeseval.designs.files import save_design

DESIGN = xr.Dataset(
    {
        "inclusion_probability": ("pair", [0.5, 0.5, 0.0, 1.0]),
        "stratum": ("pair", np.array([0, 0, -1, 1], dtype=np.int32)),
        "stratum_size": ("stratum_id", np.array([2, 1])),
        "stratum_sample_size": ("stratum_id", np.array([1, 1])),
        "stratum_topic": ("stratum_id", np.array([0, 1], dtype=np.int32)),
    },
    attrs={"scheme": "stratified", "name": "hand", "parameters": "{}", "seed": 7},
)
PARTS = {
    "topics": ["2", "10"],
    "runs": ["r", "s"],
    "document": ["a", "b", "c", "a"],
    "pair_topic": [0, 0, 0, 1],
    "ranking": [[[2, 0], [3, -1]], [[1, -1], [-1, -1]]],
    "grade": [1, np.nan, np.nan, 0],
    "pooled": [True, True, False, True],
    "contributed": [True, False],
    "team": ["x", ""],
    "design": DESIGN,
    "predictors": xr.Dataset({"llm": ("pair", [0.5, 0.25, 0.125, 1.0])}),
    "attrs": {"score_type": "float64", "depth": 1000},
}


@pytest.fixture
def collection() -> xr.DataTree:
    return assemble(**PARTS)


def assembled(**parts) -> xr.DataTree:
    return assemble(**(PARTS | parts))


def test_topics_are_in_natural_order():
    assert [["10", "9", "1"][i] for i in topic_order(["10", "9", "1"])] == ["1", "9", "10"]
    labels = ["q10", "q2", "10", "q2a", "02", "2"]
    assert [labels[i] for i in topic_order(labels)] == ["02", "2", "10", "q2", "q2a", "q10"]


def test_rows_of_pairs_serve_empty_ranks_and_may_be_counted_from_each_topics_first():
    pairs = [1, 2, 4, 6]  # the first two of one topic, the others of the next
    assert row_of_pair(pairs, 7).tolist() == [-1, 0, 1, -1, 2, -1, 3, -1]
    assert row_of_pair(pairs, 7, [0, 0, 2, 2]).tolist() == [-1, 0, 1, -1, 0, -1, 1, -1]


def test_pairs_are_contiguous_by_topic(collection):
    assert topic_starts(collection).tolist() == [0, 3, 4]
    assert topic_starts(assembled(topics=["2", "10", "11"], ranking=None)).tolist() == [0, 3, 4, 4]


def test_pairs_are_found_by_label(collection):
    found = pair_positions(collection, ["10", "2", "2", "3"], ["a", "c", "z", "a"])
    assert found.tolist() == [3, 2, -1, -1]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"document": ["b", "a", "c", "a"]}, "document 'a' is out of order"),
        ({"document": ["a", "a", "c", "a"]}, "document 'a' is out of order"),
        ({"pair_topic": [0, 1, 0, 1]}, "out of order"),
        ({"pair_topic": [0, 0, 0, 2]}, "position among the 2 topics"),
        ({"runs": ["r", "r"]}, "two runs are labelled 'r'"),
        ({"ranking": [[[2, 0], [0, -1]], [[1, -1], [-1, -1]]]}, "of its own topic"),
        ({"ranking": [[[-1, 0], [3, -1]], [[1, -1], [-1, -1]]]}, "-1 after the last one only"),
        (
            {"ranking": [[[2, 2], [3, -1]], [[1, -1], [-1, -1]]]},
            "run 'r' ranks topic '2' docu.*'c'",
        ),
        (
            {"grade": [1, 0, 0, 0]},
            "topic '2' document 'c' is judged but has inclusion probability 0",
        ),
        (
            {"design": DESIGN.assign(inclusion_probability=("pair", [0.5, 1.5, 0, 1]))},
            r"topic '2' document 'b' has inclusion probability 1.5; it must lie in \(0, 1\]",
        ),
        (
            {"design": DESIGN.assign(stratum_size=("stratum_id", [3, 1]))},
            "stratum 0 of topic '2' is said to have 3 documents, 1 of them sampled, but has 2 rows",
        ),
        (
            {"design": DESIGN.assign(stratum=("pair", np.array([0, 0, -1, 5])))},
            "position among the 2 strata",
        ),
    ],
)
def test_arrays_that_disagree_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        assembled(**parts)


def test_a_tree_cut_with_isel_is_refused(collection):
    check_collection(collection)
    with pytest.raises(ValueError, match="be.select"):
        check_collection(collection.isel(run=[1]))
    with pytest.raises(ValueError, match="be.select"):
        select(collection.isel(topic=[0]), runs=["r"])
    with pytest.raises(ValueError, match="schema"):
        check_collection(xr.DataTree())


@pytest.mark.parametrize("name", ["collection.nc", "collection.zarr"])
def test_a_saved_collection_opens_identical(collection, tmp_path, name):
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    replicates = assembled(grade=[[1, np.nan, np.nan, 0], [np.nan, 2, np.nan, np.nan]])
    for tree in (collection, replicates, assembled(design=None, predictors=None)):
        save_collection(tree, tmp_path / name)
        opened = open_collection(tmp_path / name)
        assert opened.identical(tree)
        for path in ("topic", "run", "document", "team"):
            assert opened[path].dtype.kind == "U"
        assert opened.attrs == tree.attrs
        if "design" in tree:
            seed = opened["design"].attrs["seed"]
            assert (type(seed), seed) == (int, 7)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_opening_says_what_is_wrong(tmp_path, collection):
    with pytest.raises(ValueError, match="does not exist"):
        open_collection(tmp_path / "missing.nc")
    (tmp_path / "text.nc").write_text("1 0 a 1\n")
    with pytest.raises(ValueError, match="text.nc cannot be read as a collection"):
        open_collection(tmp_path / "text.nc")
    with pytest.raises(ValueError, match="cannot be written because folder"):
        save_collection(collection, tmp_path / "nowhere" / "collection.nc")


@pytest.mark.parametrize("name", ["folder", "folder.nc", "folder.zarr"])
def test_saving_never_replaces_a_folder_that_holds_something_else(collection, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=f"{name} is a folder"):
        save_collection(collection, tmp_path / name)
    (tmp_path / name / "zarr.json").write_text('{"attributes": {"schema": "of another"}}')
    with pytest.raises(ValueError, match=f"{name} is a folder"):
        save_collection(collection, tmp_path / name)
    assert (tmp_path / name / "thesis.tex").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_netcdf_does_not_replace_a_zarr_folder_nor_zarr_a_file(collection, tmp_path):
    (tmp_path / "file.zarr").write_text("text")
    with pytest.raises(ValueError, match="file.zarr is a file, which a .zarr folder cannot"):
        save_collection(collection, tmp_path / "file.zarr")
    pytest.importorskip("zarr")
    save_collection(collection, tmp_path / "c.zarr")
    (tmp_path / "c.zarr").rename(tmp_path / "c.nc")
    with pytest.raises(ValueError, match="c.nc is a folder, which a netCDF file cannot replace"):
        save_collection(collection, tmp_path / "c.nc")


def test_a_saved_folder_stays_when_saving_anew_fails(collection, tmp_path, monkeypatch):
    pytest.importorskip("zarr")
    save_collection(collection, tmp_path / "c.zarr")

    def broken(source, target, replace=os.replace):
        if target == tmp_path / "c.zarr":
            raise OSError("no space left")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", broken)
        with pytest.raises(OSError, match="no space left"):
            save_collection(assembled(design=None), tmp_path / "c.zarr")
    assert open_collection(tmp_path / "c.zarr").identical(collection)
    assert [path.name for path in tmp_path.iterdir()] == ["c.zarr"]


@pytest.mark.parametrize("name", ["design.nc", "nowhere/design.nc"])
def test_a_design_is_not_written_over_a_folder_or_into_none(tmp_path, name):
    (tmp_path / "design.nc").mkdir()
    with pytest.raises(ValueError, match="is a folder, which a file|written because folder"):
        save_design(DESIGN, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["design.nc"]


def test_select_renumbers_positions(collection):
    part = select(collection, topics=["10"])
    assert part["document"].values.tolist() == ["a"]
    assert part["rankings/ranking"].values.tolist() == [[[0]], [[-1]]]
    assert part["design/stratum"].values.tolist() == [0]
    assert part["design/stratum_topic"].values.tolist() == [0]
    assert part["design/stratum_size"].values.tolist() == [1]
    assert part["predictors/llm"].values.tolist() == [1.0]
    assert part["team"].values.tolist() == ["x", ""]
    check_collection(part)


def test_select_leaves_out_pairs_that_nothing_needs(collection):
    part = select(collection, runs=["s"])
    assert part["document"].values.tolist() == ["a", "b", "a"]
    assert part["rankings/ranking"].values.tolist() == [[[1], [-1]]]
    assert part["contributed"].values.tolist() == [False]


def test_select_of_everything_is_the_same(collection):
    assert select(collection, topics=["10", "2"], runs=["r", "s"]).identical(collection)
    assert select(collection, runs=collection["run"]).identical(collection)
    assert select(collection, runs=["s", "r"])["run"].values.tolist() == ["s", "r"]
    assert select(collection, runs={"s", "r"})["run"].values.tolist() == ["r", "s"]
    with pytest.raises(ValueError, match="run 'z' is not in the collection; it has 'r', 's'"):
        select(collection, runs=["z"])


def test_select_takes_labels_in_any_container(collection):
    expected = select(collection, topics=["10"])
    labels = [{"10"}, {"10": 0}.keys(), (text for text in ["10"]), np.array([10]), 10]
    for topics in (*labels, collection["topic"][1]):
        assert select(collection, topics=topics).identical(expected)


def test_new_pairs_are_unjudged_and_outside_the_frame(collection):
    grown = add_pairs(collection, ["10", "3", "2", "2"], ["0", "x", "b", "d"])
    assert grown["topic"].values.tolist() == ["2", "3", "10"]
    assert grown["document"].values.tolist() == ["a", "b", "c", "d", "x", "0", "a"]
    assert grown["rankings/ranking"].values[0].tolist() == [[2, 0], [-1, -1], [6, -1]]
    assert grown["design/inclusion_probability"].values.tolist() == [0.5, 0.5, 0, 0, 0, 0, 1]
    assert grown["design/stratum"].values.tolist() == [0, 0, -1, -1, -1, -1, 1]
    assert grown["design/stratum_topic"].values.tolist() == [0, 2]
    assert not grown["judgments/pooled"].values[[3, 4, 5]].any()
    assert np.isnan(grown["judgments/grade"].values[[3, 4, 5]]).all()
    assert np.isnan(grown["predictors/llm"].values[[3, 4, 5]]).all()
    assert select(grown, topics=["2", "10"], runs=["r", "s"]).identical(collection)
    listed = DESIGN[["inclusion_probability"]].assign_attrs(unlisted="unknown")
    grown = add_pairs(assembled(design=listed), ["2"], ["d"])
    assert np.isnan(grown["design/inclusion_probability"].values[3])
    tree = assembled(grade=[[1, np.nan, np.nan, 0], [np.nan, 2, np.nan, np.nan]])
    grade = add_pairs(tree, ["2"], ["0"])["judgments/grade"].values
    assert grade[1, 2] == 2 and np.isnan(grade[:, 0]).all()


def test_nothing_is_mutated(collection):
    before = collection.copy(deep=True)
    add_pairs(collection, ["2"], ["0"])
    select(collection, runs=["r"])
    with_node(collection, "judgments", None)
    assert collection.identical(before)


def test_a_node_can_be_replaced_or_left_out(collection):
    assert not assemble(topics=["1"], runs=[], document=["a"], pair_topic=[0]).children
    assert "judgments" not in with_node(collection, "judgments", None)
    labelled = DESIGN.assign_coords(topic=["2", "10"], document=("pair", ["a", "b", "c", "a"]))
    assert with_node(collection, "design", labelled).identical(collection)


def test_joining_is_fast_enough_for_large_collections():
    n_topics, n_documents = 50, 4000
    document = np.tile(np.char.zfill(np.arange(n_documents).astype(str), 6), n_topics)
    pair_topic = np.repeat(np.arange(n_topics), n_documents)
    topics = [str(topic) for topic in range(n_topics)]
    tree = assemble(topics=topics, runs=[], document=document, pair_topic=pair_topic)
    shuffled = np.random.default_rng(1).permutation(document.size)
    labels = pd.Series(topics).to_numpy(dtype=object)[pair_topic]
    found = pair_positions(tree, labels[shuffled], document[shuffled])
    np.testing.assert_array_equal(found, shuffled)
