"""Inferred measures against what the reference program prints, and what NIST published."""

import re

import pandas as pd
import pytest

import bayeseval as be
from tests.estimators.test_inferred import all_topics

PRINTED = {
    "infAP": "AP", "infNDCG": "nDCG", "iP10": "P@10", "iP50": "P@50", "iP1000": "P@1000",
    "inum_rel_ret": "NumRelRet", "inum_rel": "NumRel",
}  # fmt: skip


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
