"""Posterior draws of the grades of one topic's documents: judged ones keep theirs."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection.labels import check_frame, check_rankings, label_positions
from bayeseval.frame.frame import Frame
from bayeseval.frame.rankings import TopicRanks
from bayeseval.models.relevance.blocks import EFFECTS, blocks, kept_scale
from bayeseval.models.relevance.external import (
    AT_MODE,
    external_values,
    label_codes,
    label_columns,
    label_rate,
)
from bayeseval.models.relevance.mode import STEP
from bayeseval.models.relevance.regression import step_rank

LEAST_SHARE = 1e-9  # probability of a judgment by all others


class RelevanceDraws:
    """Grades of documents under every draw of a fit, topic by topic.

    A grade is a position in ``scale``. For a model of relevance the scale is 0 and the relevance
    level; for a model of grades it is the model's own.

    Runs may have been added to the collection since the model was fitted to it.
    """

    def __init__(self, fitted: xr.DataTree, sampled: xr.DataTree, random_seed: int | None) -> None:
        self._constant = fitted["constant_data"].to_dataset()
        runs, fused = (self._constant[name].to_numpy().tolist() for name in ("run", "fused_run"))
        missing = sorted({*runs, *fused} - set(sampled["run"].to_numpy().tolist()))
        if missing:
            raise ValueError(
                f"the fit learned from runs that this collection lacks ({', '.join(missing[:3])}"
                f"{' and others' if len(missing) > 3 else ''}); score the collection that was "
                "fitted, and pick runs of the result with sel(run=[...])"
            )
        self.frame = Frame.of_one_sample(sampled, runs, fused)
        check_frame(self.frame.checksum == int(self._constant["frame_checksum"]))
        # the collection may hold the runs in another order than the one of the fit
        for name, run in (("run", self.frame.run), ("fused_run", self.frame.fused_run)):
            self._constant = self._constant.sel({name: sampled["run"].to_numpy()[run]})
            check_rankings(sampled, run, self._constant[f"{name}_checksum"].to_numpy())
        self.sizes = {dim: fitted["posterior"].sizes[dim] for dim in ("chain", "draw")}
        self.n_draws = self.sizes["chain"] * self.sizes["draw"]
        posterior = fitted["posterior"].to_dataset()
        # the fit may hold columns in another order than the one of the model
        columns = posterior.indexes.keys() & self._constant.indexes.keys() - {"run", "topic"}
        posterior = posterior.sel({dim: self._constant[dim] for dim in columns})
        self._draws = {
            str(name): values.to_numpy().reshape(self.n_draws, *values.shape[2:])
            for name, values in posterior.transpose(
                "chain", "draw", "state", ..., missing_dims="ignore"
            ).data_vars.items()
        }
        self._scale = kept_scale(self._constant)
        self.graded = "grade_scale" in self._constant
        if self.graded:
            self.scale = self._constant["grade_scale"].to_numpy()
        else:
            self.scale = np.array([0.0, float(self._constant["relevance_level"])])
        topics = posterior.get("topic", sampled["topic"]).to_numpy()
        self._topic = label_positions(topics, sampled["topic"].to_numpy())
        self._columns = {
            column: external_values(sampled, column)
            for column in label_columns(self._constant.coords)
        }
        self._check_labels()
        self.seed_word = int(np.random.SeedSequence(random_seed).generate_state(1, np.uint64)[0])

    def _check_labels(self) -> None:
        """Refuse other labels of judged documents than those that error rates were learned from."""
        judged = self.frame.pair[~np.isnan(self.frame.grade[0])]
        for column, values in self._columns.items():
            code = label_codes(values[judged], self._constant[f"{column}_edges"].to_numpy())
            learned = self._constant[f"judged_{column}_label"].to_numpy()
            if not np.array_equal(code[code >= 0], learned):
                raise ValueError(
                    f"the labels '{column}' of judged documents are other ones than the fit "
                    "learned from; fit the model again"
                )

    def binary_level(self) -> int | None:
        """Relevance level of a model of relevance; None for one of grades."""
        return None if self.graded else int(self.scale[1])

    def at_mean(self) -> "RelevanceDraws":
        """The same with one draw, the posterior mean of every parameter."""
        other = copy.copy(self)
        other._draws = {k: v.mean(axis=0, keepdims=True) for k, v in self._draws.items()}
        other.n_draws = 1
        return other

    def topic(
        self, topic: int, pairs: NDArray, kept: NDArray[np.bool_] | None = None
    ) -> "TopicDraws":
        """Grades under every draw of some pairs of a topic, given as local positions.

        Those ``kept`` (pair,) may be drawn again with other log odds of relevance.
        """
        random = np.random.default_rng([self.seed_word, 0, topic])
        start = int(self.frame.rankings.start[topic])
        grade = self.grade[start + pairs]
        codes = np.empty((pairs.size, self.n_draws), dtype=np.uint8)
        known = ~np.isnan(grade)
        codes[known] = self._code(grade[known])[:, None]
        kept = ~known & (False if kept is None else kept)
        again = TopicDraws.empty(self, codes, start + pairs, np.flatnonzero(kept))
        ranks = self.frame.ranks(topic)
        for rows in _blocks(np.flatnonzero(~known)):
            logit, seen = self.logit(topic, ranks, pairs[rows], np.float32)
            uniform = random.random(logit.shape, dtype=np.float32)
            above = self._above(logit, start + pairs[rows])
            relevant = np.ones(above[0].shape, dtype=np.uint8)  # its grade if it is relevant
            if len(above) > 1:
                chance = above[0] * random.random(above[0].shape, dtype=np.float32)
                for share in above[1:]:
                    relevant += chance < share
            codes[rows] = (uniform < above[0]) * relevant
            again.keep(rows, logit, uniform, relevant, seen)
        return again

    def relevance(
        self, logit: NDArray, pairs: NDArray, before: NDArray | None = None
    ) -> NDArray[np.floating]:
        """P(relevant) (pair, draw) given the log odds of relevance, and labels.

        ``before`` are the log odds before a run departed: how often a relevant document has a
        higher grade, which labels of several grades tell too, goes with these.
        """
        return self._above(logit, pairs, before)[0]

    def log_probability(
        self, logit: NDArray, pairs: NDArray, grade: NDArray, weight: NDArray, before: NDArray
    ) -> NDArray[np.float64]:
        """Weighted log probability (column,) of which grades are relevant, given (pair, column).

        ``before`` (pair,) are log odds as for :meth:`relevance`.
        """
        from scipy.special import log_expit

        relevant = self.relevant(grade)[:, None]
        if not self._columns:
            signed = np.where(relevant, 1.0, -1.0) * logit
            return weight @ np.maximum(log_expit(signed), np.log(1e-300))
        share = self.relevance(logit, pairs, before[:, None])
        share = np.where(relevant, share, 1.0 - share)
        return weight @ np.log(np.maximum(share, 1e-300))

    def shares(self, topic: int, pairs: NDArray) -> NDArray[np.float64]:
        """P(relevant) (pair, draw) of some pairs of a topic, whether they are judged or not.

        For a model of grades relevant is what has a grade above the lowest. Topic and pairs are
        given as to :meth:`topic`.
        """
        start = int(self.frame.rankings.start[topic])
        ranks = self.frame.ranks(topic)
        return np.concatenate(
            [
                self._above(self.logit(topic, ranks, pairs[rows])[0], start + pairs[rows])[0]
                for rows in _blocks(np.arange(pairs.size))
            ]
        )

    def leave_one_out(
        self, topic: int, ranks: TopicRanks, pairs: NDArray, grade: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Log odds (pair,) of relevance by all judgments but a pair's own, and (pair, 2).

        .. math:: P(y_d = 1 \mid g_{-d})
                  = \frac{\sum_s P(y_d = 1 \mid s) / P(g_d \mid s)}{\sum_s 1 / P(g_d \mid s)}

        over draws s, for judged pairs of the collection with their grades g; where grades are
        relevance, one over the mean of one over what the draws say of the judgment. Relevant is
        what :meth:`relevant` says, before external labels. The second is that of :meth:`logit`.

        References
        ----------
        Gelfand, Dey and Chang, "Model determination using predictive distributions with
        implementation via sampling-based methods", Bayesian Statistics 4 (1992).
        """
        from scipy.special import logit as log_odds

        odds, seen = np.empty(pairs.size), np.empty((pairs.size, 2))
        for rows in _blocks(np.arange(pairs.size)):
            local = pairs[rows] - self.frame.rankings.start[topic]
            logit, seen[rows] = self.logit(topic, ranks, local)
            above = self._reached(logit, pairs[rows])
            judged = _mass(above)[self._code(grade[rows]), np.arange(rows.size)]
            weight = 1.0 / np.maximum(judged, LEAST_SHARE)
            share = (weight * above[0]).sum(axis=1) / weight.sum(axis=1)
            odds[rows] = log_odds(np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE))
        return odds, seen

    def relevant(self, grade: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which grades are what :meth:`shares` speaks of."""
        return grade >= self.scale[1]

    @cached_property
    def grade(self) -> NDArray[np.float64]:
        """Grades (pair + 1,) of all pairs, NaN where not judged; the last serves position -1."""
        grade = np.full(self.frame.rankings.n_pairs + 1, np.nan)
        grade[self.frame.pair] = self.frame.grade[0]
        return grade

    def _code(self, grade: NDArray) -> NDArray[np.integer]:
        if self.graded:
            return np.searchsorted(self.scale, grade)
        return (grade >= self.scale[1]).astype(np.uint8)

    def logit(
        self, topic: int, ranks, rows: NDArray, precision: type = np.float64
    ) -> tuple[NDArray, NDArray]:
        """Linear predictor (row, draw), and what a run departs by (row, 2).

        That is the scaled log of the fused rank less that of the top, and whether none of the
        model's runs retrieved the document. Single precision takes half the time, and serves to
        draw by.
        """
        columns = blocks(self._scale, ranks, rows)
        effects = []
        for block in columns:
            effect = self._draws[block.effect]
            effects.append(effect[:, self._topic[topic]] if block.by_topic else effect)
        values = np.column_stack([block.values for block in columns]).astype(precision)
        logit = values @ np.column_stack(effects).astype(precision).T
        unseen = ~ranks.run_rank[rows].any(axis=1)
        return logit, np.column_stack(
            [columns[0].values[:, 1] + 1.0, unseen]
        )  # rank 5 or so is the top

    def _above(
        self, logit: NDArray, pairs: NDArray, before: NDArray | None = None
    ) -> list[NDArray]:
        """P(grade at or above each step), given the external labels too."""
        above = self._reached(logit, pairs, before)
        return self._given_labels(above, pairs) if self._columns else above

    def _reached(
        self, logit: NDArray, pairs: NDArray, before: NDArray | None = None
    ) -> list[NDArray]:
        """P(grade at or above each step) given the log odds of relevance (pair, draw)."""
        from scipy.special import expit

        above = [expit(logit)]
        if self.scale.size > 2:
            share = np.logaddexp(0.0, logit if before is None else before, dtype=logit.dtype)
            for level, slope in zip(*self._steps(pairs, logit.dtype), strict=True):
                above.append(above[-1] * expit(level + slope * share))
        return above

    @property
    def labelled(self) -> bool:
        """Whether external labels have a say in what documents are."""
        return bool(self._columns)

    def _steps(self, pairs: NDArray, precision: Any) -> tuple[NDArray, NDArray]:
        """Levels (step, pair, draw) and slopes (step, draw) of the steps to higher grades.

        The pairs are positions in the collection, of the model's, which has several such grades.
        """
        level, slope, by_rank = (self._draws[name].T.astype(precision) for name in STEP)
        topic = np.searchsorted(self.frame.rankings.start, pairs, side="right") - 1
        if (topic == topic[:1]).all():
            topic = topic[:1]
        own = self._draws["topic_step_effect"][:, self._topic[topic]]
        level = level[:, None] + own.transpose(2, 1, 0).astype(precision)
        rank = self._step_rank[pairs].astype(precision)
        return level + by_rank[:, None] * rank[:, None], slope

    @cached_property
    def _step_rank(self) -> NDArray[np.float64]:
        """What of the fused rank of all pairs (pair,) the steps go with."""
        start = self.frame.rankings.start
        rank = [
            self.frame.ranks(topic).fused_rank for topic in np.flatnonzero(np.diff(start)).tolist()
        ]
        return step_rank(self._scale.shape_of(np.concatenate(rank))[:, 0])

    @cached_property
    def _label_logit(self) -> NDArray[np.float64]:
        """Linear predictor (pair,) that the labels' error rates go with."""
        start = self.frame.rankings.start
        logit = np.zeros(start[-1])
        for topic in range(start.size - 1):
            rows = np.arange(start[topic + 1] - start[topic])
            if not rows.size:
                continue
            for block in blocks(self._scale, self.frame.ranks(topic), rows):
                effect = self._constant[f"{AT_MODE}{block.effect}"]
                own = effect.transpose(*EFFECTS[block.name].all_dims).to_numpy()
                own = own[self._topic[topic]] if block.by_topic else own
                logit[start[topic] : start[topic + 1]] += np.dot(block.values, own)
        return logit

    def _given_labels(self, above: list[NDArray], pairs: NDArray) -> list[NDArray]:
        """P(grade at or above each step) given the labels, by Bayes."""
        mass = list(_mass(above))
        for column, values in self._columns.items():
            code = label_codes(values[pairs], self._constant[f"{column}_edges"].to_numpy())
            share, slope = (self._draws[f"{column}_{name}"] for name in ("share", "slope"))
            for state in range(len(mass)):
                mass[state] = mass[state] * label_rate(
                    code, share[:, state], slope[:, state], self._label_logit[pairs]
                )
        total = sum(mass)
        return [sum(mass[state:]) / total for state in range(1, len(mass))]  # type: ignore[misc]


def _mass(above: list[NDArray]) -> NDArray[np.float64]:
    """Probabilities (state, pair, column) of the grades, of those at or above each step."""
    share = [np.ones_like(above[0]), *above, np.zeros_like(above[0])]
    return np.stack([high - low for high, low in zip(share[:-1], share[1:], strict=True)])


def _blocks(rows: NDArray) -> Iterator[NDArray]:
    """Blocks of rows, whose linear predictor fits into a processor's cache."""
    for first in range(0, rows.size, 256):
        yield rows[first : first + 256]


@dataclass(eq=False)
class TopicDraws:
    """Grades of one topic's documents under every draw, some of which can be drawn again."""

    draws: Any
    codes: NDArray[np.uint8]  # (pair, draw): positions in the scale
    pairs: NDArray[np.integer]  # (pair,): positions in the collection
    row: NDArray[np.int64]  # (pair,): row of a pair among those kept, -1 for the others
    # (kept, draw): linear predictor, and the chance that decided on relevance
    logit: NDArray[np.float32]
    uniform: NDArray[np.float32]
    relevant: NDArray[np.uint8]  # (kept, draw): position in the scale if the document is relevant
    seen: NDArray[np.float64]  # (kept, 2): what a run departs by, of :meth:`RelevanceDraws.logit`

    @classmethod
    def empty(cls, draws, codes: NDArray, pairs: NDArray, kept: NDArray) -> "TopicDraws":
        """Nothing kept yet of the pairs at some rows."""
        row = np.full(pairs.size, -1)
        row[kept] = np.arange(kept.size)
        shape = kept.size, draws.n_draws
        logit, uniform = np.empty(shape, np.float32), np.empty(shape, np.float32)
        relevant, seen = np.ones(shape, np.uint8), np.empty((kept.size, 2))
        return cls(draws, codes, pairs, row, logit, uniform, relevant, seen)

    def keep(
        self, rows: NDArray, logit: NDArray, uniform: NDArray, relevant: NDArray, seen: NDArray
    ) -> None:
        """Keep what is to be kept of some rows."""
        inside = self.row[rows] >= 0
        kept = self.row[rows[inside]]
        self.logit[kept], self.uniform[kept] = logit[inside], uniform[inside]
        self.relevant[kept], self.seen[kept] = relevant[inside], seen[inside]

    def again(
        self, rows: NDArray, columns: NDArray[np.float32], effect: NDArray[np.float32]
    ) -> NDArray[np.uint8]:
        """Codes (row, draw) of kept pairs with ``columns @ effect`` added to their log odds.

        ``columns`` are (row, column), ``effect`` (column, draw).
        """
        kept = self.row[rows]
        if self.draws.labelled:
            before = self.logit[kept]
            share = self.draws.relevance(before + columns @ effect, self.pairs[rows], before)
            return (self.uniform[kept] < share) * self.relevant[kept]
        from bayeseval.models.relevance.kernels import codes_again

        codes = np.empty((rows.size, self.draws.n_draws), dtype=np.uint8)
        codes_again(kept, self.logit, self._log_odds, columns, effect, self.relevant, codes)
        return codes

    @cached_property
    def _log_odds(self) -> NDArray[np.float32]:
        """Log odds of the chance that decided."""
        with np.errstate(divide="ignore"):
            return np.log(self.uniform) - np.log1p(-self.uniform)
