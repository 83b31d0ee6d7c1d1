"""Inferred measures: formulas spelled out, enumerated designs, what the reference prints."""

import re
from math import comb, log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.estimators.inferred import InferredOptions, inferred, sampled_strata
from bayeseval.frame.rankings import CollectionLists, TopicLists
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import preference_scores
from tests.small import every_stratified_sample, small_collection

PRINTED = {
    "infAP": "AP", "infNDCG": "nDCG", "iP10": "P@10", "iP50": "P@50", "iP1000": "P@1000",
    "inum_rel_ret": "NumRelRet", "inum_rel": "NumRel",
}  # fmt: skip
TINY = {"relevant_smoothing": 1e-12, "sampled_smoothing": 3e-12}


def estimate_of(name, topic, **options):
    """Estimates (run, replicate) of a measure by name."""
    measure = parse_measures(name)[0]
    return inferred(measure, topic, InferredOptions(**options)).estimate


def all_topics(collection, name, **options):
    """Estimates (run, topic, replicate)."""
    lists = CollectionLists(collection)
    topics = range(collection.sizes["topic"])
    return np.stack([estimate_of(name, lists.topic(topic), **options) for topic in topics], axis=1)


def lists_of(position, grade, stratum=None, **design) -> TopicLists:
    grade = np.atleast_2d(np.array(grade, dtype=float))
    stratum = None if stratum is None else np.array(stratum, dtype=np.int32)
    pooled = np.ones(grade.shape[1], dtype=bool) if stratum is None else stratum >= 0
    return TopicLists(np.array(position, dtype=np.int32), grade, pooled, stratum=stratum, **design)


@st.composite
def sampled_topics(draw):
    """Two runs over up to 9 documents in three strata (-1: outside), sampled three times."""
    n_pairs = draw(st.integers(2, 9))
    stratum = np.array(draw(st.lists(st.integers(-1, 2), min_size=n_pairs, max_size=n_pairs)))
    columns = st.lists(st.sampled_from([np.nan, 0.0, 1.0, 2.0]), min_size=n_pairs, max_size=n_pairs)
    grade = np.where(stratum >= 0, [draw(columns) for _ in range(3)], np.nan)
    position = np.full((2, n_pairs), -1)
    for run in position:
        order = draw(st.permutations(range(n_pairs)))[: draw(st.integers(0, n_pairs))]
        run[: len(order)] = order
    return lists_of(position, grade, stratum)


def spelled_out(topic: TopicLists, run: int, replicate: int) -> dict[str, float]:
    """The definitions, document by document and stratum by stratum."""
    grade, stratum = topic.grade[replicate], topic.stratum
    ranked = [row for row in topic.position[run] if row >= 0]

    def sampled(rows):
        return [row for row in rows if not np.isnan(grade[row])]

    def relevant(rows):
        return [row for row in rows if grade[row] > 0]

    strata = [np.flatnonzero(stratum == c) for c in range(3)]
    weight = [len(rows) / len(sampled(rows)) if sampled(rows) else 0.0 for rows in strata]
    count = sum(w * len(relevant(rows)) for w, rows in zip(weight, strata, strict=True))

    def expected(rows):
        total = 0.0
        for c in range(3):
            inside = [row for row in rows if stratum[row] == c]
            share = (len(relevant(inside)) + 1e-5) / (len(sampled(inside)) + 3e-5)
            total += len(inside) * share
        return total

    precision, gain = 0.0, 0.0
    for rank, row in enumerate(ranked, start=1):
        if grade[row] > 0:
            precision += weight[stratum[row]] * (1 + expected(ranked[: rank - 1])) / rank
            inside = [other for other in ranked if stratum[other] == stratum[row]]
            gain += len(inside) / len(sampled(inside)) * grade[row] / log2(rank + 1)
    ideal = []
    for level in (2, 1):
        number = sum(
            w * np.count_nonzero(grade[rows] == level)
            for w, rows in zip(weight, strata, strict=True)
        )
        ideal += [level] * int(np.floor(number + 0.5 + 1e-9))
    ideal_gain = sum(level / log2(rank + 1) for rank, level in enumerate(ideal, start=1))
    return {
        "AP": precision / count if count else 0.0,
        "nDCG": gain / ideal_gain if ideal_gain else 0.0,
        "P@3": expected(ranked[:3]) / 3,
        "NumRelRet": expected(ranked),
        "NumRel": count,
    }


@given(sampled_topics())
def test_every_inferred_measure_equals_its_formula_spelled_out(topic):
    for name in ("AP", "nDCG", "P@3", "NumRelRet", "NumRel"):
        estimate = estimate_of(name, topic)
        for run in range(2):
            for replicate in range(3):
                if np.isnan(topic.grade[replicate]).all():
                    assert np.isnan(estimate[run, replicate])
                else:
                    right = spelled_out(topic, run, replicate)[name]
                    np.testing.assert_allclose(estimate[run, replicate], right, rtol=1e-9)


@given(sampled_topics())
def test_with_one_stratum_it_is_trec_evals_infap_up_to_the_constant(topic):
    grade, pooled = topic.grade, topic.stratum >= 0
    unstratified = TopicLists(topic.position, grade, pooled)
    estimate = estimate_of("AP", unstratified, relevant_smoothing=1e-5, sampled_smoothing=2e-5)
    infap = parse_measures("infAP")[0]
    for replicate in np.flatnonzero(~np.isnan(grade).all(axis=1)):
        right = preference_scores(infap, topic.position, grade[replicate], pooled)
        np.testing.assert_allclose(estimate[:, replicate], right, rtol=1e-9)


def test_average_precision_of_a_worked_example():
    # ranks: 1 sampled relevant (A), 2 not sampled (B), 3 not pooled, 4 sampled relevant (B)
    topic = lists_of([[0, 1, 4, 2]], [[1, np.nan, 1, 0, np.nan]], [0, 1, 1, 1, -1])
    precision = (1 + 1 + 1 / 3) / 4  # above rank 4: one sure relevant, one taken for a third
    right = (1 * 1 + 3 / 2 * precision) / (1 + 3 / 2)
    np.testing.assert_allclose(estimate_of("AP", topic), [[right]], rtol=1e-4)


@pytest.mark.parametrize("name", ["AP", "AP(rel=2)", "AP@3", "nDCG", "nDCG@3", "P@3", "NumRel"])
def test_complete_judgments_give_the_measure_itself(name):
    collection = small_collection()
    design = be.designs.uniform_strata(collection, budget=9, n_strata=3, random_seed=2)
    complete = be.reveal(collection, design, be.draw(design, random_seed=0))
    plain = be.evaluate(collection, name, estimator="assumed").estimate.isel(measure=0)
    estimate = all_topics(complete, name, **TINY)[..., 0]
    np.testing.assert_allclose(estimate, plain.transpose("run", "topic"), atol=1e-9)
    unstratified = all_topics(collection, name, **TINY)[..., 0]
    np.testing.assert_allclose(unstratified, plain.transpose("run", "topic"), atol=1e-9)


def every_sample():
    """A small collection, a design with three strata a topic, and all its samples."""
    collection = small_collection()
    design = be.designs.pps_strata(collection, budget=4, n_strata=3)
    return collection, design, be.reveal(collection, design, every_stratified_sample(design))


@pytest.mark.parametrize("cutoff", [1, 3, 5])
def test_precision_is_biased_towards_a_third_by_strata_without_a_sampled_document(cutoff):
    collection, design, sampled = every_sample()
    mean = all_topics(sampled, f"P@{cutoff}", **TINY).mean(axis=-1)
    plain = be.evaluate(collection, f"P@{cutoff}", estimator="assumed").estimate.isel(measure=0)
    bias = mean - plain.transpose("run", "topic").to_numpy()
    stratum = design["stratum"].to_numpy()
    relevant = collection["judgments/grade"].to_numpy() > 0
    predicted = np.zeros(bias.shape)
    ranking = collection["rankings/ranking"].to_numpy()[:, :, :cutoff]
    for run, topic in np.ndindex(bias.shape):
        top = ranking[run, topic]
        top = top[top >= 0]
        for number in np.unique(stratum[top]):
            inside = top[stratum[top] == number]
            size = int(design["stratum_size"][number])
            drawn = int(design["stratum_sample_size"][number])
            unseen = comb(size - inside.size, drawn) / comb(size, drawn)
            share = relevant[inside].mean()
            predicted[run, topic] += inside.size * unseen * (1 / 3 - share) / cutoff
    np.testing.assert_allclose(bias, predicted, atol=1e-9)
    assert np.abs(predicted).max() > 0.05


def test_precision_of_a_uniform_sample_is_further_off_the_more_strata_it_is_cut_into():
    collection = small_collection()
    truth = be.evaluate(collection, "P@3", estimator="assumed").estimate.isel(measure=0)
    errors = []
    for n_strata in (1, 4):
        design = be.designs.uniform_strata(collection, budget=4, n_strata=n_strata, random_seed=1)
        sampled = be.reveal(collection, design, every_stratified_sample(design))
        bias = all_topics(sampled, "P@3").mean(axis=-1) - truth.transpose("run", "topic").values
        errors.append(np.abs(bias).mean())
    assert errors[0] < 0.5 * errors[1]


def test_evaluate_gives_the_same_and_hands_the_constants_on():
    _, _, sampled = every_sample()
    options = {"relevant_smoothing": 0.5, "sampled_smoothing": 1.0}
    names = ["AP", "nDCG@3", "P@3", "NumRel", "NumRelRet"]
    scores = be.evaluate(sampled, names, estimator="inf", estimator_options=options)
    for name, values in zip(names, scores.estimate.transpose("measure", "run", ...), strict=True):
        right = all_topics(sampled, name, **options)
        np.testing.assert_allclose(values.transpose("run", "topic", "replicate"), right)


def test_number_of_relevant_documents_is_unbiased_under_every_sample_and_equals_stat():
    collection, _, sampled = every_sample()
    estimate = all_topics(sampled, "NumRel")
    truth = be.evaluate(collection, "NumRel", estimator="assumed").estimate.isel(measure=0)
    right = truth.transpose("run", "topic").to_numpy()
    np.testing.assert_allclose(estimate.mean(axis=-1), right, rtol=1e-12)
    stat = be.evaluate(sampled, "NumRel", estimator="stat").estimate.isel(measure=0)
    np.testing.assert_allclose(estimate, stat.transpose("run", "topic", "replicate"), rtol=1e-6)


def test_gain_of_a_list_that_holds_the_whole_pool_is_unbiased():
    _, _, sampled = every_sample()
    strata = sampled_strata(parse_measures("nDCG")[0], CollectionLists(sampled).topic(0))
    weight = 1 / np.log2(np.arange(2.0, strata.position.shape[1] + 2.0))
    gain = strata.expanded_sum(weight, strata.gain, np.zeros(2))
    truth = be.evaluate(small_collection(), "DCG@9", estimator="assumed").estimate
    for run in ("a", "b"):  # they retrieve all nine documents
        index = {"a": 0, "b": 1}[run]
        right = truth.sel(run=run, topic="1").item()
        np.testing.assert_allclose(gain[index].mean(), right, rtol=1e-12)
        assert gain[index].std() > 0.1


def test_nothing_relevant_sampled_scores_as_in_the_reference_program():
    topic = lists_of([[0, 1, 2, 3]], [[0, np.nan, np.nan, 0]], [0, 0, 1, 2])
    assert all(estimate_of(name, topic)[0, 0] == 0.0 for name in ("AP", "nDCG", "NumRel"))
    # stratum 1 has no sampled document at all: a third of its one document
    np.testing.assert_allclose(estimate_of("P@4", topic), [[1 / 12]], atol=1e-5)


def test_a_replicate_without_a_judgment_has_no_estimate_and_a_run_without_documents_0():
    topic = lists_of([[0, 1], [-1, -1]], [[1, np.nan], [np.nan, np.nan]], [0, 0])
    for name in ("AP", "nDCG", "P@2", "NumRel", "NumRelRet"):
        estimate = estimate_of(name, topic)
        assert np.isnan(estimate[0]).tolist() == [False, True]
        assert name == "NumRel" or estimate[1, 0] == 0.0


def test_strata_are_of_the_sizes_of_the_design_and_equal_probabilities_are_one():
    sizes = np.array([50, 4, 10])
    topic = lists_of([[0, 1]], [[1, 0, np.nan]], [1, 2, 2], stratum_size=sizes)
    np.testing.assert_allclose(estimate_of("NumRel", topic), [[4.0]])
    chance = np.array([0.5, 0.5, 0.5, 0.5, 0.0])
    grade = [[1, 0, np.nan, np.nan, np.nan]]
    topic = lists_of([[0, 1]], grade, np.full(5, -1), inclusion_probability=chance)
    np.testing.assert_allclose(estimate_of("NumRel", topic), [[2.0]])


UNEQUAL, UNKNOWN = ({"inclusion_probability": np.array([first, 0.5])} for first in (0.9, np.nan))


@pytest.mark.parametrize(
    ("stratum", "design", "options", "message"),
    [
        ([-1, -1], UNEQUAL, {}, "need strata, or one inclusion probability"),
        ([-1, -1], UNKNOWN, {}, "need strata, or one inclusion probability"),
        ([0, -1], {}, {}, "1 judged documents are outside the strata"),
        ([0, 0], {}, {"relevant_smoothing": 0.0, "sampled_smoothing": 0.0},
         "sampled_smoothing > 0, not 0.0 and 0.0"),
        ([0, 0], {}, {"relevant_smoothing": 0.1, "sampled_smoothing": 0.01},
         "0 <= relevant_smoothing <= sampled_smoothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_inferred_is_refused(stratum, design, options, message):
    with pytest.raises(ValueError, match=message):
        estimate_of("AP", lists_of([[0]], [[1, 0]], stratum, **design), **options)


@pytest.fixture(scope="module")
def oracle(real_data):
    folder = real_data.parent / "oracle"
    if not folder.is_dir():
        pytest.skip("no folder of reference output beside the real collections")
    return folder


@pytest.fixture(scope="module")
def stratified(oracle, round5_runs):
    """Sampled round-5 collection, with the reference program's output by run."""
    folder = oracle / "trec-covid-round5"
    printed = {
        path.name.removeprefix("covid-r5.").removesuffix(".sampleval"): path.read_text()
        for path in sorted(folder.glob("*.sampleval"))
    }
    runs = [round5_runs / name for name in printed]
    qrels = folder / "covid-r5.sample.qrels"
    return be.read_collection(qrels, runs, qrels_format="sampleval"), list(printed.values())


def test_every_digit_the_reference_program_prints_per_topic_and_on_average(stratified):
    collection, printed = stratified
    topics = collection["topic"].to_numpy().tolist()
    estimate = {key: all_topics(collection, name)[..., 0] for key, name in PRINTED.items()}
    compared = 0
    for run, text in enumerate(printed):
        for key, topic, value in re.findall(r"^(\w+)\s+(\w+)\s+([\d.]+)$", text, re.MULTILINE):
            if key not in estimate:
                assert key == "num_ret"
                continue
            ours = estimate[key][run]
            if topic != "all":
                score = ours[topics.index(topic)]
            else:
                score = ours.sum() if key.startswith("inum") else ours.mean()
            assert f"{score:.4f}" == value, (run, key, topic)
            compared += 1
    assert compared == 11 * 51 * 7


def test_the_values_of_the_small_reference_example(oracle):
    collection = be.read_collection(
        oracle / "xinf.qrel", oracle / "xinf.run", qrels_format="sampleval"
    )
    values = [f"{all_topics(collection, name).item():.4f}" for name in ("AP", "nDCG", "NumRel")]
    assert values == ["0.1852", "0.4162", "9.4545"]


@pytest.mark.filterwarnings("ignore:no document of the judgments is in a run")
def test_the_estimated_numbers_of_relevant_documents_that_precision_medicine_2017_published(
    real_data,
):
    folder = real_data / "pm2017"
    published = pd.read_csv(folder / "published-inum_rel.csv", dtype={"topic": str})
    topics = published["topic"][published["topic"] != "all"]
    run = pd.DataFrame({"run": "none", "topic": topics, "document": "none", "score": 1.0})
    collection = be.read_collection(
        folder / "sample-qrels-final-abstracts.2017.txt.gz", run, qrels_format="sampleval"
    )
    count = pd.Series(all_topics(collection, "NumRel")[0, :, 0], collection["topic"].to_numpy())
    count["all"] = count.sum()
    right = published.set_index("topic")["inum_rel"]
    assert len(topics) == 30
    assert [f"{count[topic]:.4f}" for topic in right.index] == [f"{x:.4f}" for x in right]
