"""Labels of other judges join by label, are learned from, and cost little where they are bad."""

import warnings

import ir_measures
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.collection.schema import label_names, predictor_columns
from bayeseval.designs.prepared import labelled_order
from tests.small import every_stratified_sample, small_collection

FILES = {
    "qrels": "1 0 d0 2\n1 0 d3 0.5\n2 0 d1 1\n",
    "three": "1 d0 2\n1 d3 0.5\n# comment\n2 d1 1\n",
    "csv": "qid,docno,label\n1,d0,2\n1,d3,0.5\n2,d1,1\n2,d2,\n",
    "other order": "\ufeffwhy;probability;Doc_ID;query_id\r\na;2;d0;1\r\n;.5;d3;1\r\nc;1;d1;2\r\n",
    "quoted": 'QID,query,docno,gpt,why\n1,x,d0,2,"yes, it\nis"\n1,x,d3,0.5,no\n2,y,d1,1,\n',
    "capitals": "TOPIC,Document,Label\n1,d0,2\n1,d3,0.5\n2,d1,1\n",
    "judge in capitals": "topic,document,GPT\n1,d0,2\n1,d3,0.5\n2,d1,1\n",
    "joined": "topic,document,label\n1,d0,2\n1,d3,0.5\ntopic,document,label\n2,d1,1\n",
    "tsv": "topic\tdocument\tgrade\n1\td0\t2\n1\td3\t0.5\n\n2\td1\t1\n",
    "blanks, old line ends": "topic, document, label\r1, d0, 2\r1, d3, 0.5\r2, d1, 1\r",
    "qrels with header": "query_id iter doc_id relevance\n1 0 d0 2\n1 0 d3 0.5\n2 0 d1 1\n",
    "JSON": '{"1": {"d0": 2, "d3": 0.5}, "2": {"d1": 1}}',
    "JSON lines": """{"qid": 1, "docno": "d0", "label": 2, "why": "yes, it is"}
{"qid": 1, "docno": "d3", "label": "0.5"}

{"qid": 2, "docno": "d1", "label": 1}
{"qid": 2, "docno": "d2", "label": null}
""",
}
TABLE = pd.DataFrame({"topic": [1, 1, 2], "document": ["d0", "d3", "d1"], "label": [2, 0.5, 1]})
TUPLES = [ir_measures.Qrel(str(t), d, x) for t, d, x in TABLE.itertuples(index=False)]
SAME = {
    "frame": TABLE,
    "judge's name": TABLE.rename(columns={"label": "gpt"}),
    "PyTerrier": TABLE.rename(columns={"topic": "qid", "document": "docno"}),
    "ir_measures": TABLE.set_axis(["query_id", "doc_id", "relevance"], axis=1),
    "tuples": TUPLES,
    "dict": {"1": {"d0": 2, "d3": 0.5}, "2": {"d1": 1.0}},
}


PAIRS = [("1", "d0"), ("1", "d3"), ("2", "d1")]


def values(collection, name="gpt") -> dict:
    """Labels by topic and document."""
    column = collection[f"predictors/{name}"].to_numpy()
    topic = collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()]
    known = np.flatnonzero(~np.isnan(column))
    return {(topic[i], collection["document"].to_numpy()[i]): column[i] for i in known}


@pytest.mark.parametrize("name", FILES)
def test_labels_of_a_file_join_by_topic_and_document(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    labelled = be.add_predictions(small_collection(), "gpt", tmp_path / name)
    assert values(labelled) == {("1", "d0"): 2.0, ("1", "d3"): 0.5, ("2", "d1"): 1.0}


def test_scores_of_a_run_are_labels_with_a_warning(tmp_path):
    (tmp_path / "gpt").write_text("1 Q0 d0 1 2 gpt\n1 Q0 d3 2 0.5 gpt\n2 Q0 d1 1 1 gpt\n")
    with pytest.warns(UserWarning, match="gpt: 6 fields, as in a run; its scores are read as"):
        labelled = be.add_predictions(small_collection(), "gpt", tmp_path / "gpt")
    assert values(labelled) == {("1", "d0"): 2.0, ("1", "d3"): 0.5, ("2", "d1"): 1.0}


@pytest.mark.parametrize("name", SAME)
def test_labels_of_frames_dicts_and_tuples_are_the_same(name):
    labelled = be.add_predictions(small_collection(), "gpt", SAME[name])
    assert values(labelled) == {("1", "d0"): 2.0, ("1", "d3"): 0.5, ("2", "d1"): 1.0}


def test_several_judges_come_from_one_frame_or_from_a_list():
    table = TABLE.assign(llama=[0.1, np.nan, 0.3]).rename(columns={"label": "gpt"})
    one = be.add_predictions(small_collection(), ["gpt", "llama"], table)
    other = be.add_predictions(small_collection(), ["gpt", "llama"], [TABLE, table[
        ["topic", "document", "llama"]].dropna()])  # fmt: skip
    xr.testing.assert_identical(one["predictors"].to_dataset(), other["predictors"].to_dataset())
    assert label_names(one) == ["gpt", "llama"]
    assert len(values(one, "llama")) == 2


def test_labels_stay_with_their_pairs_when_runs_are_added_topics_cut_and_files_written(tmp_path):
    labelled = be.add_predictions(small_collection(), "gpt", TABLE)
    grown = be.add_runs(labelled, {"new": {"1": {"a0": 2, "d0": 1}}})
    be.save_collection(grown, tmp_path / "c.nc")
    again = be.select(be.open_collection(tmp_path / "c.nc"), topics=["1"])
    assert values(again) == {("1", "d0"): 2.0, ("1", "d3"): 0.5}
    assert label_names(again) == ["gpt"]


def test_labels_of_unknown_pairs_are_counted():
    more = pd.concat([TABLE, pd.DataFrame({"topic": ["1", "9"], "document": "x", "label": 1})])
    with pytest.warns(UserWarning, match="2 of 5 labels are left out.*topic '1' document 'x'"):
        labelled = be.add_predictions(small_collection(), "gpt", more)
    assert len(values(labelled)) == 3


def test_a_series_with_topics_and_documents_in_its_index_serves_as_labels_and_judgments():
    column = TABLE.set_index(["topic", "document"])["label"]
    labelled = be.add_predictions(small_collection(), "gpt", column)
    assert values(labelled) == values(be.add_predictions(small_collection(), "gpt", TABLE))
    grades = column.round().astype(int)
    read = be.trec.qrels_frame(be.read_collection(grades, {"r": {"1": {"d0": 1}}}))
    assert read.grade.tolist() == grades.tolist()


def test_a_missing_label_is_neither_counted_nor_that_of_a_pair():
    none = pd.DataFrame({"topic": ["1", "1"], "document": ["a0", "y"], "label": np.nan})
    stray = pd.DataFrame({"topic": ["1"], "document": "x", "label": 1})
    with pytest.warns(UserWarning, match="1 of 4 labels are left out.*topic '1' document 'x'"):
        be.add_predictions(small_collection(), "gpt", pd.concat([none, TABLE, stray]))
    with pytest.raises(ValueError, match="none of 1 labels is of a pair of the coll.*document 'x'"):
        be.add_predictions(small_collection(), "gpt", pd.concat([none, stray]))


def test_a_label_below_0_is_no_label(tmp_path):
    (tmp_path / "gpt.csv").write_text("topic,document,label\n1,d0,2\n1,d3,-1\n2,d1,0.5\n2,d2,-2\n")
    with pytest.warns(UserWarning, match="gpt.csv: 2 of 4 labels are below 0 .the lowest is -2. a"):
        labelled = be.add_predictions(small_collection(), "gpt", tmp_path / "gpt.csv")
    assert values(labelled) == {("1", "d0"): 2.0, ("2", "d1"): 0.5}
    with pytest.warns(UserWarning, match="2 of 2 labels are below 0"):
        with pytest.raises(ValueError, match="no document has a label, all 2 are missing"):
            be.add_predictions(small_collection(), "gpt", {"1": {"d0": -1, "d3": -1}})


def test_every_assessor_of_a_table_is_a_judge(tmp_path):
    grades = {"ann": [2, 0, 1], "bob": [1, 0, 0]}
    table = pd.concat(
        [TABLE.drop(columns="label").assign(Assessor=name, grade=of) for name, of in grades.items()]
    ).sample(frac=1, random_state=1)
    table.to_csv(tmp_path / "assessors.csv", sep=";", index=False)
    for source in (table, tmp_path / "assessors.csv", str(tmp_path / "assessors.csv")):
        labelled = be.add_predictions(small_collection(), None, source)
        assert sorted(label_names(labelled)) == ["ann", "bob"]
        for name, of in grades.items():
            assert [values(labelled, name)[pair] for pair in PAIRS] == of
    judged = be.read_collection({"1": {"d0": 1, "d3": 0}, "2": {"d1": 1}})
    labelled = be.add_predictions(judged, None, table)
    found = {name: be.label_agreement(labelled, name).estimate for name in grades}
    agreement = {name: of.sel(quantity="agreement").item() for name, of in found.items()}
    assert agreement == pytest.approx({"ann": 1.0, "bob": 2 / 3})
    assert found["bob"].sel(quantity="sensitivity") == pytest.approx(0.5)


def test_a_table_of_assessors_names_them(tmp_path):
    (tmp_path / "f.csv").write_text("topic,document,grade\n1,d0,1\n")
    with pytest.raises(
        ValueError, match="f.csv must be a table with a column assessor .*there are"
    ):
        be.add_predictions(small_collection(), None, tmp_path / "f.csv")
    (tmp_path / "f.csv").write_text("topic,document,rater,grade\n1,d0,x,1\n1,d3,,1\n")
    with pytest.raises(ValueError, match="f.csv, line 3: no rater is named"):
        be.add_predictions(small_collection(), None, tmp_path / "f.csv")


def test_scores_of_a_model_may_be_below_0():
    scores = {"1": {"d0": -1.0, "d3": -0.25}, "2": {"d1": 3.0}}
    labelled = be.add_predictions(small_collection(), "reranker", scores)
    assert len(values(labelled, "reranker")) == 3


@pytest.fixture(scope="module")
def samples():
    """A collection with good, constant and useless labels, and 20 samples of it."""
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.4, 0.8], n_topics=20, prevalence=0.05, n_documents=400, random_seed=3
    )
    grade = collection["judgments/grade"].to_numpy()
    random = np.random.default_rng(1)
    wrong = random.random(grade.size) < 0.1
    table = pd.DataFrame(
        {
            "topic": collection["topic"].to_numpy()[collection["pair_topic"].to_numpy()],
            "document": collection["document"].to_numpy(),
            "good": np.where(wrong, 1 - grade, grade),
            "chance": random.integers(0, 4, grade.size),
        }
    )
    table["partly"] = table["good"].where(random.random(grade.size) < 0.5)
    design = be.designs.pps_strata(collection, budget=40)
    return collection, table, design, be.draw(design, n_replicates=20, random_seed=1)


def errors(samples, names, predictor=None):
    """RMS error of mean P@10, and mean standard error."""
    collection, table, design, selected = samples
    truth = be.evaluate(collection, "P@10", estimator="assumed").estimate.mean("topic")
    labelled = be.add_predictions(collection, names, table) if names else collection
    sampled = be.reveal(labelled, design, selected)
    mean = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="dyn", predictor=predictor))
    error = float(((mean.estimate - truth) ** 2).mean() ** 0.5)
    return error, float(mean.standard_error.mean()), mean.attrs["predictor"]


def test_good_labels_shorten_and_bad_ones_cost_little(samples):
    without = errors(samples, [])
    good = errors(samples, ["good"])
    partly = errors(samples, ["partly"])
    chance = errors(samples, ["chance"])
    assert good[2] == "pooled:good"
    assert good[0] < 0.85 * without[0] and good[1] < 0.85 * without[1]
    assert partly[0] < without[0] and partly[1] < 0.95 * without[1]
    assert chance[0] < 1.05 * without[0] and chance[1] < 1.05 * without[1]
    both = errors(samples, ["good", "chance"])
    assert both[2] == "pooled:good+chance" and both[0] < 0.9 * without[0]


def test_raw_labels_warn_and_may_be_left_out(samples):
    with pytest.warns(UserWarning, match="'good' are taken for the relevance as they are"):
        errors(samples, ["good"], ("external", "good"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert errors(samples, ["good"], "pooled") == errors(samples, [], None)


def test_columns_of_one_variable_go_by_the_labels_of_its_dim():
    values = np.arange(8.0).reshape(2, 4)
    both = xr.DataArray(values, dims=("predictor", "pair"), coords={"predictor": ["a", "b"]})
    pairs = {"plain": ("pair", -values[0]), "both": both}
    collection = xr.DataTree.from_dict({"predictors": xr.Dataset(pairs)})
    columns = predictor_columns(collection)
    assert list(columns) == ["plain", "a", "b"]
    np.testing.assert_array_equal(list(columns.values()), [-values[0], *values])


def test_columns_that_are_no_labels_are_not_learned_from_unasked():
    collection = small_collection()
    design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    scores = be.evaluate(sampled, "P@3", estimator="dyn")
    assert scores.attrs["predictor"] == "pooled"
    with pytest.raises(ValueError, match="no column 'gpt' for predictor 'pooled'"):
        be.evaluate(sampled, "P@3", estimator="dyn", predictor=("pooled", ["llm", "gpt"]))


def test_strata_follow_labels_by_at_most_a_factor_of_two_each_way(samples):
    collection, table, _, _ = samples
    labelled = be.add_predictions(collection, ["good", "partly"], table)
    design = be.designs.pps_strata(labelled, budget=40, labels="good")
    plain = be.designs.pps_strata(labelled, budget=40)
    relevant = collection["judgments/grade"].to_numpy() > 0
    assert '"labels": ["good"]' in design.attrs["parameters"]
    chance = design["inclusion_probability"].to_numpy()
    before = plain["inclusion_probability"].to_numpy()
    assert chance[relevant].mean() > 1.1 * before[relevant].mean()
    random = np.random.default_rng(0)
    place = np.argsort(labelled_order(random.random((200, 1)))) + 1
    assert (place <= 4 * np.arange(1, 201)).all() and (4 * place >= np.arange(1, 201)).all()
    with pytest.raises(ValueError, match="no labels named 'x'; added by .*: good, partly"):
        be.designs.poisson(labelled, budget=40, labels=["good", "x"])


def test_estimates_from_strata_by_labels_are_unbiased_over_every_sample():
    collection = be.add_predictions(
        small_collection(), "gpt", {"1": {"d8": 3, "d0": 0, "d5": 1}, "2": {"d7": 1}}
    )
    for topic in ("1", "2"):
        alone = be.select(collection, topics=[topic])
        design = be.designs.pps_strata(alone, budget=4, n_strata=2, labels="gpt")
        truth = be.evaluate(alone, ["P@3", "DCG@4"], estimator="assumed").estimate
        sampled = be.reveal(alone, design, every_stratified_sample(design))
        scores = be.evaluate(sampled, ["P@3", "DCG@4"], estimator="dyn").estimate
        mean = scores.mean("replicate").transpose(*truth.dims)
        np.testing.assert_allclose(mean, truth, atol=1e-12)
