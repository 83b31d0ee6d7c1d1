"""Posterior draws of scores from an urn model: unjudged ranks are drawn from what is left."""

import warnings
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import check_rankings, without_judgment
from bayeseval.frame.members import contributing_runs
from bayeseval.measures.linear import RANK_WEIGHTS, rank_weight
from bayeseval.measures.names import Measure, parse_measures
from bayeseval.models.urn.tops import UNJUDGED, Tops
from bayeseval.posterior.labels import labelled_scores
from bayeseval.posterior.weights import topic_weights
from bayeseval.progress import track

NEGLIGIBLE = 1e-7  # ranks below which a measure has no more than this of its weight are left out


def urn_scores(
    fitted: xr.DataTree,
    sampled: xr.DataTree,
    measures,
    *,
    outside: str,
    over: str | None,
    population: str,
    random_seed: int | None,
) -> xr.Dataset:
    """Posterior draws of linear measures from a fit of ``urn_model``; see ``posterior_scores``."""
    if outside != "nonrelevant":
        raise ValueError("an urn holds the documents of its frame only; allowed: 'nonrelevant'")
    draws = UrnDraws(fitted, sampled, random_seed)
    parsed = _linear(measures, draws.tops.relevance_level)
    depth = sampled["rankings"].sizes["rank"]
    weight = [_cut(rank_weight(measure, depth)) for measure in parsed]
    judged = draws.tops.count(draws.tops.relevance >= 0) > 0
    if not judged.all():
        warnings.warn(without_judgment(draws.tops.coords["topic"][~judged]), stacklevel=3)
    share = topic_weights(judged, draws.n_draws, draws.seed_word, over, population)
    n_runs, n_topics = draws.tops.run.size, judged.size
    lost = np.full((len(parsed), n_runs, n_topics), np.nan)
    shape = (len(parsed), n_runs, *([] if share is not None else [n_topics]), draws.n_draws)
    estimate = np.full(shape, 0.0 if share is not None else np.nan)
    for topic in track(np.flatnonzero(judged).tolist(), "posterior scores"):
        for index, score in enumerate(draws.scores(topic, weight)):
            if share is None:
                estimate[index, :, topic] = score
            else:
                estimate[index] += share[topic] * score
        lost[:, :, topic] = draws.outside_weight(topic, weight)
    labels = {"measure": np.array([measure.label for measure in parsed])}
    labels |= {dim: draws.tops.coords[dim] for dim in ("run", "topic")}
    return labelled_scores(draws.sizes, labels, estimate, lost, over).assign_attrs(
        estimator="urn_model",
        outside=outside,
        population=population if over == "topic" else "",
        relevance_level=draws.tops.relevance_level,
    )


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
        if pairs.max() >= in_frame.size or self.tops.checksum != int(constant["frame_checksum"]):
            raise ValueError(
                "the fit does not belong to this collection: its frame has other documents, or "
                "other judgments of them; fit the model to this collection"
            )
        labels = self.tops.coords["run"]
        check_rankings(sampled, self.tops.run, constant["run_checksum"].sel(run=labels).to_numpy())
        self.sizes = {dim: posterior.sizes[dim] for dim in ("chain", "draw")}
        self.n_draws = self.sizes["chain"] * self.sizes["draw"]
        run = self.tops.coords["run"]
        self._log_odds = self._flat(posterior["log_odds"].sel(run=run))
        topics = self.tops.coords["topic"]
        self._logit_prevalence = self._flat(posterior["logit_prevalence"].sel(topic=topics))
        self._weight = float(constant["relevance_weight"])
        self._own = bool(int(constant["unshared"]))
        number = self.tops.count(in_frame)
        self._number = number[:, None] - self.tops.n_others[0] if self._own else number[:, None]
        words = np.random.SeedSequence(random_seed).generate_state(self._number.size + 1)
        self.seed_word, self._seeds = int(words[0]), words[1:].reshape(self._number.shape)

    def _flat(self, values: xr.DataArray) -> NDArray[np.float64]:
        values = values.transpose("chain", "draw", ...)
        return np.ascontiguousarray(values.to_numpy().reshape(self.n_draws, -1))

    def scores(self, topic: int, weight: list[NDArray]) -> Iterator[NDArray[np.float64]]:
        """Weighted sums (run, draw) of the relevances of one topic's rankings, per measure."""
        length = max(part.size for part in weight)
        colour, rank, judged = self.tops.topic_lists(topic, length, own=self._own)
        self._check_ignorable(topic, colour, judged)
        filled = self._filled(topic, colour, judged)
        ranking = self._ranking(topic, length)
        known = (ranking >= 0) & (self.tops.relevance[ranking] == 1)
        gap = colour == UNJUDGED
        for part in weight:
            padded = np.pad(part, (0, length - part.size))
            worth = np.where(gap, padded[rank], 0.0)
            yield (known @ padded)[:, None] + weighted_sums(filled, worth)

    def _filled(self, topic: int, colour: NDArray[np.int8], judged: NDArray[np.int64]):
        """Lists (draw, run, place) with the unjudged places drawn."""
        from bayeseval.distributions.wallenius_sequence_draws import filled_topic

        logit = np.ascontiguousarray(self._logit_prevalence[:, topic])
        number, seeds = self._number[topic].tolist(), self._seeds[topic].tolist()
        if not self._own:
            return filled_topic(
                seeds[0], colour, judged, self._log_odds, logit, number[0], self._weight
            )[0]
        filled = np.empty((self.n_draws, *colour.shape), dtype=np.int8)
        for run in range(colour.shape[0]):
            one = slice(run, run + 1)
            odds = np.ascontiguousarray(self._log_odds[:, one])
            filled[:, one], _ = filled_topic(
                seeds[run], colour[one], judged[one], odds, logit, number[run], self._weight
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
        length = max(part.size for part in weight)
        ranking = self._ranking(topic, length)
        lost = (ranking >= 0) & ~self.tops.in_frame[ranking] & (self.tops.relevance[ranking] < 0)
        return np.stack([lost[:, : part.size].astype(float) @ part for part in weight])

    def _ranking(self, topic: int, length: int) -> NDArray[np.int32]:
        rankings = self.tops.collection["rankings/ranking"]
        return rankings.to_numpy()[self.tops.run, topic, :length]


def weighted_sums(filled: NDArray[np.int8], worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums (run, draw) of the worth (run, place) of the places that hold 1 in (draw, run, place).

    Examples
    --------
    >>> weighted_sums(np.array([[[1, 0, 1]]], dtype=np.int8), np.array([[0.5, 0.25, 0.125]]))
    array([[0.625]])
    """
    sums = [(filled[:, run] == 1) @ worth[run] for run in range(worth.shape[0])]
    return np.stack(sums)


def _linear(measures, relevance_level: int) -> list[Measure]:
    """Measures that are weighted sums over ranks: what an urn of each run can be asked for."""
    parsed = parse_measures(measures, relevance_level=relevance_level, grades=(0.0, 1.0))
    for measure in parsed:
        if measure.name not in RANK_WEIGHTS or measure.graded:
            raise ValueError(
                f"{measure.label} has no posterior scores under urn_model; measures that have "
                f"them: {', '.join(RANK_WEIGHTS)}, of relevance"
            )
        if measure.relevance_level != relevance_level:
            raise ValueError(
                f"{measure.label} counts grades from {measure.relevance_level} and the model those "
                f"from {relevance_level}; fit it with relevance_level={measure.relevance_level}"
            )
    return parsed


def _cut(weight: NDArray[np.floating]) -> NDArray[np.floating]:
    """Weights without the ranks at the end that add next to nothing."""
    left = weight[::-1].cumsum()[::-1]
    return weight[: max(1, int((left > NEGLIGIBLE * left[0]).sum()))]
