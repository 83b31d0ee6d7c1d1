"""`bayeseval evaluate`: scores of runs, with intervals where a design gives them."""

from collections.abc import Sequence
from contextlib import suppress

import bayeseval as be
from bayeseval.cli.options import (
    Against,
    CiProb,
    Depth,
    DesignRead,
    Estimator,
    Labels,
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
    ScoreFormat,
    ScoreType,
    Sort,
)
from bayeseval.cli.output import check_outputs, working, write_result
from bayeseval.cli.reading import (
    check_measures,
    input_files,
    judged_collection,
    label_files,
    labelled,
)
from bayeseval.cli.remarks import remark_depth, remark_scores
from bayeseval.cli.significance import compared, with_marks
from bayeseval.cli.tables import check_topics, score_rows, sorted_rows
from bayeseval.cli.typeset import WRITERS

PREDICTORS = ("pooled", "rank_logistic", "constant")  # those that need no column


def evaluate(
    qrels: Qrels,
    runs: Runs,
    measure: Measures,
    estimator: Estimator,
    predictor: Predictor = None,
    qrels_format: QrelsFormat = "qrels",
    design: DesignRead = None,
    labels: Labels = None,
    ci_prob: CiProb = 0.9,
    population: Population = "sample",
    outside: Outside = "nonrelevant",
    missing_topics: MissingTopics = "zero",
    relevance_level: RelevanceLevel = 1,
    depth: Depth = None,
    on_duplicate: OnDuplicate = "error",
    score_type: ScoreType = "float64",
    per_topic: PerTopic = False,
    sort: Sort = None,
    against: Against = None,
    format: ScoreFormat = "table",
    output: OutputFile = None,
) -> None:
    """Score RUNs by the judgments in QRELS.

    CSV columns: run, topic, measure, estimator, estimate, standard_error, lower, upper,
    denominator_error, modelled_share, degrees_of_freedom, limited_share; better_than and
    worse_than with --against.
    """
    labels_of = check_measures(measure, relevance_level)
    best_by = _sorting(sort, labels_of, relevance_level)
    judges = label_files(labels)
    chosen = chosen_predictor(predictor, estimator, list(judges))
    check_outputs({"--output": output}, input_files([qrels], runs, [design, *judges.values()]))
    collection = judged_collection(
        qrels,
        runs,
        design,
        qrels_format=qrels_format,
        depth=depth,
        on_duplicate=on_duplicate,
        score_type=score_type,
    )
    collection = labelled(collection, judges)
    if per_topic:
        check_topics(collection)
    options = {
        "estimator": estimator,
        "predictor": chosen,
        "relevance_level": relevance_level,
        "outside": outside,
        "missing_topics": missing_topics,
    }
    with working("estimating"):
        scores = be.evaluate(collection, measure, ci_prob=ci_prob, **options)
        mean = be.mean_over_topics(scores, population=population, ci_prob=ci_prob)
    remark_depth(collection, depth, scores["measure"].to_numpy())
    remark_scores(collection, scores, mean)
    about: dict = {
        "estimator": estimator,
        "population": population,
        "outside": outside,
        "ci_prob": ci_prob,
    }
    rows = score_rows(mean, scores if per_topic else None)
    if best_by is not None:
        rows = sorted_rows(rows, best_by)
    if against is not None:
        with working("comparing"):
            pairs = compared(collection, measure, against, population, options)
        rows = with_marks(rows, pairs)
        about["against"] = against
    write_result(WRITERS[format](rows, about), output)


def _sorting(sort: str | None, labels: list[str], relevance_level: int) -> str | None:
    """Canonical label of the measure to sort by, which must be one that is asked for."""
    if sort is None:
        return None
    found = check_measures([sort], relevance_level)[0]
    if found not in labels:
        raise ValueError(f"--sort {sort} is none of the measures asked for: {', '.join(labels)}")
    return found


def chosen_predictor(
    text: str | None, estimator: str, judges: Sequence[str] = ()
) -> str | tuple[str, str | float | list[str]] | None:
    """The name of a predictor, or ``constant:VALUE`` as a pair; with labels, what is made of them.

    Raises
    ------
    ValueError
        A predictor that is not known, or labels that would have no effect.
    """
    if judges:
        return _of_labels(text, estimator, list(judges))
    name, colon, value = (text or "").partition(":")
    if name == "constant" and colon:
        with suppress(ValueError):
            return name, float(value)
    elif text is None or text in PREDICTORS:
        return text
    raise ValueError(
        f"--predictor must be {', '.join(PREDICTORS)} or constant:VALUE with a value from 0 to 1, "
        f"not {text!r}"
    )


def _of_labels(text: str | None, estimator: str, judges: list[str]) -> tuple[str, str | list[str]]:
    """The predictor that a command with labels asks for."""
    if estimator != "dyn":
        raise ValueError(f"--labels goes with --estimator dyn; '{estimator}' learns from none")
    if text in (None, "pooled", "recalibrated"):
        return text or "pooled", judges
    if text == "external" and len(judges) == 1:
        return text, judges[0]
    raise ValueError(
        "--predictor with --labels must be pooled (learned beside the ranks), recalibrated "
        f"(learned without them) or external (one judge's labels as they are), not {text!r}"
    )
