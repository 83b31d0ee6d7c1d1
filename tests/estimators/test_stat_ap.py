"""statAP: formulas spelled out, enumerated designs and the output of its program."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.estimators.stat_ap import stat_ap
from bayeseval.frame.rankings import CollectionLists, TopicLists
from bayeseval.measures.names import parse_measures
from tests.small import every_poisson_sample, every_stratified_sample, small_collection

PRINTED = {
    "Relevant": "NumRel", "AP": "AP", "R-prec": "Rprec", "Prec_at_10": "P@10",
    "Prec_at_20": "P@20", "Prec_at_50": "P@50", "Prec_at_100": "P@100",
}  # fmt: skip


def stat_score(name, topic):
    measure = parse_measures(name)[0]
    return stat_ap(measure, topic)


def all_topics(collection, name):
    """Estimates (run, topic, replicate)."""
    lists = CollectionLists(collection)
    topics = range(collection.sizes["topic"])
    return np.stack([stat_score(name, lists.topic(topic)).estimate for topic in topics], axis=1)


def lists_of(position, grade, probability) -> TopicLists:
    grade = np.atleast_2d(np.array(grade, dtype=float))
    pooled = ~np.isnan(grade).all(axis=0)
    known = np.array(probability, dtype=float)
    return TopicLists(
        np.array(position, dtype=np.int32), grade, pooled, inclusion_probability=known
    )


@st.composite
def sampled_topics(draw):
    """Two runs over up to 8 documents, three samples with unequal probabilities."""
    n_pairs = draw(st.integers(2, 8))
    chances = st.sampled_from([1.0, 0.9, 0.5, 0.2, 0.05])
    probability = draw(st.lists(chances, min_size=n_pairs, max_size=n_pairs))
    columns = st.lists(st.sampled_from([np.nan, 0.0, 1.0, 2.0]), min_size=n_pairs, max_size=n_pairs)
    position = np.full((2, n_pairs), -1)
    for run in position:
        order = draw(st.permutations(range(n_pairs)))[: draw(st.integers(0, n_pairs))]
        run[: len(order)] = order
    return lists_of(position, [draw(columns) for _ in range(3)], probability)


def spelled_out(topic: TopicLists, run: int, replicate: int) -> dict[str, float]:
    """The formulas, with the double sum over pairs of documents that the variance starts from."""
    grade, chance = topic.grade[replicate], topic.inclusion_probability
    ranked = [row for row in topic.position[run] if row >= 0]
    sampled, relevant = np.flatnonzero(~np.isnan(grade)), np.flatnonzero(grade > 0)
    if not relevant.size:
        missing = dict.fromkeys(("AP", "Rprec", "P@3", "variance"), np.nan)
        return missing | {"NumRel": 0.0 if sampled.size else np.nan}
    count = sum(1 / chance[row] for row in relevant)

    def found(depth):
        return sum(1 / chance[row] for row in ranked[:depth] if grade[row] > 0)

    precision = {
        row: (1 + found(rank)) / (rank + 1) for rank, row in enumerate(ranked) if grade[row] > 0
    }
    average = sum(value / chance[row] for row, value in precision.items()) / count
    error = {row: (precision.get(row, 0.0) - average) / chance[row] for row in relevant}
    variance = sum((1 - chance[row]) * value**2 for row, value in error.items())
    for row in relevant:
        for other in relevant:
            if row != other and len(sampled) > 1:
                variance -= error[row] * error[other] / (len(sampled) - 1)
    for row in precision:
        at = ranked.index(row)
        below = [(other, rank) for rank, other in enumerate(ranked, 1) if rank > at + 1]
        reach = sum(1 / (rank * chance[other]) for other, rank in below if grade[other] > 0)
        variance += (1 - chance[row]) / chance[row] ** 2 * reach**2
    retrieved = np.isin(ranked, sampled).sum()
    variance *= len(sampled) / (retrieved + 0.1) / count**2
    whole = int(count + 0.5)
    return {
        "AP": average,
        "Rprec": found(whole) / (whole if len(ranked) >= whole else count),
        "P@3": found(3) / 3,
        "NumRel": count,
        "variance": min(variance, 1.0) if len(sampled) > 1 else np.nan,
    }


@given(sampled_topics())
def test_every_measure_and_the_variance_equal_their_formulas_spelled_out(topic):
    scores = {name: stat_score(name, topic).estimate for name in ("AP", "Rprec", "P@3", "NumRel")}
    scores["variance"] = stat_score("AP", topic).variance
    for run in range(2):
        for replicate in range(3):
            for name, right in spelled_out(topic, run, replicate).items():
                ours = scores[name][run, replicate]
                np.testing.assert_allclose(ours, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["AP", "AP(rel=2)", "AP@3", "P@3", "Rprec", "NumRel"])
def test_complete_judgments_give_the_measure_itself(name):
    collection = small_collection()
    design = be.designs.uniform_strata(collection, budget=9, n_strata=3, random_seed=2)
    complete = be.reveal(collection, design, be.draw(design, random_seed=0))
    plain = be.evaluate(collection, name, estimator="assumed").estimate.isel(measure=0)
    estimate = all_topics(complete, name)[..., 0]
    truth = plain.transpose("run", "topic").to_numpy()
    if name == "AP(rel=2)":
        assert np.isnan(estimate[:, 1]).all()  # no document of grade 2
        estimate, truth = estimate[:, 0], truth[:, 0]
    np.testing.assert_allclose(estimate, truth, rtol=1e-12)


def numerators(sampled):
    """Estimate times estimated number of relevant documents, (run, topic, replicate)."""
    average = all_topics(sampled, "AP")
    return np.nan_to_num(average * all_topics(sampled, "NumRel"))


def true_numerator(collection):
    truth = be.evaluate(collection, ["AP", "NumRel"], estimator="assumed").estimate
    return truth.prod("measure").transpose("run", "topic").to_numpy()


def test_the_numerator_is_unbiased_for_independent_draws_alone():
    collection = small_collection()
    poisson = be.designs.poisson(collection, budget=3)
    selected, chance = every_poisson_sample(poisson)
    sampled = be.reveal(collection, poisson, selected)
    mean = np.nan_to_num(numerators(sampled)) @ chance.to_numpy()
    np.testing.assert_allclose(mean, true_numerator(collection), rtol=1e-9)
    count = np.nan_to_num(all_topics(sampled, "NumRel")) @ chance.to_numpy()
    assert count[0] == pytest.approx([5.0, 3.0])
    strata = be.designs.pps_strata(collection, budget=3, n_strata=2)
    fixed = be.reveal(collection, strata, every_stratified_sample(strata))
    assert np.abs(numerators(fixed).mean(axis=-1) - true_numerator(collection)).max() > 0.1


def test_precision_leaves_out_the_samples_without_a_relevant_document():
    topic = lists_of([[0, 1]], [[1, np.nan], [0, 0], [np.nan, np.nan]], [0.25, 0.5])
    np.testing.assert_allclose(stat_score("P@2", topic).estimate, [[2.0, np.nan, np.nan]])
    np.testing.assert_allclose(stat_score("NumRel", topic).estimate, [[4.0, 0.0, np.nan]])
    for name in ("AP", "Rprec"):
        assert np.isnan(stat_score(name, topic).estimate[0]).tolist() == [False, True, True]


def test_the_variance_does_not_vanish_when_every_document_was_judged():
    topic = lists_of([[0, 1, 2, 3]], [[1, 0, 1, 0]], [1.0] * 4)
    average = (1 + 2 / 3) / 2
    squares = (1 - average) ** 2 + (2 / 3 - average) ** 2
    right = squares / 3 / 4 * 4 / 4.1
    np.testing.assert_allclose(stat_score("AP", topic).variance, [[right]])


def test_the_variance_is_at_most_one_and_unknown_for_a_single_document():
    topic = lists_of([[0, 1]], [[1, 1], [1, np.nan]], [0.01, 0.02])
    variance = stat_score("AP", topic).variance[0]
    assert variance[0] == 1.0
    assert np.isnan(variance[1])


@pytest.mark.parametrize("rank", range(1, 20))
def test_one_relevant_document_alone_has_no_variance_and_none_below_zero_by_rounding(rank):
    above = np.arange(2, rank + 1)  # ranked above it, and not sampled
    grade, chance = np.full((1, rank + 1), np.nan), np.full(rank + 1, 0.5)
    grade[0, :2], chance[:2] = [1, 0], [0.1, 1.0]
    variance = stat_score("AP", lists_of([[*above, 0, 1]], grade, chance)).variance
    assert 0.0 <= variance <= 1e-15


def test_a_list_shorter_than_the_cutoff_counts_as_filled_up_with_nonrelevant_documents():
    topic = lists_of([[0, -1]], [[1, 0]], [0.5, 0.5])
    np.testing.assert_allclose(stat_score("P@10", topic).estimate, [[0.2]])


def test_evaluate_gives_the_same_with_the_square_root_of_the_variance():
    collection = small_collection()
    design = be.designs.poisson(collection, budget=4)
    sampled = be.reveal(collection, design, be.draw(design, n_replicates=5, random_seed=1))
    scores = be.evaluate(sampled, ["AP", "P@3"], estimator="stat_ap").transpose(..., "replicate")
    topic = CollectionLists(sampled).topic(0)
    average = scores.isel(measure=0, topic=0)
    np.testing.assert_allclose(average.estimate, stat_score("AP", topic).estimate)
    np.testing.assert_allclose(average.standard_error**2, stat_score("AP", topic).variance)
    precision = scores.estimate.isel(measure=1, topic=0)
    np.testing.assert_allclose(precision, stat_score("P@3", topic).estimate)


@pytest.mark.parametrize("chance", [0.0, np.nan, 1.5])
def test_a_judged_document_without_a_probability_is_refused(chance):
    topic = lists_of([[0]], [[1, 0]], [1.0, chance])
    with pytest.raises(ValueError, match="1 judged documents have no inclusion probability"):
        stat_score("AP", topic)


def test_a_collection_without_a_design_is_refused():
    topic = TopicLists(np.zeros((1, 1), np.int32), np.ones((1, 1)), np.ones(1, bool))
    with pytest.raises(ValueError, match="needs a design with the inclusion probability"):
        stat_score("AP", topic)


@pytest.fixture(scope="module")
def printed(real_data) -> dict[str, str]:
    folder = real_data.parent / "oracle" / "trec-covid-round5"
    if not folder.is_dir():
        pytest.skip("no folder of reference output beside the real collections")
    return {
        path.name.removeprefix("covid-r5.").removesuffix(".statap"): path.read_text()
        for path in sorted(folder.glob("*.statap"))
    }


@pytest.fixture(scope="module")
def round5(printed, real_data: Path, round5_runs):
    prels = real_data.parent / "oracle" / "trec-covid-round5" / "covid-r5.prels"
    return be.read_collection(prels, [round5_runs / name for name in printed], qrels_format="prels")


def values_by_topic(text: str) -> dict[str, dict[str, str]]:
    """What the program prints, by topic; it labels the precision at 100 as at 50 again."""
    blocks = text.split("valid_topics=")[0].split("topic=")[1:]
    repaired = [re.sub(r"(Prec_at_50=.*)Prec_at_50=", r"\1Prec_at_100=", block) for block in blocks]
    return {block.split()[0]: dict(re.findall(r"([\w-]+)=\s*(\S+)", block)) for block in repaired}


def test_every_digit_the_program_prints_per_topic(round5, printed):
    lists = CollectionLists(round5)
    topics = round5["topic"].to_numpy().tolist()
    estimate = {key: all_topics(round5, name)[..., 0] for key, name in PRINTED.items()}
    names = {f"nDCG_{cutoff}": f"nDCG(dcg='exp-log2')@{cutoff}" for cutoff in (10, 20, 50, 100)}
    plain = be.evaluate(round5, list(names.values()), estimator="assumed").estimate
    for key, values in zip(names, plain.transpose("measure", "run", "topic").values, strict=True):
        estimate[key] = values
    variance = np.stack([stat_score("AP", lists.topic(t)).variance[:, 0] for t in range(50)], 1)
    compared = 0
    for run, text in enumerate(printed.values()):
        for topic, values in values_by_topic(text).items():
            place = run, topics.index(topic)
            for key, scores in estimate.items():
                assert f"{scores[place]:.3f}" == values[key], (place, key)
                compared += 1
            # 15 digits, the last of which depend on the order in which a sum is taken
            np.testing.assert_allclose(variance[place], float(values["varAP"]), rtol=1e-13)
    assert compared == 11 * 50 * 11


def test_every_mean_the_program_prints(round5, printed):
    keys = {"MAP": "AP", "MRP": "Rprec"} | {f"MPC_{k} ": f"P@{k}" for k in (10, 20, 50, 100)}
    for key, name in keys.items():
        means = all_topics(round5, name)[..., 0].mean(axis=1)
        right = [
            float(re.search(rf"stat{key}_on_valid_topics=(\S+)", text)[1])
            for text in printed.values()
        ]
        np.testing.assert_allclose(means, right, rtol=1e-13)
