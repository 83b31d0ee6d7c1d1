"""The examples work on data in the shapes that they name."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import bayeseval as be

EXAMPLES = Path(__file__).parents[2] / "examples"
TOPICS = [str(topic) for topic in range(1, 9)]


@pytest.fixture
def pyterrier():
    """The example of PyTerrier as a module."""
    path = EXAMPLES / "pyterrier_intervals.py"
    spec = importlib.util.spec_from_file_location("pyterrier_intervals", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results_of_pyterrier() -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Results as a retriever of PyTerrier returns them, and judgments as its data sets do."""
    random = np.random.default_rng(1)
    results = {}
    for name in ("BM25", "TF_IDF"):
        parts = []
        for topic in TOPICS:
            scores = np.sort(random.normal(size=12))[::-1]
            ids = random.permutation(20)[:12]
            parts.append(
                pd.DataFrame(
                    {
                        "qid": topic,
                        "docid": ids,
                        "docno": [f"d{number}" for number in ids],
                        "rank": np.arange(12),
                        "score": scores,
                        "query": "some words",
                    }
                )
            )
        results[name] = pd.concat(parts, ignore_index=True)
    qrels = pd.DataFrame(
        {
            "qid": np.repeat(TOPICS, 20),
            "docno": [f"d{number}" for number in range(20)] * len(TOPICS),
            "label": random.integers(0, 2, 20 * len(TOPICS)),
            "iteration": "0",
        }
    )
    return results, qrels


def test_results_of_pyterrier_get_intervals(pyterrier):
    results, qrels = results_of_pyterrier()
    scores, pairs = pyterrier.intervals(results, qrels)
    collection = be.read_collection(
        qrels[["qid", "docno", "label"]],
        {name: frame[["qid", "docno", "score"]] for name, frame in results.items()},
    )
    by_topic = be.evaluate(collection, pyterrier.MEASURES, estimator="assumed")
    mean = be.to_frame(be.mean_over_topics(by_topic, population="topics"))
    pd.testing.assert_frame_equal(scores[["run", "estimate"]], mean[["run", "estimate"]])
    assert (scores["lower"] < scores["estimate"]).all() and len(pairs) == 2
    flat = be.to_frame(by_topic).rename(
        columns={"run": "name", "topic": "qid", "estimate": "value"}
    )
    experiment = flat[["name", "qid", "measure", "value"]]
    found = pyterrier.differences(experiment).set_index("measure")["estimate"]
    pd.testing.assert_series_equal(found, pairs.set_index("measure")["estimate"], check_like=True)


@pytest.mark.parametrize(("better", "code"), [("new", 0), ("old", 3)])
def test_the_action_fails_where_a_run_is_worse(better, code, tmp_path):
    simulated = be.simulate.urn_collection(
        [0.02, 0.5], n_topics=20, n_documents=60, prevalence=0.3, random_seed=1
    )
    frame = be.trec.runs_frame(simulated)
    names = ["new", "old"] if better == "new" else ["old", "new"]  # the first is better
    frame["run"] = frame["run"].map(dict(zip(simulated["run"].to_numpy(), names, strict=True)))
    collection = be.read_collection(be.trec.qrels_frame(simulated), frame)
    design = be.designs.order(collection, random_seed=1)
    be.save_design(design, tmp_path / "design.nc")
    sampled = be.reveal(collection, design, be.draw(design, budget=40))
    be.trec.write_qrels(sampled, tmp_path / "judged.qrels")
    (tmp_path / "runs").mkdir()
    for name in names:
        frame[frame["run"] == name].to_csv(tmp_path / "runs" / f"{name}.csv", index=False)
    (step,) = [
        step
        for step in yaml.safe_load((EXAMPLES / "github-action/action.yml").read_text())["runs"][
            "steps"
        ]
        if step["name"] == "Compare"
    ]
    given = {"qrels": "judged.qrels", "runs": "runs/*\n", "design": "design.nc", "reference": "old"}
    given |= {"measure": "P@10", "equivalence": "0"}
    variables = {
        name: given[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, text in step["env"].items()
    }
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    own |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env=os.environ | variables | own,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    summary = (tmp_path / "summary.md").read_text()
    assert "| run a | run b | a - b |" in summary and "| new | old | " in summary
    assert ("> bayeseval: worse than old: new (P@10)" in summary) == (code == 3)
