"""Names of the estimators."""

import xarray as xr

from bayeseval.estimators.assumed import assumed
from bayeseval.estimators.difference import difference
from bayeseval.estimators.horvitz_thompson import horvitz_thompson
from bayeseval.estimators.relevance import EstimatedRelevance

ESTIMATORS = {"assumed": assumed, "stat": horvitz_thompson, "dyn": difference}
NEEDS_DESIGN = ("stat", "dyn")


def estimated_relevance(
    collection: xr.DataTree, estimator: str, predictor, random_seed: int
) -> EstimatedRelevance:
    """What an estimator makes of the judgments of a collection.

    Raises
    ------
    ValueError
        Unknown estimator, or one that needs a random design that the collection does not have.
    """
    if estimator not in ESTIMATORS:
        raise ValueError(f"no estimator '{estimator}'; estimators: {', '.join(sorted(ESTIMATORS))}")
    if estimator in NEEDS_DESIGN:
        others = ", ".join(sorted(set(ESTIMATORS) - set(NEEDS_DESIGN)))
        if "design" not in collection.children:
            raise ValueError(
                f"estimator '{estimator}' needs a design with inclusion probabilities and the "
                f"collection has none; estimators that exist without a design: {others}"
            )
        scheme = collection["design"].attrs["scheme"]
        if scheme not in ("stratified", "poisson"):
            raise ValueError(
                f"estimator '{estimator}' needs a random sample and this design is {scheme}; "
                f"estimators that exist for it: {others}"
            )
    return ESTIMATORS[estimator](collection, predictor, random_seed)
