"""Which measures a model of documents can score, and which of the models a measure needs."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.collection.labels import asked_labels
from bayeseval.collection.schema import label_names
from bayeseval.frame.sample import grade_scale
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import parse_measures
from bayeseval.measures.table import BY_RELEVANCE, names_of
from bayeseval.messages import Message, Option
from bayeseval.models.relevance import grade_model, relevance_model

GRADES = Option("model", "grades", "be.models.grade_model")
LEARN_FROM = ("design", "all")  # runs that a model is fitted to


def scored_by_relevance(sampled: xr.DataTree, measures, level: int) -> NDArray[np.bool_]:
    """Which measures (measure,) a model of relevance from a level on scores; others need grades."""
    grades = grade_scale(sampled)
    parsed = parse_measures(measures, relevance_level=level, grades=grades)
    check_modelled(parsed)
    scored = np.array([_scored_by_relevance(measure, level, grades) for measure in parsed])
    if len(grades) < 2 and not scored.all():
        raise ValueError(
            f"{parsed[scored.argmin()].label} counts grades, and all judged documents have the "
            f"grade {max(grades):g}: take dyn alone for it"
        )
    return scored


def document_model(
    sampled: xr.DataTree, level: int, binary: bool, learn_from: str | Sequence[str] = "design"
):
    """Model of relevance from a level on, or of grades, with the labels that were added.

    It is fitted to the runs of the "design", to "all", or to those that are named.
    """
    options = {"external": label_names(sampled), "runs": fitted_runs(sampled, learn_from)}
    if binary:
        return relevance_model(sampled, relevance_level=level, **options)
    return grade_model(sampled, **options)


def fitted_runs(sampled: xr.DataTree, learn_from: str | Sequence[str]) -> list[str] | None:
    """Runs that a model is fitted to; None for those of the design."""
    if not isinstance(learn_from, str):
        return asked_labels(learn_from)
    check_choice("learn_from", learn_from, LEARN_FROM)
    return sampled["run"].to_numpy().tolist() if learn_from == "all" else None


def modelled_measures(measures, level: int | None, sampled: xr.DataTree) -> list[Measure]:
    """Measures, each of which a fitted model must have relevances for.

    ``level`` is the lowest relevant grade of a model of relevance, None of one of grades.
    """
    grades = grade_scale(sampled)
    parsed = parse_measures(measures, relevance_level=level or 1, grades=grades)
    check_modelled(parsed)
    if level is not None:
        check_level_of_model(parsed, level, grades)
    return parsed


def check_level_of_model(
    measures: Sequence[Measure], level: int, grades: Sequence[float] = ()
) -> None:
    """Refuse measures that a model of relevance from a level on cannot score.

    Without grades those are refused for which no grades would do.
    """
    for measure in measures:
        if _scored_by_relevance(measure, level, grades):
            continue
        if measure.graded:
            raise ValueError(Message(f"{measure.label} counts grades; take ", GRADES, " for it"))
        raise ValueError(
            Message(
                f"{measure.label} counts grades from {measure.relevance_level} and the model "
                f"those from {level}; fit it with ",
                Option("relevance_level", measure.relevance_level),
                ", or take ",
                GRADES,
            )
        )


def _scored_by_relevance(measure: Measure, level: int, grades: Sequence[float]) -> bool:
    """Whether relevance from one level on is enough for a measure of these grades."""
    if measure.graded:
        return level == 1 and max(grades, default=0.0) <= 1
    return measure.relevance_level == level


def check_modelled(measures: list[Measure]) -> None:
    """Refuse measures of more than relevances, which have no posterior scores."""
    for measure in measures:
        if measure.kind not in BY_RELEVANCE:
            raise ValueError(
                f"{measure.label} has no posterior scores; measures that have them: "
                f"{', '.join(names_of(*BY_RELEVANCE))}"
            )
