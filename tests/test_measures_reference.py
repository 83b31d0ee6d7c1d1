"""Measures on complete judgments against pytrec_eval, NIST's published means and hand values."""

import csv
import gzip

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

import bayeseval as be

# ours, what to ask pytrec_eval for, the key it answers under
REFERENCE = [
    ("P@5", "P.5", "P_5"),
    ("P@10", "P.10", "P_10"),
    ("P@1000", "P.1000", "P_1000"),
    ("nDCG@10", "ndcg_cut.10", "ndcg_cut_10"),
    ("nDCG@1000", "ndcg_cut.1000", "ndcg_cut_1000"),
    ("nDCG", "ndcg", "ndcg"),
    ("AP", "map", "map"),
    ("AP@100", "map_cut.100", "map_cut_100"),
    ("Rprec", "Rprec", "Rprec"),
    ("R@10", "recall.10", "recall_10"),
    ("R@1000", "recall.1000", "recall_1000"),
    ("RR", "recip_rank", "recip_rank"),
    ("Success@1", "success.1", "success_1"),
    ("Success@10", "success.10", "success_10"),
    ("SetP", "set_P", "set_P"),
    ("SetR", "set_recall", "set_recall"),
    ("SetF", "set_F", "set_F"),
    ("IPrec@0", "iprec_at_recall.0.0", "iprec_at_recall_0.00"),
    ("IPrec@0.3", "iprec_at_recall.0.3", "iprec_at_recall_0.30"),
    ("IPrec@1", "iprec_at_recall.1.0", "iprec_at_recall_1.00"),
    ("Bpref", "bpref", "bpref"),
    ("infAP", "infAP", "infAP"),
    ("NumRel", "num_rel", "num_rel"),
    ("NumRet", "num_ret", "num_ret"),
    ("NumRelRet", "num_rel_ret", "num_rel_ret"),
]
OURS = [name for name, _, _ in REFERENCE]


def pytrec_eval_scores(qrels, runs, topics, *, level=1):
    """Scores (measure, run, topic) by pytrec_eval; a topic that a run lacks is 0."""
    asked = {measure for _, measure, _ in REFERENCE}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, asked, relevance_level=level)
    scores = np.zeros((len(REFERENCE), len(runs), len(topics)))
    for row, run in enumerate(runs):
        answer = evaluator.evaluate(run)
        for column, topic in enumerate(topics):
            if topic in answer:
                scores[:, row, column] = [answer[topic][key] for _, _, key in REFERENCE]
    return scores


def read_as_dicts(path, n_fields, key, value):
    """Topic -> document -> number, as pytrec_eval takes it."""
    table = {}
    with open(path) as lines:
        for line in lines:
            fields = line.split(maxsplit=n_fields)
            table.setdefault(fields[0], {})[fields[2]] = key(fields[value])
    return table


@pytest.mark.parametrize("level", [1, 2])
def test_every_measure_equals_pytrec_eval_on_random_files(tmp_path, level):
    rng = np.random.default_rng(11)
    topics, documents = ["1", "2", "3", "11"], [f"d{number:02d}" for number in range(25)]
    lines = [
        f"{topic} 0 {document} {grade}"
        for topic in topics
        for document in documents
        if (grade := rng.choice([-1, 0, 1, 2, 3, 9], p=[0.2, 0.3, 0.15, 0.1, 0.05, 0.2])) != 9
    ]
    (tmp_path / "qrels").write_text("\n".join(lines) + "\n")
    for name in ("a", "b", "c"):
        retrieved = [
            f"{topic}\tQ0 {document} 0 {rng.integers(6)} {name}"
            for topic in topics[: None if name == "a" else 3]
            for document in rng.choice(documents, size=rng.integers(1, 25), replace=False)
        ]
        (tmp_path / name).write_text("\n".join(retrieved) + "\n")
    qrels = read_as_dicts(tmp_path / "qrels", 4, int, 3)
    runs = [read_as_dicts(tmp_path / name, 6, float, 4) for name in "abc"]
    expected = pytrec_eval_scores(qrels, runs, topics, level=level)
    # pytrec_eval takes no relevance level for num_rel
    same = [index for index, name in enumerate(OURS) if level == 1 or name != "NumRel"]
    collection = be.read_collection(
        str(tmp_path / "qrels"), [str(tmp_path / name) for name in "abc"]
    )
    names = [OURS[index] for index in same]
    scores = be.evaluate(collection, names, estimator="assumed", relevance_level=level)
    actual = scores["estimate"].transpose("measure", "run", "topic").sel(topic=topics)
    known = expected[same]
    # a run without a topic has no number of relevant documents in pytrec_eval
    if "NumRel" in names:
        missing = [OURS.index("NumRel"), slice(1, 3), 3]
        known[tuple(missing)] = actual.values[tuple(missing)]
    np.testing.assert_allclose(actual.values, known, rtol=0, atol=1e-9)


def test_rank_biased_precision_by_hand():
    # p = .5, relevant, not, relevant: .5 + .125 = .625; graded: (.5 * 1 + .125 * .5)
    collection = be.read_collection(*hand_made([2, 0, 1]))
    plain = be.evaluate(collection, ["RBP(p=0.5)", "RBP(p=0.5)@2"], estimator="assumed")
    np.testing.assert_allclose(plain["estimate"].values.ravel(), [0.625, 0.5], rtol=1e-12)
    for gain in ({0: 0.0, 1: 0.5, 2: 1.0}, lambda grade: grade / 2):
        graded = be.evaluate(collection, "RBP(p=0.5)", estimator="assumed", gain=gain)
        np.testing.assert_allclose(graded["estimate"].item(), 0.5625, rtol=1e-12)


def test_discounted_gain_by_hand():
    collection = be.read_collection(*hand_made([2, 0, 1]))
    names = ["DCG", "DCG@2", "nDCG", "DCG(dcg='exp-log2')", "nDCG(gains={2:5})@1"]
    scores = be.evaluate(collection, names, estimator="assumed")["estimate"]
    dcg, ideal = 2 + 1 / 2, 2 + 1 / np.log2(3)
    expected = [dcg, 2.0, dcg / ideal, 3 + 1 / 2, 1.0]
    np.testing.assert_allclose(scores.values.ravel(), expected, rtol=1e-12)


def hand_made(grades):
    """Qrels and one run of one topic with these grades down the ranking."""

    documents = [f"d{number}" for number in range(len(grades))]
    qrels = pd.DataFrame({"topic": "1", "document": documents, "grade": grades})
    score = -np.arange(len(grades), dtype=float)
    run = pd.DataFrame({"run": "r", "topic": "1", "document": documents, "score": score})
    return qrels, run


def read_qrels_as_dicts(path):
    """Topic -> document -> grade."""
    with gzip.open(path, "rt") as lines:
        table = {}
        for line in lines:
            topic, _, document, grade = line.split()
            table.setdefault(topic, {})[document] = int(grade)
    return table


def official(path, tag):
    """Rows of NIST's published means, by run."""
    with open(path) as lines:
        return {row[tag]: row for row in csv.DictReader(lines)}


def as_printed(mean, measure, rows, column):
    """Number of runs whose mean, printed to 4 decimals, is the published text."""
    ours = mean["estimate"].sel(measure=measure)
    return sum(f"{ours.sel(run=run).item():.4f}" == row[column] for run, row in rows.items())


@pytest.fixture(scope="module")
def round5(real_data, round5_runs):
    """The 126 round-5 runs, scores compared as float32, as official scores were."""
    qrels = real_data / "trec-covid" / "qrels.covid-round5.txt.gz"
    return be.read_collection(qrels, f"{round5_runs}/*", score_type="float32")


def test_every_measure_equals_pytrec_eval_on_real_runs(real_data, round5, round5_runs):
    """Every sixth run of 126."""
    some = be.select(round5, runs=round5["run"].values[::6].tolist())
    scores = be.evaluate(some, OURS, estimator="assumed")["estimate"]
    scores = scores.transpose("measure", "run", "topic")
    assert scores.shape == (len(OURS), 21, 50)
    qrels = read_qrels_as_dicts(real_data / "trec-covid" / "qrels.covid-round5.txt.gz")
    for run in scores["run"].values:
        ranking = read_as_dicts(round5_runs / run, 6, float, 4)
        expected = pytrec_eval_scores(qrels, [ranking], scores["topic"].values)[:, 0]
        np.testing.assert_allclose(scores.sel(run=run), expected, rtol=0, atol=1e-9)


def test_published_means_of_round_5(real_data, round5):
    rows = official(real_data / "trec-covid" / "round5-official.csv", "tag")
    names = ["AP", "P@20", "nDCG@20", "Bpref"]
    mean = be.mean_over_topics(be.evaluate(round5, names, estimator="assumed"))
    columns = ["map", "P@20", "ndcg@20", "bpref"]
    agree = [
        as_printed(mean, *pair[:1], rows, pair[1]) for pair in zip(names, columns, strict=True)
    ]
    assert (len(rows), agree) == (126, [126] * 4)
    graded = be.evaluate(round5, "RBP(p=0.5)", estimator="assumed", gain=lambda grade: grade / 2)
    assert as_printed(be.mean_over_topics(graded), "RBP(p=0.5)", rows, "rbp_p5") >= 124


def test_published_means_of_round_1(real_data, round1_runs):
    folder = real_data / "trec-covid"
    collection = be.read_collection(
        folder / "qrels.covid-round1.txt.gz", f"{round1_runs}/*", score_type="float32"
    )
    rows = official(folder / "round1-official.csv", "run")
    mean = be.mean_over_topics(be.evaluate(collection, "AP", estimator="assumed"))
    assert (len(rows), as_printed(mean, "AP", rows, "MAP")) == (143, 143)
