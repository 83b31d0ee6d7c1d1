"""Departures of runs that a model of documents did not learn from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import discount
from bayeseval.models.relevance.departure_prior import Grid, learned_prior
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.progress import track

DEPTH = 100  # ranks that a departure touches, most at the first and not at all below the last
LEARNED_FROM = 20  # first ranks, whose judgments tell it
TOP = -1.0  # scaled log of the fused rank that counts as the top: rank 5 or so
DEPARTURE_STREAM = 2


@dataclass(frozen=True, eq=False)
class Departures:
    r"""How runs that a model did not learn from depart from it, under every draw.

    .. math:: \mathrm{logit} P(rel_{rd} = 1) = \eta_d + g(rank_{rd}) \, (a_r + b_r (x_d + 1))

    for the documents that run r ranks among its first 100, with :math:`\eta_d` the model's
    linear predictor, g a discount that falls with the log of the rank from 1 to 0, and x the scaled
    log of the fused rank. A run unlike those that the model knows brings relevant documents from
    where the fusion does not expect any: then b is above 0. It is a second step: judged documents
    among the first 20 ranks of the run tell (a, b) with the model's parameters at their posterior
    mean, and the model's draws stay what they are ("cut"). The prior of (a, b) is common to all
    such runs and learned from them (:mod:`bayeseval.models.relevance.departure_prior`).

    A document may then be relevant in one run's list and not in another's under the same draw; the
    chance that decides is the same number for all runs, so that lists without a departure agree.

    Parameters
    ----------
    run : int array (departing_run,)
        Positions of the runs in the collection.
    level, slope : float array (departing_run, draw)
        a and b.
    """

    run: NDArray[np.int64]
    level: NDArray[np.float64]
    slope: NDArray[np.float64]

    @classmethod
    def none(cls) -> "Departures":
        """No run departs."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros((0, 1)), np.zeros((0, 1)))

    @classmethod
    def learned(cls, draws: RelevanceDraws) -> "Departures":
        """Departures of all runs that the model's ranks did not come from."""
        runs = np.setdiff1d(np.arange(draws.frame.rankings.pair.shape[0]), draws.frame.run)
        if not runs.size:
            return cls.none()
        grid = Grid.of_size()
        likelihood = _likelihood(draws.at_mean(), runs, grid)
        prior = learned_prior(likelihood, grid)
        random = np.random.default_rng([draws.seed_word, DEPARTURE_STREAM])
        drawn = [grid.drawn(one + prior, draws.n_draws, random) for one in likelihood]
        level, slope = (np.stack(part) for part in zip(*drawn, strict=True))
        return cls(runs, level, slope)

    def shift(self, number: int, rank: NDArray, log_rank: NDArray) -> NDArray[np.float32]:
        """What the departing run of that number adds to the linear predictor (document, draw).

        Parameters
        ----------
        number : int
            Which of the departing runs.
        rank : int array (document,)
            Rank in the run, from 1.
        log_rank : float array (document,)
            Scaled log of the fused rank.
        """
        share = discount(DEPTH)[np.minimum(rank, DEPTH + 1)]
        moved = np.outer(share, self.level[number])
        moved += np.outer(share * (log_rank - TOP), self.slope[number])
        return moved.astype(np.float32)


def _likelihood(mean: RelevanceDraws, runs: NDArray, grid: Grid) -> NDArray[np.float64]:
    """Log likelihood (run, grid point) of the judgments among the first ranks of runs."""
    frame, total = mean.frame, np.zeros((runs.size, grid.level.size))
    share = discount(DEPTH)[1 : LEARNED_FROM + 1]
    grade = np.full(frame.rankings.n_pairs + 1, np.nan)  # the last serves position -1
    grade[frame.pair] = frame.grade[0]
    for topic, ranks in track(list(frame.topics()), "departures of new runs"):
        top = frame.rankings.pair[runs, topic, :LEARNED_FROM]
        judged = ~np.isnan(grade[top])
        pairs, place = np.unique(top[judged], return_inverse=True)
        if not pairs.size:
            continue
        logit, log_rank = mean.logit(topic, ranks, pairs - frame.rankings.start[topic])
        row = np.full(top.shape, -1)
        row[judged] = place
        for number, own in enumerate(judged):
            rows, g = row[number, own], share[: own.size][own]
            moved = np.outer(g, grid.level) + np.outer(g * (log_rank[rows] - TOP), grid.slope)
            given = pairs[rows]
            total[number] += mean.log_probability(logit[rows] + moved, given, grade[given])
    return total
