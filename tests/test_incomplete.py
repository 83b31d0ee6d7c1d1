"""A collection without judgments, runs or topics is refused in the same words everywhere."""

import pytest

import bayeseval as be
from bayeseval.reporting import report
from bayeseval.residual import rbp_bounds, urn_estimate

GRADES = {"1": {"x": 1, "y": 0}, "2": {"x": 0, "y": 1}}
RUNS = {run: {topic: {"x": 2.0, "y": 1.0} for topic in GRADES} for run in ("a", "b")}
ANSWERS = {
    "evaluate": lambda c: be.evaluate(c, "P@1", estimator="assumed"),
    "scores": lambda c: be.scores(c, "P@1"),
    "combined scores": lambda c: be.scores(c, "P@1", estimator="combined"),
    "compare": lambda c: be.compare(c, "P@1", estimator="assumed"),
    "compare by default": lambda c: be.compare(c, "P@1"),
    "rank": lambda c: be.rank(c, "P@1", estimator="assumed"),
    "covariance": lambda c: be.covariance(c, "P@1", estimator="dyn"),
    "plan": lambda c: be.plan(c, "P@1", budget=[2], random_seed=1),
    "adjust_scores": lambda c: be.adjust_scores(c, "P@1", unpooled=["b"]),
    "report": lambda c: report(c, "P@1", random_seed=1),
    "dual_runs": lambda c: be.dual_runs(c, random_seed=1),
    "relevance_model": be.models.relevance_model,
    "grade_model": be.models.grade_model,
    "urn_model": lambda c: be.models.urn_model(c, depth=1, frame="retrieved"),
    "rbp_bounds": rbp_bounds,
    "urn_estimate": lambda c: urn_estimate(c, n_documents=10, depth=1),
}
ON_JUDGMENTS = ANSWERS | {"label_agreement": be.label_agreement}
ON_TOPICS = ON_JUDGMENTS | {
    "add_runs": lambda c: be.add_runs(c, {"z": {"1": {"x": 1.0}}}),
    "add_predictions": lambda c: be.add_predictions(c, "llm", GRADES),
    "pps_strata": lambda c: be.designs.pps_strata(c, budget=2),
    "write_qrels": lambda c: be.trec.write_qrels(c, "/nowhere"),
}


def check_refused(call, collection, lacking: str) -> None:
    with pytest.raises(ValueError, match=f"^the collection has {lacking}$"):
        call(collection)


@pytest.mark.parametrize("name", ON_JUDGMENTS)
def test_nothing_is_evaluated_without_judgments(name):
    collection = be.add_predictions(be.read_collection(None, RUNS), "llm", GRADES)
    check_refused(ON_JUDGMENTS[name], collection, "no judgments to evaluate with")


@pytest.mark.parametrize("name", ANSWERS)
def test_nothing_is_evaluated_without_runs(name):
    check_refused(ANSWERS[name], be.read_collection(GRADES), "no runs to evaluate")


@pytest.mark.parametrize("name", ON_TOPICS)
def test_nothing_is_done_without_topics(name):
    collection = be.select(be.read_collection(GRADES, RUNS), topics=[])
    check_refused(ON_TOPICS[name], collection, "no topics to evaluate")
