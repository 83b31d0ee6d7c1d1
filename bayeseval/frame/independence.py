"""Runs whose rankings depend on the sample, though a design needs them fixed before the draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.frame.features import discount
from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.frame.sample import Sample
from bayeseval.messages import some_of, warn


class RunsFollowSample(UserWarning):
    """Runs whose rankings depend on the sample, so that no design can estimate them."""


@dataclass(frozen=True, eq=False)
class DrawnTogether:
    """Which pairs of a sample were drawn together, in strata; one that was not is one by itself."""

    group: NDArray[np.int64]  # (frame_pair,): numbered 0, 1, ...
    size: NDArray[np.float64]  # (group,): infinite of a pair that is drawn by itself
    factor: NDArray[np.float64]  # (group,)

    @classmethod
    def of(cls, sample: Sample) -> "DrawnTogether":
        """The strata of all topics, and what is drawn by itself."""
        alone = sample.stratum < 0
        span = int(sample.stratum.max(initial=0)) + 1
        number = sample.topic.astype(np.int64) * span + sample.stratum
        number[alone] = -1 - np.flatnonzero(alone)
        first, group = np.unique(number, return_index=True, return_inverse=True)[1:]
        size = np.bincount(group).astype(float)
        chance = sample.inclusion_probability[first]
        factor = chance * (1.0 - chance) * size / np.maximum(size - 1.0, 1.0)
        return cls(group, np.where(alone[first], np.inf, size), factor)

    def variances(self, rows: NDArray[np.integer], value: NDArray[np.float64]) -> NDArray:
        """Variance (group,) of the sum over a sample of a value that only some rows have.

        Of a stratum the hypergeometric one, n (1 - n / N) s^2 with s^2 over all N of its pairs.
        """
        group, n_groups = self.group[rows], self.size.size
        total = np.bincount(group, value, n_groups)
        squares = np.bincount(group, np.square(value), n_groups)
        return self.factor * (squares - np.square(total) / self.size)


def deviations(frame: Frame) -> NDArray[np.float64]:
    r"""How far the sampled documents of each run (run,) are from where chance would put them.

    .. math:: z = \sum_d g(rank_d) (s_d - \pi_d) / \sqrt{V}

    The sum is over the documents of topics whose judging has begun; s is 1 where a document is
    selected, V is the variance by the design, and g is a log discount
    (:func:`bayeseval.frame.features.discount`) that is 0 below rank 30, or below rank 100: the z
    farther from 0 counts. For a run that was fixed before the draw, or made without its judgments,
    z is nearly standard normal. It is returned as 0 where one of such runs may reach it in more
    than one sample of a thousand by Bernstein's inequality, which is proven for independent draws;
    for draws within small strata, over all samples, the moment generating function has the same
    bound.
    """
    sample = frame.sample
    together = DrawnTogether.of(sample)
    drawn = sample.selected[0]
    begun = np.bincount(sample.topic[drawn], minlength=sample.n_topics) > 0
    if frame.scheme == "poisson":  # a topic may well have drawn nothing
        begun = ~frame.not_begun
    excess = drawn - sample.inclusion_probability
    row = np.full(frame.rankings.n_pairs + 1, -1)  # the last entry serves position -1
    row[sample.pair[begun[sample.topic]]] = np.flatnonzero(begun[sample.topic])
    depths = (30, 100)  # where the discounts reach 0
    seen = frame.rankings.pair[..., : max(depths)]
    ranks = np.arange(1, seen.shape[2] + 1)
    discounts = [discount(depth)[np.minimum(ranks, depth + 1)] for depth in depths]
    z_of_run = np.zeros(len(seen))
    # of one sample in a thousand, over all runs and both sides
    level = np.log(1e-3 / (2 * len(discounts) * max(z_of_run.size, 1)))
    for run, ranking in enumerate(seen):
        place = row[ranking]
        rank = np.nonzero(place >= 0)[1]
        place = place[place >= 0]
        for by_rank in discounts:
            value = by_rank[rank]
            spread = np.sqrt(together.variances(place, value).sum())
            z = _beyond(excess[place] @ value, spread, level)
            z_of_run[run] = z if abs(z) > abs(z_of_run[run]) else z_of_run[run]
    return z_of_run


def _beyond(excess: float, spread: float, level: float) -> float:
    """Excess by its standard deviation; 0 where its bound is not below the level (a log).

    No value is further than 1 from the mean of its stratum, as discounts are at most 1.
    """
    if spread <= 1e-6:
        return 0.0
    z = excess / spread
    return z if -0.5 * z**2 / (1.0 + abs(z) / (3.0 * spread)) < level else 0.0


def warn_following(frame: Frame) -> None:
    """Warn of runs that follow the sample."""
    if text := following(frame):
        warn(text, RunsFollowSample)


def following(frame: Frame) -> str:
    """A sentence on runs that follow the sample, if any; of designs whose chances are all known."""
    is_single = frame.sample.n_replicates == 1
    if not is_single or frame.scheme not in BY_CHANCE or frame.lists_sampled_alone:
        return ""
    z = deviations(frame)
    beyond = np.flatnonzero(z)
    if not beyond.size:
        return ""
    if beyond.size > z.size / 2:
        return (
            f"in {beyond.size} of {z.size} runs the sampled documents do not stand where the "
            "inclusion probabilities put them: these are not the probabilities that the documents "
            "were sampled with, or the runs were made with the judgments; estimates are off"
        )
    order = beyond[np.argsort(-np.abs(z[beyond]), kind="stable")]
    runs = frame.collection["run"].to_numpy()
    names = [
        f"'{runs[run]}' ({'higher' if z[run] > 0 else 'lower'}, "
        f"{abs(z[run]):.0f} standard deviations)"
        for run in order.tolist()
    ]
    return (
        f"sampled documents stand higher or lower than chance would put them in {len(names)} of "
        f"{z.size} runs: {some_of(names, 3)}; a run that was made with the judgments of the "
        "sample, or without what was judged, cannot be estimated from it (scores are off, far "
        "beyond their intervals); judge further documents for it, drawn with the judged ones as "
        "certain, or a new sample"
    )
