"""Rank correlations of many score vectors with many others, as matrix products."""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.choices import check_choice
from bayeseval.rounding import ratio

Floats = NDArray[np.floating]
Product = Callable[[Floats, Floats], Floats]


def rank_similarity(
    scores: xr.DataArray, scores_other: xr.DataArray, *, similarity: str = "tau"
) -> xr.DataArray:
    r"""Rank correlation of every ranking of one set with every ranking of another.

    A ranking is a vector of scores over the same runs. ``"tau"`` is Kendall's tau-b,

    .. math:: \tau_b = \frac{\sum_{i<j} s_{ij}(x) s_{ij}(y)}{\sqrt{\sum s_{ij}^2(x) \sum
        s_{ij}^2(y)}}, \qquad s_{ij}(x) = sign(x_i - x_j),

    a product of two matrices of signs. ``"tau_ap"`` is the AP correlation, the mean over the runs
    i below the first tie group of x of the mean of :math:`s_{ji}(y)` over the runs j above i in x,
    made symmetric by the mean of both directions. ``"spearman"`` is Pearson's correlation of the
    mid-ranks.

    Parameters
    ----------
    scores : DataArray (resample, run)
    scores_other : DataArray (resample, run)
        The same runs in the same order.
    similarity : {"tau", "tau_ap", "spearman"}

    Returns
    -------
    DataArray (resample, resample_other)
        In [-1, 1]; NaN where all runs of a ranking tie, for such a ranking has no order.

    Raises
    ------
    ValueError
        Unknown similarity; other runs, or other dims.

    References
    ----------
    Yilmaz, Aslam and Robertson, "A new rank correlation coefficient for information retrieval",
    SIGIR 2008, doi:10.1145/1390334.1390435. Urbano and Marrero, "The treatment of ties in AP
    correlation", ICTIR 2017, doi:10.1145/3121050.3121106.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> runs = {"run": ["a", "b", "c"]}
    >>> one = xr.DataArray([[0.3, 0.2, 0.1]], dims=("resample", "run"), coords=runs)
    >>> two = xr.DataArray([[0.3, 0.1, 0.2]], dims=("resample", "run"), coords=runs)
    >>> be.rankings.rank_similarity(one, two).round(4).values
    array([[0.3333]])
    """
    check_choice("similarity", similarity, SIMILARITIES)
    for scored in (scores, scores_other):
        if not isinstance(scored, xr.DataArray) or set(scored.dims) != {"resample", "run"}:
            dims = f" over {', '.join(map(str, scored.dims))}" if hasattr(scored, "dims") else ""
            raise ValueError(
                "a set of rankings is a DataArray with the dims resample and run, not a "
                f"{type(scored).__name__}{dims}; of one ranking (run,) give "
                "expand_dims('resample')"
            )
    labelled = "run" in scores.coords and "run" in scores_other.coords
    if labelled and not np.array_equal(scores["run"], scores_other["run"]):
        raise ValueError("the two sets of rankings must have the same runs in the same order")
    values = similarity_matrix(
        scores.transpose("resample", "run").to_numpy(),
        scores_other.transpose("resample", "run").to_numpy(),
        similarity,
    )
    return xr.DataArray(values, dims=("resample", "resample_other"), name=similarity)


def similarity_matrix(scores: Floats, other: Floats, similarity: str) -> Floats:
    """Similarity (ranking, other ranking) of score vectors (ranking, run)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return SIMILARITIES[similarity](scores, other, _every)


def similarity_rows(scores: Floats, other: Floats, similarity: str) -> Floats:
    """Similarity (ranking,) of each score vector with the one that stands in its place."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return SIMILARITIES[similarity](scores, other, _each)


def _every(left: Floats, right: Floats) -> Floats:
    """Inner products of all columns with all columns."""
    return left.T @ right


def _each(left: Floats, right: Floats) -> Floats:
    """Inner products of columns that stand in the same place."""
    return np.einsum("ij,ij->j", left, right)


def _tau(scores: Floats, other: Floats, product: Product) -> Floats:
    """Kendall's tau-b; the sums are of whole numbers, so float32 products are exact."""
    order, order_other = _order(scores), _order(other)
    agreement, untied, untied_other = (np.zeros(1) for _ in range(3))
    for pairs in _pairs(len(order)):
        sign, sign_other = _sign(order, pairs), _sign(order_other, pairs)
        agreement = agreement + product(sign, sign_other)
        untied = untied + np.count_nonzero(sign, axis=0)
        untied_other = untied_other + np.count_nonzero(sign_other, axis=0)
    return agreement / np.sqrt(product(untied[None], untied_other[None]))


def _tau_ap(scores: Floats, other: Floats, product: Product) -> Floats:
    """AP correlation, mean of both directions."""
    order, order_other = _order(scores), _order(other)
    weight, weight_other = _below_top(scores), _below_top(other)
    total = np.zeros(1)
    for pairs in _pairs(len(order)):
        sign, sign_other = (_sign(ranks, pairs).astype(float) for ranks in (order, order_other))
        total = total + product(sign * _lower(weight, sign, pairs), sign_other)
        total = total + product(sign, sign_other * _lower(weight_other, sign_other, pairs))
    return 0.5 * total


def _below_top(scores: Floats) -> Floats:
    """Weight (run, ranking) of the mean over the runs above; 0 for runs that none is above."""
    from scipy.stats import rankdata

    above = rankdata(-scores, method="min", axis=1).T - 1.0
    return ratio(1.0, above) / (above > 0).sum(axis=0)


def _lower(weight: Floats, sign: Floats, pairs: tuple[NDArray, NDArray]) -> Floats:
    """Weight of the lower run of each pair."""
    first, second = pairs
    return np.where(sign > 0, weight[second], weight[first])


def _spearman(scores: Floats, other: Floats, product: Product) -> Floats:
    """Pearson's correlation of mid-ranks."""
    from scipy.stats import rankdata

    def unit(values: Floats) -> Floats:
        rank = rankdata(values, axis=1).T
        centred = rank - rank.mean(axis=0)
        length = np.linalg.norm(centred, axis=0)
        return np.where(length > 0, centred / length, np.nan)

    return product(unit(scores), unit(other))


def _order(scores: Floats) -> NDArray[np.float32]:
    """Whole numbers (run, ranking) in the order of the scores, equal where these are."""
    from scipy.stats import rankdata

    return rankdata(scores, method="dense", axis=1).T.astype(np.float32)


def _pairs(n_runs: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Positions of the first and second run of all pairs, a chunk at a time."""
    first, second = np.triu_indices(n_runs, k=1)
    for start in range(0, first.size, 4096):
        yield first[start : start + 4096], second[start : start + 4096]


def _sign(order: NDArray[np.float32], pairs: tuple[NDArray, NDArray]) -> NDArray[np.float32]:
    """Signs (pair, ranking) of the differences of two runs."""
    first, second = pairs
    difference = order[first] - order[second]
    return np.clip(difference, -1.0, 1.0, out=difference)


SIMILARITIES: dict[str, Callable[[Floats, Floats, Product], Floats]] = {
    "tau": _tau,
    "tau_ap": _tau_ap,
    "spearman": _spearman,
}
