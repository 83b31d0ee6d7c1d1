"""The table of estimators: what each of them does, and what it can be asked."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

import xarray as xr

from bayeseval.estimators.difference import difference, horvitz_thompson
from bayeseval.estimators.importance import IMPORTANCE, ImportanceOptions, importance
from bayeseval.estimators.inferred import INFERRED, InferredOptions, inferred
from bayeseval.estimators.judged import (
    CondensedOptions,
    JudgedRelevance,
    assumed,
    condensed_list,
)
from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.estimators.scoring import SCORES
from bayeseval.estimators.stat_ap import STAT_AP, stat_ap
from bayeseval.estimators.topic_scores import ListScore
from bayeseval.frame.frame import BY_CHANCE
from bayeseval.measures.measure import Measure
from bayeseval.measures.names import by_inf
from bayeseval.measures.provided import check_provided
from bayeseval.measures.table import MEASURES
from bayeseval.messages import Message, Option


@dataclass(frozen=True)
class Estimator:
    """One estimator of the table, of one of two sorts."""

    measures: tuple[str, ...]  # names of the measures of the table that it estimates
    # (frame, predictor, random_seed, denominator) -> relevance: set for one that fills in a
    # relevance per document; the measure does the rest
    relevance: Callable[..., EstimatedRelevance | JudgedRelevance] | None = None
    # (measure, topic) -> ListScore: set for one that scores whole ranked lists
    lists: Callable[..., ListScore] | None = None
    # dataclass of its options, which checks them; the callable takes one more argument then
    options: type | None = None
    # schemes of a design that it can use ("none": the pool alone); set where the sample is random
    # to it. The others need no design.
    schemes: tuple[str, ...] | None = None
    # kinds of the measures outside the table that it scores: "list" those of the user's own,
    # "provided" those of ``ir_measures``
    kinds: tuple[str, ...] = ()

    def has(self, measure: Measure) -> bool:
        """Whether it estimates a measure."""
        return measure.name in self.measures or measure.kind in self.kinds


ESTIMATORS = {
    "assumed": Estimator(tuple(MEASURES), relevance=assumed, kinds=("list", "provided")),
    "stat": Estimator(
        tuple(SCORES),
        relevance=horvitz_thompson,
        schemes=BY_CHANCE,
    ),
    "dyn": Estimator(
        tuple(SCORES),
        relevance=difference,
        schemes=BY_CHANCE,
    ),
    "condensed": Estimator(
        tuple(MEASURES), lists=condensed_list, options=CondensedOptions, kinds=("list",)
    ),
    "inf": Estimator(
        tuple(INFERRED),
        lists=inferred,
        options=InferredOptions,
        schemes=("none", "deterministic", "stratified"),
    ),
    "stat_ap": Estimator(tuple(STAT_AP), lists=stat_ap, schemes=BY_CHANCE),
    "importance": Estimator(
        tuple(IMPORTANCE),
        lists=importance,
        options=ImportanceOptions,
        schemes=("with_replacement",),
    ),
}
HAS_COVARIANCE = tuple(
    name for name, row in ESTIMATORS.items() if row.relevance is not None and row.schemes
)
# those that take judgments as they are: what they do not know is what was not judged
WITHOUT_DESIGN = tuple(name for name, row in ESTIMATORS.items() if row.schemes is None)


def checked_options(estimator: str, given: dict[str, Any] | None) -> Any:
    """Options as the estimator takes them, checked; the defaults where none are given."""
    options = ESTIMATORS[estimator].options
    allowed = [] if options is None else [field.name for field in fields(options)]
    if not isinstance(given or {}, dict) or not set(given or {}) <= set(allowed):
        raise ValueError(
            f"estimator_options of '{estimator}' must be a dict with keys among "
            f"{', '.join(allowed) or 'none at all'}, not {given!r}"
        )
    return None if options is None else options(**given or {})


def described_options(estimator: str, given: dict[str, Any] | None) -> str:
    """Options that are not the estimator's own, as one text.

    Examples
    --------
    >>> described_options("condensed", {"depth": 10}), described_options("dyn", None)
    ('depth=10', '')
    """
    chosen, usual = checked_options(estimator, given), checked_options(estimator, None)
    if chosen is None:
        return ""
    other = {name: value for name, value in vars(chosen).items() if value != getattr(usual, name)}
    return ", ".join(f"{name}={value}" for name, value in other.items())


def check_known(estimator: str, of_face: tuple[str, ...] = ()) -> None:
    """Refuse an estimator that does not exist, here or among those that a face adds."""
    known = sorted([*ESTIMATORS, *of_face])
    if isinstance(estimator, str) and estimator in known:
        return
    near = get_close_matches(str(estimator).lower(), known, n=1)
    meant = f"did you mean {near[0]}? There" if near else "there"
    if estimator == "combined":
        meant = "be.scores, be.compare and be.rank have it, which combine dyn with a model. There"
    raise ValueError(f"no estimator '{estimator}'; {meant} are {', '.join(known)}")


def check_estimator(collection: xr.DataTree, estimator: str) -> None:
    """Refuse an estimator that does not exist, or not for the design of a collection."""
    check_known(estimator)
    has_design = "design" in collection.children
    scheme = collection["design"].attrs["scheme"] if has_design else "none"
    schemes = ESTIMATORS[estimator].schemes
    if schemes is None or scheme in schemes:
        return
    others = ", ".join(
        sorted(
            name for name, row in ESTIMATORS.items() if row.schemes is None or scheme in row.schemes
        )
    )
    if not has_design:
        raise ValueError(
            Message(
                f"estimator '{estimator}' needs a design with inclusion probabilities and the "
                "collection has none; give the design of the sample (",
                Option("design", text="be.attach_judgments"),
                f"); estimators that exist without a design: {others}",
            )
        )
    usable = " or ".join(name for name in schemes if name != "none")
    raise ValueError(
        f"estimator '{estimator}' needs a sample that is {usable} and this design is {scheme}; "
        f"estimators that exist for it: {others}"
    )


def check_estimable(
    measures: list[Measure], estimator: str, grades: tuple[float, ...] = ()
) -> None:
    """Refuse measures that an estimator does not have, or not of the grades that occur."""
    available = ESTIMATORS[estimator].measures
    lacking = [measure for measure in measures if not ESTIMATORS[estimator].has(measure)]
    if lacking:
        why = "is no sum of relevances, so it " if estimator in HAS_COVARIANCE else ""
        others = [name for name, row in ESTIMATORS.items() if row.has(lacking[0])]
        others += ["combined, which fits a model"] if lacking[0].kind == "list" else []
        text = (
            f"{lacking[0].label} {why}has no '{estimator}' estimate (it has one by "
            f"{', '.join(others)}); measures that have one: {', '.join(sorted(available))}"
        )
        if lacking[0].name == "infAP":
            text = f"{text}; infAP is trec_eval's, of judgments as they are, and "
            raise ValueError(by_inf(text, "xinfap"))
        raise ValueError(text)
    check_provided(measures, grades)
