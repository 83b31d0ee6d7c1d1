"""Departures of runs that a model of documents did not learn from."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.departure_prior import Grid, Kinship, learned_prior, likeness
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.processors import one_blas_thread
from bayeseval.progress import track

DEPTH = 500  # ranks that a departure touches
FADED = 100  # rank at which the effects of the top have faded
SPANS = (10, 40, 160), (40, 160, DEPTH)  # where those of middle and depth begin, are whole, end
JUDGED = 0, 20, 80, DEPTH  # ranks between which judgments tell those of top, middle and depth
BELOW_TOP = np.linspace(-4.0, 4.0, 33), np.linspace(-4.0, 4.0, 33)  # values tried there
COPIED = 0.1  # variance of departures, beside that of runs like no other, of what counts as a copy


@dataclass(frozen=True, eq=False)
class Band:
    """Ranks of a run over which a pair of effects, a level and a slope, rises and fades.

    What no run of the model found stands at the same place in the fusion, and has no slope.
    """

    share: NDArray[np.float64]  # (rank + 1,): how much of the effects a rank has; 0 below the last
    judged: NDArray[np.bool_]  # (rank + 1,): ranks whose judgments tell the effects
    grid: Grid  # values of the two effects that are tried
    # whether the effects are those of documents that no run of the model found, or of the others
    unseen: bool

    def informs(self, rank: NDArray, seen: NDArray) -> NDArray[np.bool_]:
        """Which judged documents tell the effects."""
        return self.judged[rank] & self._of(seen)

    def columns(self, rank: NDArray, seen: NDArray) -> tuple[NDArray, NDArray]:
        """What the two effects multiply, for documents at some ranks."""
        share = self.share[np.minimum(rank, DEPTH + 1)] * self._of(seen)
        return share, share * (0.0 if self.unseen else hinged(seen[:, 0]))

    def _of(self, seen: NDArray) -> NDArray[np.bool_]:
        """Which documents the effects are of."""
        return (seen[:, 1] > 0) == self.unseen


def hinged(behind: NDArray[np.float64]) -> NDArray[np.float64]:
    """What slopes multiply: how far the fusion puts a document behind the top, more so far behind.

    Examples
    --------
    >>> hinged(np.array([0.0, 1.0, 2.0]))
    array([0. , 0.5, 2. ])
    """
    return 0.5 * behind + np.maximum(behind - 1.0, 0.0)


def _bands() -> tuple[Band, ...]:
    """The top of a list, its middle and its depth, of what runs of the model found and none did.

    Examples
    --------
    >>> top, _, middle, _, deep, _ = _bands()
    >>> top.share[[1, 10, 40, 100]].round(2), middle.share[[10, 20, 40, 80, 160]].round(2)
    (array([1. , 0.5, 0.2, 0. ]), array([0. , 0.5, 1. , 0.5, 0. ]))
    >>> deep.share[[40, 80, 160, 500]].round(2)
    array([0. , 0.5, 1. , 0. ])
    """
    rank = np.arange(DEPTH + 2)
    retrieved = (rank >= 1) & (rank <= DEPTH)
    logs = np.log(np.maximum(rank, 1))
    top = np.where(retrieved, np.maximum(0.0, 1.0 - logs / np.log1p(FADED)), 0.0)
    shares = [top, *(np.interp(logs, np.log(span), [0.0, 1.0, 0.0]) for span in SPANS)]
    pairs = []
    for number, (first, last) in enumerate(itertools.pairwise(JUDGED)):
        judged = (rank > first) & (rank <= last)
        seen = Grid.of_size(*BELOW_TOP) if number else Grid.of_size()
        unseen = Grid.of_levels(BELOW_TOP[0]) if number else Grid.of_levels()
        pairs.append(Band(shares[number], judged, seen, unseen=False))
        pairs.append(Band(shares[number], judged, unseen, unseen=True))
    return tuple(pairs)


BANDS = _bands()


@dataclass(frozen=True, eq=False)
class Departures:
    r"""How runs that a model did not learn from depart from it, under every draw.

    .. math:: \mathrm{logit} P(rel_{rd} = 1) = \eta_d
              + \sum_{k=1}^3 g_k(rank_{rd}) \, (a_{rku} + b_{rk} s_d),
              \qquad s_d = v_d / 2 + \max(v_d - 1, 0), \quad v_d = x_d + 1

    for the documents that run r ranks among its first 500, with :math:`\eta_d` the model's
    linear predictor, x the scaled log of the fused rank, and u 1 where no run that the model knows
    found the document (the fusion then puts it behind all others, and s is taken for 0), 0 where
    one did. All shares are linear in the log of the rank: :math:`g_1` falls from 1 at the first to
    next to 0 at the 100th; :math:`g_2` rises from 0 at the 10th to 1 at the 40th and falls to 0 at
    the 160th, and :math:`g_3` from the 40th to the 160th and the 500th. A run unlike those that the
    model knows brings relevant documents from where the fusion does not expect any: then b is above
    0; and one that finds what no other did may find more or less there than the model learned of
    such documents, most of which no run ranks high. How high the grade of a relevant document is
    goes with :math:`\eta_d` alone, whatever run shows it.

    It is a second step: judged documents among the first 20 ranks of the run tell its effects at
    the top, those among the next 60 the effects in the middle, and those below the deep ones, each
    given the mean of those before and for each u by themselves; the model's draws stay what they
    are ("cut"). A run whose lists end before the ranks that tell a pair of effects does not have
    it. What departs there from the judgments are the log odds of relevance by all judgments but the
    document's own (``RelevanceDraws.left_out``): the mean of the linear predictor over draws puts
    rare relevance lower than the draws do, which departures would make up for a second time, and
    has seen the judgment. The prior of each pair of effects is common to all such runs and learned
    from them (:mod:`bayeseval.models.relevance.departure_prior`).

    Such a line is never quite right, and what counts is that it is right on average over what was
    not judged. A document judged with the inclusion probability :math:`\pi` stands for
    :math:`(1 - \pi) / \pi` that were not, one judged for certain for none: it tells where no
    sampled one does. Its log probability is weighted by the square root of that, between no weights
    (whose line is that of the documents that nearly all were judged) and these odds (where a few
    documents decide); the weights of a run add up, for each pair of effects, to their effective
    number :math:`(\sum w)^2 / \sum w^2`; a single document may still count for more than one.
    Without a design, or where it draws with replacement, all weights are alike.

    Runs that are alike depart alike (:class:`.departure_prior.Kinship`): the effects of a run are
    its share times what they would be if it were like no other, so that a copy of a run that the
    model was fitted to does not depart, and the draws of two runs are the more the same the more
    alike they are.

    A document may then be relevant in one run's list and not in another's under the same draw; the
    chance that decides is the same number for all runs, so that lists without a departure agree.

    Parameters
    ----------
    run : int array (departing_run,)
        Positions of the runs in the collection.
    effect : float array (band, 2, departing_run, draw)
        a and b at the top of what some run of the model found, and of what none did; then those in
        the middle, and deep down.
    copied : int array (copy,)
        Runs so like runs of the model that they count as such; true copies do not depart.

    References
    ----------
    Weights in place of a model of the design: Pfeffermann, "The role of sampling weights when
    modeling survey data", International Statistical Review 61 (1993), doi:10.2307/1403631; weights
    that add up to an effective number: Savitsky and Toth, "Bayesian estimation under informative
    sampling", Electronic Journal of Statistics 10 (2016), doi:10.1214/16-EJS1153.
    """

    run: NDArray[np.int64]
    effect: NDArray[np.float64]
    copied: NDArray[np.int64]

    @classmethod
    def none(cls) -> "Departures":
        """No run departs."""
        nobody = np.zeros(0, dtype=np.int64)
        return cls(nobody, np.zeros((len(BANDS), 2, 0, 1)), nobody)

    @classmethod
    @one_blas_thread()
    def learned(cls, draws: RelevanceDraws) -> "Departures":
        """Departures of all runs that the model's ranks did not come from."""
        rankings, known_run = draws.frame.rankings, draws.frame.run
        runs = np.setdiff1d(np.arange(rankings.pair.shape[0]), known_run)
        if not runs.size:
            return cls.none()
        every = Kinship.of(likeness(rankings, FADED), known_run, runs)
        copied, departs = runs[every.share**2 < COPIED], every.share > 0
        runs, kin = runs[departs], every.of_runs(departs)
        if not runs.size:
            return replace(cls.none(), copied=copied)
        seen = Judged.of(draws, runs)
        longest = rankings.length[runs].max(axis=1)
        random = np.random.default_rng([draws.seed_word, 2])
        effect = np.zeros((len(BANDS), 2, runs.size, draws.n_draws))
        for number, band in enumerate(BANDS):
            known = effect[:number].mean(axis=-1)
            likelihood = seen.likelihood(band, known, kin.share)
            prior = learned_prior(likelihood, band.grid)
            uniform = kin.uniform(draws.n_draws, random)
            drawn = [
                band.grid.drawn(of_run_likelihood + prior, of_run)
                for of_run_likelihood, of_run in zip(likelihood, uniform, strict=True)
            ]
            reaches = longest >= band.judged.argmax()  # shorter lists never have a judgment to tell
            effect[number] = np.swapaxes(drawn, 0, 1) * (reaches * kin.share)[:, None]
        return cls(runs, effect, copied)

    def of_run(self, number: int) -> NDArray[np.float32]:
        """Effects of the departing run of that number (column, draw), a pair for each band.

        What they multiply is :func:`departing_columns`; the product adds to the log odds of
        relevance.
        """
        effect = self.effect[:, :, number]
        return effect.reshape(-1, effect.shape[-1]).astype(np.float32)


def departing_columns(rank: NDArray, seen: NDArray, n_bands: int = len(BANDS)) -> NDArray:
    """What the effects of the first bands multiply (document, column), two columns a band.

    ``rank`` (document,) is that in the run, from 1, ``seen`` (document, 2) of
    :meth:`RelevanceDraws.logit`.
    """
    parts = [column for band in BANDS[:n_bands] for column in band.columns(rank, seen)]
    return np.column_stack(parts) if parts else np.zeros((rank.size, 0))


@dataclass(frozen=True, eq=False)
class Judged:
    """Judged documents that departing runs retrieved; one row a run and document."""

    mean: RelevanceDraws  # of one draw, the posterior mean of every parameter
    n_runs: int
    number: NDArray[np.int64]  # (row,): which of the departing runs
    rank: NDArray[np.int64]  # (row,)
    pair: NDArray[np.int64]  # (row,)
    grade: NDArray[np.float64]  # (row,)
    logit: NDArray[np.float64]  # (row,): of :meth:`RelevanceDraws.left_out`
    weight: NDArray[np.float64]  # (row,)
    seen: NDArray[np.float64]  # (row, 2): of :meth:`RelevanceDraws.logit`

    @classmethod
    def of(cls, draws: RelevanceDraws, runs: NDArray) -> "Judged":
        """All of them, topic by topic."""
        frame, grade = draws.frame, draws.grade
        weight = np.ones(frame.rankings.n_pairs)
        weight[frame.pair] = unjudged_weight(frame.sample.inclusion_probability)
        found = []
        for topic, ranks in track(list(frame.topics()), "departures of new runs"):
            top = frame.rankings.pair[runs, topic, :DEPTH]
            number, rank = np.nonzero(~np.isnan(grade[top]))
            pairs, place = np.unique(top[number, rank], return_inverse=True)
            if not pairs.size:
                continue
            left, seen = draws.leave_one_out(topic, ranks, pairs, grade[pairs])
            given = pairs[place]
            own = left[place], weight[given], seen[place]
            found.append((number, rank + 1, given, grade[given], *own))
        if not found:
            found = [tuple(np.zeros(0, dtype=int) for _ in range(6)) + (np.zeros((0, 2)),)]
        columns = (np.concatenate(part) for part in zip(*found, strict=True))
        return cls(draws.at_mean(), runs.size, *columns)

    def likelihood(self, band: Band, known: NDArray, share: NDArray) -> NDArray[np.float64]:
        """Weighted log likelihood (run, grid point) of a band's effects, given those before it.

        Of what the grid has a run takes its ``share``.
        """
        grid = band.grid
        total = np.zeros((self.n_runs, grid.level.size))
        tried = np.stack([grid.level, grid.slope, np.ones(grid.level.size)])
        informs = np.flatnonzero(band.informs(self.rank, self.seen))
        for number in range(self.n_runs):
            every = informs[self.number[informs] == number]
            squares = self.weight[every] @ self.weight[every]
            scale = self.weight[every].sum() / squares if every.size else 1.0
            for own in np.split(every, range(1024, every.size, 1024)):
                rank, seen = self.rank[own], self.seen[own]
                level, slope = band.columns(rank, seen)
                before = departing_columns(rank, seen, len(known))
                start = self.logit[own] + before @ known[:, :, number].ravel()
                own_share = share[number] * np.column_stack([level, slope])
                moved = np.column_stack([own_share, start]) @ tried
                weight = scale * self.weight[own]
                total[number] += self.mean.log_probability(
                    moved, self.pair[own], self.grade[own], weight, self.logit[own]
                )
        return total


def unjudged_weight(inclusion_probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Square root of how many documents that were not judged a judged one stands for.

    Designs that draw with replacement have no such probability (NaN), and all weights are alike.
    """
    known = np.where(np.isnan(inclusion_probability), 1.0, inclusion_probability)
    # a document judged for certain is evidence where no sampled one is
    return np.sqrt(np.maximum(1.0 / known - 1.0, 1e-6))
