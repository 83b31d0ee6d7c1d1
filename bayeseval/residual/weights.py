"""Weights of the unjudged ranks of every run, as distributions of what they add to the score."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns
from bayeseval.progress import track
from bayeseval.residual.distribution import UnjudgedSum

TAIL_LEFT_OUT = 1e-10  # weight of the ranks past the end of a run that are not listed
MOST_RANKS = 25_000


class UnjudgedWeights:
    """Unjudged ranks of a collection's runs with their weights and probabilities of relevance.

    Persistence, cutoff and tail are those of :func:`bayeseval.residual.rbp_uncertainty`; ``scored``
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
        """Distribution of what the unjudged documents add to the mean over topics, or over some."""
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
    """Rank at which the ranks past the end of a run stop to matter."""
    end = max(depth, int(np.ceil(np.log(TAIL_LEFT_OUT) / np.log(persistence))))
    end = end if cutoff is None else cutoff
    if end > MOST_RANKS:
        raise ValueError(
            f"distribution='exact' with tail='unjudged' would list {end} ranks at persistence "
            f"{persistence}, at most {MOST_RANKS} are allowed; use distribution='normal', which so "
            "many small weights make accurate, a cutoff, or tail='nonrelevant'."
        )
    return end
