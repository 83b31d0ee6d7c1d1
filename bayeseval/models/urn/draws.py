"""Draws of the unjudged ranks of the runs of an urn model, from what is left in their urns."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import check_frame, check_rankings
from bayeseval.frame.rankings import contributing_runs
from bayeseval.models.urn.tops import UNJUDGED, Tops


class UrnDraws:
    """Scores of the runs of an urn model under every draw, topic by topic.

    Under every draw of the parameters M is drawn given the judged tops, then each run's unjudged
    ranks: those among the judged ones by forward filtering and backward sampling, those below from
    what is left in the urn. With two urns this is the urn of the documents that no other run shows,
    each run's own; all others keep what is known of them.

    Parameters
    ----------
    fitted : DataTree
        Fit of ``urn_model``.
    sampled : DataTree
        The collection that it was fitted to.
    random_seed : int or None
        For the draws of the unjudged ranks.
    """

    def __init__(self, fitted: xr.DataTree, sampled: xr.DataTree, random_seed: int | None) -> None:
        constant = fitted["constant_data"].to_dataset()
        posterior = fitted["posterior"].to_dataset()
        pairs = constant["frame_pair"].to_numpy()
        in_frame = np.zeros(sampled.sizes["pair"], dtype=bool)
        in_frame[pairs[pairs < in_frame.size]] = True
        self.tops = Tops.of(
            sampled,
            contributing_runs(sampled, posterior["run"].to_numpy().tolist()),
            depth=int(constant["urn_depth"]),
            relevance_level=int(constant["relevance_level"]),
            in_frame=in_frame,
        )
        same = self.tops.checksum == int(constant["frame_checksum"])
        check_frame(same and pairs.max() < in_frame.size)
        run, topic = (self.tops.coords[dim] for dim in ("run", "topic"))
        check_rankings(sampled, self.tops.run, constant["run_checksum"].sel(run=run).to_numpy())
        self.sizes = {dim: posterior.sizes[dim] for dim in ("chain", "draw")}
        self.n_draws = self.sizes["chain"] * self.sizes["draw"]
        self._log_odds = self._flat(posterior["log_odds"].sel(run=run))
        self._logit_prevalence = self._flat(posterior["logit_prevalence"].sel(topic=topic))
        self._weight = float(constant["relevance_weight"])
        self._own = bool(int(constant["unshared"]))
        number = self.tops.count(in_frame)
        self._number = number[:, None] - self.tops.n_others[0] if self._own else number[:, None]
        words = np.random.SeedSequence(random_seed).generate_state(self._number.size + 1)
        self.seed_word, self._seeds = int(words[0]), words[1:].reshape(self._number.shape)

    def _flat(self, values: xr.DataArray) -> NDArray[np.float64]:
        return values.transpose("chain", "draw", ...).to_numpy().reshape(self.n_draws, -1)

    def scores(self, topic: int, weight: list[NDArray]) -> Iterator[NDArray[np.float64]]:
        """Weighted sums (run, draw) of the relevances of one topic's rankings, per measure."""
        length = max(part.size for part in weight)
        colour, rank, judged = self.tops.topic_lists(topic, length, own=self._own)
        self._check_ignorable(topic, colour, judged)
        filled = self._filled(topic, colour, judged)
        ranking = self.tops.rankings.pair[:, topic, :length]
        known = (ranking >= 0) & (self.tops.relevance[ranking] == 1)
        gap = colour == UNJUDGED
        for part in weight:
            padded = np.pad(part, (0, length - part.size))
            worth = np.where(gap, padded[rank], 0.0)
            yield (known @ padded)[:, None] + weighted_sums(filled, worth)

    def _filled(self, topic: int, colour: NDArray[np.int8], judged: NDArray[np.int64]):
        """Lists (draw, run, place) with the unjudged places drawn."""
        from bayeseval.distributions.wallenius_sequence_draws import filled_topic

        logit = self._logit_prevalence[:, topic]
        number, seeds = self._number[topic].tolist(), self._seeds[topic].tolist()
        filled = np.empty((self.n_draws, *colour.shape), dtype=np.int8)
        urns = np.array_split(np.arange(len(colour)), len(number))  # the runs that draw from each
        for some, size, seed in zip(urns, number, seeds, strict=True):
            filled[:, some], _ = filled_topic(
                seed, colour[some], judged[some], self._log_odds[:, some], logit, size, self._weight
            )
        return filled

    def _check_ignorable(self, topic: int, colour, judged) -> None:
        """Refuse lists in which documents are judged below the depth, for other runs' sake."""
        below = np.arange(colour.shape[1]) >= judged[:, None]
        mixed = (below & (colour >= 0)).any(axis=1) & (below & (colour == UNJUDGED)).any(axis=1)
        if mixed.any():
            run, label = int(np.argmax(mixed)), self.tops.coords["topic"][topic]
            raise ValueError(
                f"run '{self.tops.coords['run'][run]}' has judged and unjudged documents below "
                f"rank {self.tops.depth} on topic '{label}': what other runs had judged is better "
                "than the rest, and an urn of both does not know it; fit with "
                "documents='unshared' to all runs of the pool"
            )

    def outside_weight(self, topic: int, weight: list[NDArray]) -> NDArray[np.float64]:
        """Weight (measure, run) of retrieved documents that no urn holds and nobody judged."""
        return self._weight_of(topic, weight, ~self.tops.in_frame & (self.tops.relevance < 0))

    def filled_weight(self, topic: int, weight: list[NDArray]) -> NDArray[np.float64]:
        """The same of those that nobody judged and urns hold: of the ranks that they fill."""
        return self._weight_of(topic, weight, self.tops.in_frame & (self.tops.relevance < 0))

    def judged_score(self, topic: int, weight: list[NDArray]) -> NDArray[np.float64]:
        """Scores (measure, run) by the judged documents alone."""
        return self._weight_of(topic, weight, self.tops.relevance == 1)

    def _weight_of(self, topic: int, weight: list[NDArray], chosen: NDArray[np.bool_]) -> NDArray:
        """Weight (measure, run) of the ranks of some pairs of the collection (pair,)."""
        length = max(part.size for part in weight)
        ranking = self.tops.rankings.pair[:, topic, :length]
        there = (ranking >= 0) & chosen[ranking]
        return np.stack([there[:, : part.size].astype(float) @ part for part in weight])


def weighted_sums(filled: NDArray[np.int8], worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums (run, draw) of the worth (run, place) of places that hold 1 in (draw, run, place)."""
    sums = [(filled[:, run] == 1) @ worth[run] for run in range(worth.shape[0])]
    return np.stack(sums)
