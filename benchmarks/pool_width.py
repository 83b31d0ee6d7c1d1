"""Algorithm 3 of Webber and Park (2009): pools of few runs, and adjusted scores of an unpooled run.

W. Webber and L. A. F. Park, "Score adjustment for correction of pooling bias", SIGIR 2009,
doi:10.1145/1571941.1572018.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import stdtrit

from bayeseval.frame.rankings import Rankings
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.names import parse_measures
from bayeseval.measures.scores import rank_weight
from bayeseval.progress import track

BASES = ("nonrelevant", "condensed")
WIDTHS = (2, 4, 10, 20, 40)


def sampled_pools(
    collection: xr.DataTree,
    *,
    measure="RBP(p=0.8)@10",
    pool_widths=WIDTHS,
    unpooled_from: str = "other",
    pool_depth: int = 10,
    n_samples: int = 100,
    random_seed: int,
) -> xr.Dataset:
    """True and unpooled scores of a run under pools of a few others, sampled many times.

    For every pool width w a set S of w contributing runs and one other run r are drawn: a run that
    did not contribute ("other"), or a contributing one outside S. The truth is the score of r by
    the pool of S and r, the unpooled score that by the pool of S alone; the measure is linear, with
    a cutoff. Returns ``true`` (pool_width, sample, topic); ``unpooled`` (base, pool_width, sample,
    topic); ``left_out_adjustment`` (base, pool_width, sample), that of algorithm 1; ``run`` and
    ``teammate``, whether a run of its team is in the pool (pool_width, sample).
    """
    parsed = parse_measures(measure, relevance_level=1, grades=(0.0, 1.0))[0]
    assert parsed.kind == "linear" and parsed.cutoff is not None
    ranking, grade = Rankings.of(collection).pair, collection["judgments/grade"].to_numpy()
    scores = PoolScores.prepared(ranking, grade, parsed, pool_depth)
    contributed = collection["contributed"].to_numpy()
    pooled = np.flatnonzero(contributed)
    others = np.flatnonzero(contributed if unpooled_from == "contributed" else ~contributed)
    random = np.random.default_rng(random_seed)
    n_widths, n_topics = len(pool_widths), collection.sizes["topic"]
    true = np.empty((n_widths, n_samples, n_topics))
    unpooled = np.empty((len(BASES), n_widths, n_samples, n_topics))
    left_out = np.empty((len(BASES), n_widths, n_samples))
    chosen = np.empty((n_widths, n_samples), dtype=np.int64)
    teammate = np.empty((n_widths, n_samples), dtype=bool)
    team = collection["team"].to_numpy()
    samples = [(at, sample) for at in range(n_widths) for sample in range(n_samples)]
    for at, sample in track(samples, "sampling pools"):
        members = random.choice(pooled, size=pool_widths[at], replace=False)
        run = int(random.choice(np.setdiff1d(others, members)))
        chosen[at, sample] = run
        teammate[at, sample] = bool((team[members] == team[run]).any()) and team[run] != ""
        found = scores.of_pool(members, run)
        true[at, sample], unpooled[:, at, sample], left_out[:, at, sample] = found
    return xr.Dataset(
        {
            "true": (("pool_width", "sample", "topic"), true),
            "unpooled": (("base", "pool_width", "sample", "topic"), unpooled),
            "left_out_adjustment": (("base", "pool_width", "sample"), left_out),
            "run": (("pool_width", "sample"), collection["run"].to_numpy()[chosen]),
            "teammate": (("pool_width", "sample"), teammate),
        },
        coords={
            "base": list(BASES),
            "pool_width": list(pool_widths),
            "topic": collection["topic"].to_numpy(),
        },
        attrs={"measure": scores.label, "pool_depth": pool_depth, "unpooled_from": unpooled_from},
    )


def pool_width_errors(
    pools: xr.Dataset,
    *,
    n_common=(5, 10, 15, 20),
    n_samples: int = 200,
    ci_prob: float = 0.9,
    random_seed: int,
) -> xr.Dataset:
    """Mean absolute errors of unadjusted, mixed and adjusted scores (tables 1 to 4).

    With delta the true less the unpooled score of a topic, A its mean over all N topics and a that
    over n common ones, drawn many times: the error of the adjusted score is A - a, of the mixed one
    (true scores on the common topics, unadjusted ones elsewhere) A - a n / N, of the unadjusted one
    A. Each has its Monte Carlo error, with samples of runs as clusters, under NAME_error.
    ``coverage`` is the share of the intervals of equations 3 and 7 that cover the truth;
    ``condition_1`` and ``condition_2`` are the shares of adjustments with the sign of A, and of
    those of at most twice A (where both are met, adjusting helps).
    """
    delta = pools["true"] - pools["unpooled"]
    n_topics = delta.sizes["topic"]
    whole = delta.mean("topic")
    random = np.random.default_rng(random_seed)
    keys = random.random((delta.sizes["pool_width"], delta.sizes["sample"], n_samples, n_topics))
    place = keys.argsort(axis=-1).argsort(axis=-1)
    order = xr.DataArray(place, dims=("pool_width", "sample", "choice", "topic"))
    parts = [_of_size(delta, whole, order < n, n, ci_prob) for n in n_common]
    by_size = xr.concat(parts, dim="n_common").assign_coords(n_common=list(n_common))
    errors = {
        "unadjusted": abs(whole),
        "left_out": abs(whole - pools["left_out_adjustment"]),
        **{str(name): by_size[name] for name in by_size.data_vars},
    }
    summed = {name: error.mean("sample") for name, error in errors.items()}
    noise = {
        f"{name}_error": error.std("sample", ddof=1) / np.sqrt(error.sizes["sample"])
        for name, error in errors.items()
        if error.sizes["sample"] > 1
    }
    return xr.Dataset(summed | noise, attrs=pools.attrs | {"ci_prob": ci_prob})


def _of_size(delta, whole, common: xr.DataArray, n: int, ci_prob: float) -> xr.Dataset:
    """Mean over sets of n common topics, for every pool."""
    n_topics = delta.sizes["topic"]
    weight = common.astype(float)
    adjustment = xr.dot(delta, weight, dim="topic") / n
    square = xr.dot(delta**2, weight, dim="topic")
    variance = (square - n * adjustment**2).clip(min=0.0) / (n - 1)
    half = stdtrit(n - 1, 0.5 + 0.5 * ci_prob) * np.sqrt((1 - n / n_topics) * variance / n)
    error = whole - adjustment
    held = abs(error) <= half + 1e-12
    answers = {
        "mixed": abs(whole - adjustment * n / n_topics),
        "adjusted": abs(error),
        "coverage": held.astype(float),
        "condition_1": (adjustment * whole > 0).astype(float),
        "condition_2": (abs(adjustment) <= 2 * abs(whole)).astype(float),
    }
    return xr.Dataset({name: values.mean("choice") for name, values in answers.items()})


@dataclass(frozen=True, eq=False)
class PoolScores:
    """Rankings, true relevance and weights, to score a run by the judgments of any pool.

    Documents that some run returns to the pool depth have a row each, all others the last one.
    """

    ranking: NDArray[np.int32]  # (run, topic, rank): rows
    value: NDArray[np.float64]  # (row + 1,): true relevance or gain, 0 at last
    weight: NDArray[np.floating]  # (rank,), down to the cutoff
    pool_depth: int
    label: str  # of the measure

    @classmethod
    def prepared(
        cls, ranking: NDArray, grade: NDArray, measure: Measure, pool_depth: int
    ) -> "PoolScores":
        """Keep the documents that can be pooled; what has no grade counts as not relevant."""
        top = ranking[:, :, :pool_depth]
        rows = np.unique(top[top >= 0])
        row_of_pair = np.full(grade.size + 1, rows.size, dtype=np.int32)
        row_of_pair[rows] = np.arange(rows.size)
        value = np.append(np.nan_to_num(relevance(measure, grade[rows])), 0.0)
        weight = rank_weight(measure, ranking.shape[2])
        return cls(row_of_pair[ranking], value, weight, pool_depth, measure.label)

    def of_pool(
        self, members: NDArray[np.int64], run: int
    ) -> tuple[NDArray[np.floating], list[NDArray[np.floating]], list[float]]:
        """Scores of an unpooled run beside the pool of some members.

        Its scores (topic,) by the pool of these and itself; by the pool of these alone, for each
        base; and for each base the mean bias of the members, each left out with the unpooled run in
        its place.
        """
        count = np.bincount(self._top(members).ravel(), minlength=self.value.size)
        returned = np.zeros(self.value.size, dtype=bool)
        returned[self._top(run).ravel()] = True
        count[-1], returned[-1] = 0, False  # no document
        row = self.ranking[run]
        true = self._score(row, ((count > 0) | returned)[row], "nonrelevant")
        unpooled = [self._score(row, (count > 0)[row], base) for base in BASES]
        return true, unpooled, self._left_out(self.ranking[members], count, returned)

    def _left_out(self, row: NDArray, count: NDArray, returned: NDArray[np.bool_]) -> list[float]:
        """Mean bias of the members, by base; ``count`` says how many have a document."""
        if len(row) < 2:
            return [np.nan] * len(BASES)
        known = (count > 0)[row]
        alone = (count[row] == 1) & ~returned[row]
        alone[:, :, self.pool_depth :] = False  # that other member's, not this one's
        pooled = self._score(row, known, "nonrelevant")
        return [float((pooled - self._score(row, known & ~alone, base)).mean()) for base in BASES]

    def _top(self, runs) -> NDArray[np.int32]:
        return self.ranking[runs][..., : self.pool_depth]

    def _score(self, row: NDArray, known: NDArray[np.bool_], base: str) -> NDArray[np.floating]:
        """Weighted sum over ranks, the last axis, by the judgments that are known."""
        cutoff = min(self.weight.size, row.shape[-1])
        if base == "nonrelevant":
            top = row[..., :cutoff]
            return np.where(known[..., :cutoff], self.value[top], 0.0) @ self.weight[:cutoff]
        n_lists = int(np.prod(row.shape[:-1]))
        line, rank = np.nonzero(known.reshape(n_lists, -1))
        place = np.arange(line.size) - np.searchsorted(line, line)  # rank in the condensed list
        line, rank, place = (array[place < cutoff] for array in (line, rank, place))
        gain = self.weight[place] * self.value[row.reshape(n_lists, -1)[line, rank]]
        return np.bincount(line, weights=gain, minlength=n_lists).reshape(row.shape[:-1])
