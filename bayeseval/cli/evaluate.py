"""`bayeseval evaluate`: scores of runs, with intervals where a design gives them."""

from pathlib import Path

import xarray as xr

import bayeseval as be
from bayeseval.cli.options import (
    CiProb,
    Depth,
    DesignRead,
    Estimator,
    Format,
    Measures,
    MissingTopics,
    OnDuplicate,
    OutputFile,
    Outside,
    PerTopic,
    Population,
    Predictor,
    Qrels,
    QrelsFormat,
    RelevanceLevel,
    Runs,
    ScoreType,
)
from bayeseval.cli.output import check_writable, remark, working, write_result
from bayeseval.cli.tables import FORMATS, score_rows


def evaluate(
    qrels: Qrels,
    runs: Runs,
    measure: Measures,
    estimator: Estimator,
    predictor: Predictor = None,
    qrels_format: QrelsFormat = "qrels",
    design: DesignRead = None,
    ci_prob: CiProb = 0.9,
    population: Population = "sample",
    outside: Outside = "nonrelevant",
    missing_topics: MissingTopics = "zero",
    relevance_level: RelevanceLevel = 1,
    depth: Depth = 1000,
    on_duplicate: OnDuplicate = "error",
    score_type: ScoreType = "float64",
    per_topic: PerTopic = False,
    format: Format = "table",
    output: OutputFile = None,
) -> None:
    """Score RUNs by the judgments in QRELS.

    CSV columns: run, topic, measure, estimator, estimate, standard_error, lower, upper.
    """
    if output is not None:
        check_writable(output)
    collection = _collection(
        qrels,
        runs,
        design,
        qrels_format=qrels_format,
        depth=depth,
        on_duplicate=on_duplicate,
        score_type=score_type,
    )
    with working("estimating"):
        scores = be.evaluate(
            collection,
            measure,
            estimator=estimator,
            predictor=_predictor(predictor),
            relevance_level=relevance_level,
            outside=outside,
            missing_topics=missing_topics,
            ci_prob=ci_prob,
        )
        mean = be.mean_over_topics(scores, population=population, ci_prob=ci_prob)
    _remark_weight_outside(mean)
    about = {
        "estimator": estimator,
        "population": population,
        "outside": outside,
        "ci_prob": ci_prob,
    }
    rows = score_rows(mean, scores if per_topic else None)
    write_result(FORMATS[format](rows, about), output)


def _collection(qrels: str, runs: list[str], design: Path | None, **options) -> xr.DataTree:
    """Runs with their judgments, those of a design joined to it."""
    if design is None:
        return be.read_collection(qrels, runs, **options)
    if options.pop("qrels_format") != "qrels":
        raise ValueError("--design goes with plain qrels; the other formats bring their own design")
    collection = be.read_collection(None, runs, **options)
    return be.attach_judgments(collection, be.read_design(design), qrels)


def _predictor(text: str | None) -> str | tuple[str, str] | None:
    """``external:COLUMN`` is a pair, anything else a name."""
    name, colon, column = (text or "").partition(":")
    return (name, column) if colon else text


def _remark_weight_outside(mean: xr.Dataset) -> None:
    """Say how much of each measure fell on documents that could not be known."""
    where = "unjudged" if mean.attrs["estimator"] == "assumed" else "outside the frame"
    weight = mean["outside_weight"].mean("run", skipna=True)
    shares = [f"{label} {share:.3f}" for label, share in weight.to_series().items() if share > 0]
    if shares:
        remark(f"weight on documents {where}, mean over runs: {', '.join(shares)}")
