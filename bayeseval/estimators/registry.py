"""Names of the estimators."""

from inspect import signature

import xarray as xr

from bayeseval.estimators.assumed import JudgedRelevance, assumed
from bayeseval.estimators.condensed import CONDENSED
from bayeseval.estimators.difference import difference
from bayeseval.estimators.horvitz_thompson import horvitz_thompson
from bayeseval.estimators.importance import IMPORTANCE
from bayeseval.estimators.inferred import INFERRED
from bayeseval.estimators.list_score import ListMeasures
from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.estimators.stat_ap import STAT_AP
from bayeseval.frame.frame import Frame

# estimators that fill in a relevance per document
ESTIMATORS = {"assumed": assumed, "stat": horvitz_thompson, "dyn": difference}
# estimators that score whole ranked lists, measure by measure
LIST_ESTIMATORS: dict[str, ListMeasures] = {
    "condensed": CONDENSED,
    "inf": INFERRED,
    "stat_ap": STAT_AP,
    "importance": IMPORTANCE,
}
# schemes of a design that an estimator can use ("none": the pool alone); the others need no design
SCHEMES = {
    "stat": ("stratified", "poisson"),
    "dyn": ("stratified", "poisson"),
    "inf": ("none", "deterministic", "stratified"),
    "stat_ap": ("stratified", "poisson"),
    "importance": ("with_replacement",),
}
HAS_COVARIANCE = ("stat", "dyn")


def estimated_relevance(
    frame: Frame, estimator: str, predictor, random_seed: int
) -> EstimatedRelevance | JudgedRelevance:
    """What an estimator that fills in relevances makes of the judgments of a collection."""
    return ESTIMATORS[estimator](frame, predictor, random_seed)


def list_options(estimator: str) -> list[str]:
    """Names of the keyword options that an estimator of whole lists takes."""
    taken = {
        name
        for function in LIST_ESTIMATORS[estimator].values()
        for name, parameter in signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    return sorted(taken)


def check_estimator(collection: xr.DataTree, estimator: str) -> None:
    """Refuse an estimator that does not exist, or not for the design of a collection.

    Raises
    ------
    ValueError
        Unknown estimator, or one that needs a random design that the collection does not have.
    """
    known = sorted({*ESTIMATORS, *LIST_ESTIMATORS})
    if estimator not in known:
        raise ValueError(f"no estimator '{estimator}'; estimators: {', '.join(known)}")
    has_design = "design" in collection.children
    scheme = collection["design"].attrs["scheme"] if has_design else "none"
    if scheme in SCHEMES.get(estimator, (scheme,)):
        return
    others = ", ".join(name for name in known if scheme in SCHEMES.get(name, (scheme,)))
    if not has_design:
        raise ValueError(
            f"estimator '{estimator}' needs a design with inclusion probabilities and the "
            f"collection has none; estimators that exist without a design: {others}"
        )
    usable = " or ".join(name for name in SCHEMES[estimator] if name != "none")
    raise ValueError(
        f"estimator '{estimator}' needs a sample that is {usable} and this design is {scheme}; "
        f"estimators that exist for it: {others}"
    )
