"""Posterior draws of the grades of one topic's documents: judged ones keep theirs."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import check_rankings, label_positions
from bayeseval.frame.frame import Frame
from bayeseval.models.relevance.blocks import Parts, blocks
from bayeseval.models.relevance.constants import kept_scale
from bayeseval.models.relevance.external import external_values, label_codes

BLOCK = 2048  # pairs at a time: the linear predictor of a block is the largest array
TOPIC_STREAM = 0


class RelevanceDraws:
    """Grades of documents under every draw of a fit, topic by topic.

    A grade is a position in ``scale``. For a model of relevance the scale is 0 and the relevance
    level; for a model of grades it is the model's own.

    Parameters
    ----------
    fitted : DataTree
        Fit of ``relevance_model`` or ``grade_model``.
    sampled : DataTree
        The collection that it was fitted to; runs may have been added since.
    random_seed : int or None
        For the draws of relevance given the parameters.
    """

    def __init__(self, fitted: xr.DataTree, sampled: xr.DataTree, random_seed: int | None) -> None:
        self._constant = fitted["constant_data"].to_dataset()
        self.frame = Frame.of_one_sample(sampled, self._constant["run"].to_numpy().tolist())
        if self.frame.checksum != int(self._constant["frame_checksum"]):
            raise ValueError(
                "the fit does not belong to this collection: its frame has other documents, or "
                "other judgments of them; fit the model to this collection"
            )
        labels = sampled["run"].to_numpy()[self.frame.run]
        check_rankings(
            sampled, self.frame.run, self._constant["run_checksum"].sel(run=labels).to_numpy()
        )
        self.sizes = {dim: fitted["posterior"].sizes[dim] for dim in ("chain", "draw")}
        self.n_draws = self.sizes["chain"] * self.sizes["draw"]
        self._draws = {
            str(name): values.transpose("chain", "draw", ...)
            .to_numpy()
            .reshape(self.n_draws, *values.shape[2:])
            for name, values in fitted["posterior"].data_vars.items()
        }
        self._scale = kept_scale(self._constant)
        self.graded = "grade_scale" in self._constant
        level = self._constant.get("relevance_level", 1)
        binary = np.array([0.0, float(level)])
        self.scale = self._constant["grade_scale"].to_numpy() if self.graded else binary
        topics = fitted["posterior"].to_dataset().get("topic", sampled["topic"]).to_numpy()
        self._topic = label_positions(topics, sampled["topic"].to_numpy())
        self._columns = {
            str(name).removesuffix("_edges"): external_values(
                sampled, str(name).removesuffix("_edges")
            )
            for name in self._constant.data_vars
            if str(name).endswith("_edges")
        }
        self.seed_word = int(np.random.SeedSequence(random_seed).generate_state(1, np.uint64)[0])

    def binary_level(self) -> int | None:
        """Relevance level of a model of relevance; None for one of grades."""
        return None if self.graded else int(self.scale[1])

    def topic(self, topic: int, pairs: NDArray) -> NDArray[np.uint8]:
        """Positions in ``scale`` (pair, draw) of some pairs of a topic, given as local positions.

        Parameters
        ----------
        topic : int
            Position of the topic in the collection.
        pairs : int array (pair,)
            Positions among the topic's pairs.
        """
        random = np.random.default_rng([self.seed_word, TOPIC_STREAM, topic])
        first = int(np.searchsorted(self.frame.collection["pair_topic"].to_numpy(), topic))
        grade = self._grade(first + pairs)
        codes = np.empty((pairs.size, self.n_draws), dtype=np.uint8)
        known = ~np.isnan(grade)
        codes[known] = self._code(grade[known])[:, None]
        ranks = self.frame.ranks(topic)
        for rows in _blocks(np.flatnonzero(~known)):
            logit = self._logit(topic, ranks, pairs[rows])
            codes[rows] = self._drawn(logit, first + pairs[rows], random)
        return codes

    def _grade(self, pairs: NDArray) -> NDArray[np.float64]:
        """Grades of pairs of the collection, NaN where not judged."""
        grade = np.full(self.frame.collection.sizes["pair"], np.nan)
        grade[self.frame.pair] = self.frame.grade[0]
        return grade[pairs]

    def _code(self, grade: NDArray) -> NDArray[np.integer]:
        if self.graded:
            return np.searchsorted(self.scale, grade)
        return (grade >= self.scale[1]).astype(np.uint8)

    def _logit(self, topic: int, ranks, rows: NDArray) -> NDArray[np.float64]:
        """Linear predictor (row, draw); a model may do without topic effects and components."""
        own = self._draws.get("topic_component_effect")
        parts = Parts(
            n_topic_components=0 if own is None else own.shape[2],
            topic_effects="topic_effect" in self._draws,
            agreement="agreement_effect" in self._draws,
        )
        found = blocks(self._scale, ranks, rows, parts)
        logit = np.zeros((rows.size, self.n_draws))
        for block in found:
            effect = self._draws[block.effect]
            logit += block.times(effect[:, self._topic[topic]] if block.by_topic else effect)
        return logit

    def _drawn(self, logit: NDArray, pairs: NDArray, random) -> NDArray[np.uint8]:
        """Positions in the scale, drawn given the linear predictor and the external labels."""
        from scipy.special import expit

        uniform = random.random(logit.shape, dtype=np.float32)
        above = [expit(logit - cut) for cut in self._cutpoints()]
        if self._columns:
            above = self._given_labels(above, pairs)
        return sum((uniform < share).astype(np.uint8) for share in above)  # type: ignore[return-value]

    def _cutpoints(self) -> list[NDArray | float]:
        """Cutpoints between the grades, each a number or (draw,)."""
        gap = self._draws.get("grade_gap")
        if gap is None:
            return [0.0]
        return [0.0, *np.cumsum(gap, axis=1).T]

    def _given_labels(self, above: list[NDArray], pairs: NDArray) -> list[NDArray]:
        """P(grade at or above each step) given the labels, by Bayes."""
        share = [1.0, *above, 0.0]
        mass = [high - low for high, low in zip(share[:-1], share[1:], strict=True)]
        for column, values in self._columns.items():
            code = label_codes(values[pairs], self._constant[f"{column}_edges"].to_numpy())
            rate = self._draws[f"{column}_rate"]
            labelled = (code >= 0)[:, None]
            for state, values_of_state in enumerate(mass):
                mass[state] = values_of_state * np.where(labelled, rate[:, state, code].T, 1.0)
        total = sum(mass)
        return [sum(mass[state:]) / total for state in range(1, len(mass))]  # type: ignore[misc]


def _blocks(rows: NDArray) -> Iterator[NDArray]:
    for first in range(0, rows.size, BLOCK):
        yield rows[first : first + BLOCK]
