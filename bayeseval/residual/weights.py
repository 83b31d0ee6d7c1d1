"""Weights of the judged and unjudged ranks of runs, and the law of what the unjudged ones add."""

from numbers import Integral, Real

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_choice, check_whole_numbers
from bayeseval.collection.labels import without_judgment
from bayeseval.frame.rankings import CollectionLists, Rankings, TopicLists
from bayeseval.frame.sample import grade_columns
from bayeseval.messages import warn
from bayeseval.progress import track
from bayeseval.residual.distribution import UnjudgedSum

MOST_RANKS = 25_000  # of a run and its tail, for the exact distribution
OPTIONS = {
    "tail": ("unjudged", "nonrelevant"),
    "missing_topics": ("zero", "skip"),
    "over": (None, "topic"),
    "distribution": ("normal", "exact"),
}


def residual_sums(
    collection: xr.DataTree,
    persistence: float,
    relevance_level: int,
    cutoff: int | None,
    over: str | None = None,
    *,
    tail: str,
    **options: str,
) -> xr.Dataset:
    r"""Sums of the weights of judged relevant and of unjudged ranks, (run, topic, replicate).

    .. math:: base = (1-p) \sum_{i \in J} rel_i p^{i-1}, \quad
              weight = (1-p) \sum_{i \in U} p^{i-1}, \quad
              squares = (1-p)^2 \sum_{i \in U} p^{2(i-1)}

    With ``tail="unjudged"`` U holds all ranks past the end of the run, which add :math:`p^d` to
    the weight and :math:`(1-p) p^{2d} / (1+p)` to the squares of a run of length d (less what
    lies past the cutoff, if there is one). NaN in topics without a judgment; ``retrieved``
    (run, topic) says whether the run has the topic. Options of the public functions are checked;
    all but ``over`` are attrs, with the measure's label and the persistence.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abc"), "score": [3, 2, 1]})
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "c"], "grade": [1, 1]})
    >>> sums = residual_sums(be.read_collection(qrels, run), 0.5, 1, None, tail="unjudged")
    >>> [sums[name].item() for name in ("base", "weight", "squares")]
    [0.625, 0.375, 0.0677]
    """
    _check_options(persistence, cutoff, over=over, tail=tail, **options)
    check_whole_numbers(1, relevance_level=relevance_level)
    check_collection(collection, "rankings", "judgments")
    topics = collection["topic"].to_numpy()
    whole = CollectionLists(collection)
    lists = [whole.topic(topic) for topic in range(topics.size)]
    judged = np.array([_is_judged(topic) for topic in lists])
    if not judged.any():
        raise ValueError("no topic of the collection has a judgment")
    if not judged.all():
        warn(without_judgment(topics[~judged]))
    parts = [_topic_sums(topic, persistence, relevance_level, cutoff, tail) for topic in lists]
    base, weight, squares = np.stack(parts, axis=2)
    dims = ("run", "topic", "replicate")
    retrieved = Rankings.of(collection).pair[:, :, 0] >= 0
    sums = xr.Dataset(
        {"base": (dims, base), "weight": (dims, weight), "squares": (dims, squares)},
        coords={name: collection[name].to_numpy() for name in ("run", "topic")},
    )
    if "replicate" not in collection["judgments/grade"].dims:
        sums = sums.isel(replicate=0)
    return sums.assign(retrieved=(("run", "topic"), retrieved)).assign_attrs(
        measure=f"RBP(p={persistence:.12g})" + ("" if cutoff is None else f"@{cutoff}"),
        persistence=float(persistence),
        relevance_level=relevance_level,
        tail=tail,
        **options,
    )


def _is_judged(topic: TopicLists) -> bool:
    return bool((~np.isnan(topic.grade)).any())


def _topic_sums(topic: TopicLists, persistence, relevance_level, cutoff, tail) -> np.ndarray:
    """Base, weight and squares of one topic, (3, run, replicate)."""
    from bayeseval.measures.rank_sums import weighted_sum

    position = topic.top(cutoff)
    if not _is_judged(topic):
        return np.full((3, position.shape[0], topic.n_replicates), np.nan)
    weight = (1.0 - persistence) * persistence ** np.arange(position.shape[1])
    relevant = np.ascontiguousarray((topic.grade >= relevance_level).T, dtype=np.float64)
    unjudged = np.ascontiguousarray(np.isnan(topic.grade).T, dtype=np.float64)
    sums = np.stack(
        [
            weighted_sum(position, weight, relevant),
            weighted_sum(position, weight, unjudged),
            weighted_sum(position, weight**2, unjudged),
        ]
    )
    if tail == "unjudged":
        length = np.count_nonzero(position >= 0, axis=1)[:, None]
        beyond = np.inf if cutoff is None else cutoff
        sums[1] += persistence**length - persistence**beyond
        ratio = (1.0 - persistence) / (1.0 + persistence)
        sums[2] += ratio * (persistence ** (2.0 * length) - persistence ** (2.0 * beyond))
    return sums


def _check_options(persistence: float, cutoff: int | None, **given: str | None) -> None:
    """Refuse a persistence, a cutoff or an option that is not allowed."""
    if not isinstance(persistence, Real) or not 0.0 < persistence < 1.0:
        raise ValueError(
            f"persistence must be a number between 0 and 1, neither included, not {persistence!r}."
        )
    if cutoff is not None and (not isinstance(cutoff, Integral) or cutoff < 1):
        raise ValueError(
            f"cutoff must be a whole number, 1 or more, not {cutoff!r}; leave it out for no cutoff."
        )
    for name, value in given.items():
        check_choice(name, value, OPTIONS[name])


class UnjudgedWeights:
    """Unjudged ranks of a collection's runs with their weights and probabilities of relevance.

    Persistence, cutoff and tail are those of :func:`bayeseval.rbp_uncertainty`; ``scored``
    (run, topic) says whether a topic counts in the mean of a run.
    """

    def __init__(
        self,
        collection: xr.DataTree,
        persistence: float,
        cutoff: int | None,
        tail: str,
        probability: xr.DataArray,
        scored: xr.DataArray,
    ) -> None:
        self._ranking = Rankings.of(collection).pair[:, :, :cutoff]
        self._unjudged = np.isnan(grade_columns(collection))
        depth = self._ranking.shape[2]
        self._end = depth if tail == "nonrelevant" else _tail_end(depth, persistence, cutoff)
        self._weight = (1.0 - persistence) * persistence ** np.arange(self._end)
        self._tail = tail
        self._scored = scored.transpose("run", "topic").to_numpy()
        levels, place = np.unique(probability.to_numpy(), return_inverse=True)
        self._levels, self._level = levels, place.reshape(probability.shape)

    def sum_of(
        self, run: int, tolerance: float, *, topics: NDArray | None = None, replicate: int = 0
    ) -> UnjudgedSum:
        """Law of what the unjudged documents add to the mean over all topics, or those given."""
        topics = np.flatnonzero(self._scored[run]) if topics is None else topics
        ranking = self._ranking[run, topics]
        unjudged = (ranking >= 0) & self._unjudged[replicate][ranking]
        if self._tail == "unjudged":
            past = np.ones((topics.size, self._end - ranking.shape[1]), dtype=bool)
            unjudged = np.concatenate([unjudged | (ranking < 0), past], axis=1)
        topic, rank = np.nonzero(unjudged)
        key = rank * self._levels.size + self._level[run, topics[topic]]
        key, count = np.unique(key, return_counts=True)
        rank, level = np.divmod(key, self._levels.size)
        weight = self._weight[rank] / topics.size
        return UnjudgedSum(weight, self._levels[level], count, tolerance)

    def quantiles(self, prob: NDArray[np.float64], like: xr.DataArray) -> xr.DataArray:
        """Quantiles in the shape of ``like``, with the dim ``ci_bound``; NaN where that is NaN."""
        per_topic = "topic" in like.dims
        dims = ("run", "topic", "replicate") if per_topic else ("run", "replicate")
        full = like if "replicate" in like.dims else like.expand_dims("replicate")
        full = full.transpose(*dims)
        out = np.full((*full.shape, prob.size), np.nan)
        cells = np.argwhere(full.notnull().to_numpy()).tolist()
        for run, *topic, replicate in track(cells, "distributions of the unjudged part"):
            topics, tolerance = (np.array(topic), 3e-3) if per_topic else (None, 1e-4)
            unjudged = self.sum_of(run, tolerance, topics=topics, replicate=replicate)
            out[(run, *topic, replicate)] = unjudged.quantile(prob)
        quantile = xr.DataArray(out, dims=(*dims, "ci_bound"))
        quantile = quantile.assign_coords(ci_bound=["lower", "upper"])
        return quantile if "replicate" in like.dims else quantile.isel(replicate=0)


def _tail_end(depth: int, persistence: float, cutoff: int | None) -> int:
    """Last rank past the end of a run that is listed; those below it weigh 1e-10 in all."""
    end = max(depth, int(np.ceil(np.log(1e-10) / np.log(persistence))))
    end = end if cutoff is None else cutoff
    if end > MOST_RANKS:
        raise ValueError(
            f"distribution='exact' with tail='unjudged' would list {end} ranks at persistence "
            f"{persistence}, at most {MOST_RANKS} are allowed; use distribution='normal' (accurate "
            "for so many small weights), a cutoff, or tail='nonrelevant'."
        )
    return end
