"""Distribution of a weighted sum of independent judgments that are not known."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

OUTSIDE = 1e-10  # probability of lying outside the period


class UnjudgedSum:
    r"""Distribution of :math:`V = \sum_j w_j B_j`, the B independent Binomial(count, probability).

    Up to 1 / `tolerance` outcomes are listed. Beyond that the distribution function comes from the
    characteristic function :math:`\varphi(t) = \prod_j (1 - q_j + q_j e^{i t w_j})^{n_j}` at the
    multiples of :math:`2\pi / L`, L a period that holds all but 1e-10 of the probability
    (Bernstein's inequality): the indicator of (V < x) is a sawtooth of V - x, and Vaaler's
    polynomial of degree N stays within

    .. math:: \frac{1}{2 N + 2} \sum_{|k| \le N} \Bigl(1 - \frac{|k|}{N + 1}\Bigr)
              \varphi(2 \pi k / L)\, e^{-2 \pi i k x / L}

    of it in expectation. That is the stated bound of the distribution function; it is about
    density times L / 2N, so N follows from `tolerance`. At a jump it is half the jump. Cost: N
    times the number of weights at worst, far less where many topics are averaged: frequencies above
    which :math:`|\varphi|` provably stays small (a twentieth of the tolerance, which the bound
    includes) are left out, and weights too small to matter at the frequencies used are replaced by
    their mean (a fiftieth of the tolerance, included likewise).

    ``weight`` (group,) is w, ``probability`` q, ``count`` n; ``tolerance`` is the target of the
    bound of the distribution function, away from its jumps.

    References
    ----------
    Vaaler, Some extremal functions in Fourier analysis, Bull. AMS 12 (1985),
    doi:10.1090/S0273-0979-1985-15349-2, theorem 18. Park, Uncertainty in Rank-Biased Precision,
    ADCS 2016, section 2, doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> both = UnjudgedSum([0.5, 0.25], [0.2, 0.2])
    >>> both.cdf([0.0, 0.3, 0.6])
    array([0.64, 0.8 , 0.96])
    >>> both.quantile([0.5, 0.95])
    array([0. , 0.5])
    """

    def __init__(
        self,
        weight: ArrayLike,
        probability: ArrayLike,
        count: ArrayLike = 1,
        tolerance: float = 1e-6,
    ) -> None:
        weight = np.atleast_1d(np.asarray(weight, dtype=np.float64))
        probability = np.broadcast_to(np.asarray(probability, float), weight.shape)
        count = np.broadcast_to(np.asarray(count), weight.shape)
        if not ((weight >= 0) & (probability >= 0) & (probability <= 1) & (count >= 0)).all():
            raise ValueError("weights and counts are at least 0 and probabilities lie in [0, 1].")
        self.tolerance = tolerance
        self._groups = _merged(weight, probability, count)

    @property
    def mean(self) -> float:
        """Mean of the sum."""
        weight, probability, count = self._groups
        return float((weight * probability * count).sum())

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the sum."""
        weight, probability, count = self._groups
        return float(np.sqrt((weight**2 * probability * (1.0 - probability) * count).sum()))

    @property
    def largest(self) -> float:
        """Largest value of the sum."""
        weight, _, count = self._groups
        return float((weight * count).sum())

    def cdf(self, value: ArrayLike) -> NDArray[np.float64]:
        """Probability that the sum is at most `value`; its error is at most :meth:`bound`."""
        return np.clip(self._cdf_and_bound(np.asarray(value, dtype=np.float64))[0], 0.0, 1.0)

    def bound(self, value: ArrayLike) -> NDArray[np.float64]:
        """Largest error that :meth:`cdf` can have at `value`."""
        return self._cdf_and_bound(np.asarray(value, dtype=np.float64))[1]

    def quantile(self, prob: ArrayLike) -> NDArray[np.float64]:
        """Least value whose distribution function reaches `prob`, by bisection."""
        prob = np.asarray(prob, dtype=np.float64)
        if self._atoms is not None:
            value, cumulative = self._atoms
            index = np.searchsorted(cumulative, prob - 1e-13, side="left")
            return value[np.minimum(index, value.size - 1)]
        low, high = np.zeros(prob.shape), np.full(prob.shape, self.largest)
        degree = self._frequencies[2]
        for _ in range(int(np.log2(degree)) + 4):  # to a sixteenth of what a degree resolves
            middle = 0.5 * (low + high)
            reached = self.cdf(middle) >= prob
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    @cached_property
    def _atoms(self) -> tuple | None:
        """Values ascending and their cumulative probabilities, where there are few."""
        _, probability, count = self._groups
        if np.log2(count[probability < 1.0] + 1.0).sum() > np.log2(1.1 / self.tolerance):
            return None
        value, chance = np.zeros(1), np.ones(1)
        for weight, probability, number in zip(*self._groups, strict=True):
            if probability == 1.0:
                value += weight * number
                continue
            successes = np.ones(1)  # probabilities of 0 ... number successes
            for _ in range(number):
                successes = np.convolve(successes, [1.0 - probability, probability])
            value = np.add.outer(value, weight * np.arange(number + 1)).ravel()
            chance = np.outer(chance, successes).ravel()
        order = np.argsort(value, kind="stable")
        return value[order], np.cumsum(chance[order])

    @cached_property
    def _frequencies(self) -> tuple:
        """Centre, period, degree, characteristic function and what the bound has in addition."""
        from bayeseval.residual.frequencies import characteristic, needed_frequencies

        centre, period, outside = self.mean, 2.0 * self._reach, OUTSIDE
        if period > 1.01 * self.largest:
            centre, period, outside = 0.5 * self.largest, 1.01 * self.largest, 0.0
        negligible = 0.05 * self.tolerance
        degree = int(0.4 / self.standard_deviation * period / self.tolerance) + 64
        degree = min(2**24, degree)
        heavy, light_mean, light_variance = self._split(0.004 * self.tolerance, period / degree)
        weight, probability, count = (column[:heavy] for column in self._groups)
        spread = 4.0 * probability * (1.0 - probability)
        while True:
            needed = needed_frequencies(period, degree, weight, spread, count, negligible)
            if needed <= 2**22:
                break
            degree //= 2
        values = characteristic(needed, period, weight, probability, count, centre - light_mean)
        dropped = negligible * (1.0 + np.log(degree / needed) / np.pi) if needed < degree else 0.0
        slack = outside * (2.0 + self.largest / period) + dropped + 1e-11
        return centre, period, degree, values, slack + 5.0 * light_variance * (needed / period) ** 2

    def _split(self, share: float, resolution: float) -> tuple[int, float, float]:
        """Number of heavy groups, and mean and variance of the others, which become constants.

        A part of variance V changes the characteristic function at t by at most t^2 V / 2 when it
        is replaced by its mean.
        """
        weight, probability, count = self._groups
        variance = weight**2 * probability * (1.0 - probability) * count
        light = np.append(np.cumsum(variance[::-1])[::-1], 0.0)
        heavy = int(np.argmax(light <= share * resolution**2))
        light_mean = float((weight * probability * count)[heavy:].sum())
        return heavy, light_mean, float(light[heavy])

    @property
    def _reach(self) -> float:
        """Distance from the mean that the sum leaves with probability at most 1e-10."""
        largest = self._groups[0].max() / 3.0
        exponent = np.log(2.0 / OUTSIDE)
        variance = self.standard_deviation**2
        linear = largest * exponent
        return float(linear + np.sqrt(linear**2 + 2.0 * variance * exponent))

    def _cdf_and_bound(self, value: NDArray) -> tuple[NDArray, NDArray]:
        if self._atoms is not None:
            atom, cumulative = self._atoms
            index = np.searchsorted(atom, value + 1e-13 * max(atom[-1], 1e-300), side="right")
            return np.append(0.0, cumulative)[index], np.full(value.shape, 1e-12)
        from bayeseval.residual.frequencies import sawtooth_sums

        centre, period, degree, values, slack = self._frequencies
        place = (value - centre) / period
        sums = sawtooth_sums(np.clip(place, -0.5, 0.5).ravel(), values, degree)
        below, width = sums.reshape(2, *value.shape)
        inside = place + 0.5 - (self.mean - centre) / period + below
        cdf = np.where(place < -0.5, 0.0, np.where(place >= 0.5, 1.0, inside))
        return cdf, np.where(np.abs(place) < 0.5, np.maximum(width, 0.0), 0.0) + slack


def _merged(weight, probability, count) -> tuple[NDArray, NDArray, NDArray]:
    """Groups with a weight, a count and a probability above 0, like ones joined, heaviest first."""
    used = (weight > 0) & (count > 0) & (probability > 0)
    alike = np.stack([weight[used], probability[used]], axis=1)
    groups, index = np.unique(alike, axis=0, return_inverse=True)
    total = np.bincount(index.ravel(), weights=count[used], minlength=len(groups))
    order = np.argsort(-groups[:, 0], kind="stable")
    return (
        np.ascontiguousarray(groups[order, 0]),
        np.ascontiguousarray(groups[order, 1]),
        total[order].astype(np.int64),
    )
