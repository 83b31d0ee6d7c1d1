"""Hamiltonian chains that start from a normal approximation and leave the posterior as it is."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.models.relevance.regression import Arrow, Regression
from bayeseval.models.relevance.spreads import Spreads

WAY = 1.5  # length of a path, in posterior standard deviations: a quarter turn
FIRST_STEP, LARGEST_STEP = 0.3, 0.7
SHORTEST_STEP = 0.1  # paths of 15 steps
ACCEPTED, RESCALED = 0.8, 0.44  # shares of proposals that are to be taken


class Chains:
    """Chains side by side, all of them vectors (..., chain).

    Each step redraws the standard deviations given the effects, then tries to stretch effects and
    their standard deviation together, then moves all effects along a Hamiltonian path in the units
    of the arrow's factor, in which the posterior is nearly a standard normal.

    They start from the values of ``spreads`` and the effects ``common`` (column, chain) and ``own``
    (topic, own column, chain).
    """

    def __init__(
        self,
        regression: Regression,
        spreads: Spreads,
        arrow: Arrow,
        common: NDArray,
        own: NDArray,
        random: np.random.Generator,
    ) -> None:
        self.regression, self.spreads, self.arrow = regression, spreads, arrow
        self.common, self.own = common, own
        self.random = random
        self._step = FIRST_STEP
        self._stretch = dict.fromkeys(spreads.names, 0.3)

    def step(self, adapting: bool) -> None:
        """One step of every chain; adapting tunes the sizes of the proposals."""
        self.spreads.redraw(self.common, self.own, self.random)
        self._rescale(adapting)
        taken = self._move()
        if adapting:
            self._step = min(self._step * np.exp(0.6 * (taken - ACCEPTED)), LARGEST_STEP)
            if self._step <= SHORTEST_STEP:
                raise ValueError(
                    "approximation='laplace' does not suit these judgments: the posterior of some "
                    "document's relevance is too far from normal, and the chains that correct the "
                    "approximation would need very short steps; leave approximation out (be.fit "
                    "then samples by NUTS)"
                )

    def _rescale(self, adapting: bool) -> None:
        """Effects of one standard deviation times a factor, and that deviation too."""
        bent = self.regression.steps.bent
        linear = self.regression.linear(self.common, self.own)
        known = self.regression.likelihood(bent(linear, self.common))
        for name in self.spreads.names:
            columns, common = self.spreads.columns(name), self.spreads.is_common(name)
            if common:
                part = self.regression.common[:, :, columns] @ self.common[columns]
            else:
                part = self.regression.own[:, :, columns] @ self.own[:, columns]
            value = self.spreads.value[name]
            moved = value + self._stretch[name] * self.random.standard_normal(value.size)
            factor = np.exp(moved - value)
            there = linear + (factor - 1.0) * part
            found = self.regression.likelihood(bent(there, self.common))
            gain = found - known
            gain += self.spreads.log_prior(name, moved) - self.spreads.log_prior(name, value)
            taken = np.log(self.random.random(value.size)) < gain
            linear, known = np.where(taken, there, linear), np.where(taken, found, known)
            self.spreads.value[name] = np.where(taken, moved, value)
            effects = self.common[columns] if common else self.own[:, columns]
            effects *= np.where(taken, factor, 1.0)
            if adapting:
                self._stretch[name] *= np.exp(0.7 * (taken.mean() - RESCALED))

    def _move(self) -> float:
        """Hamiltonian path of all effects; the mean probability of taking it."""
        precision = self.spreads.precisions()
        step = self._step * self.random.uniform(0.8, 1.1)
        speed = tuple(self.random.standard_normal(part.shape) for part in (self.common, self.own))
        here = (self.common, self.own)
        scale = self.spreads.scale()
        energy, slope = self._energy(here, precision, scale)
        start = energy + _kinetic(speed)
        for _ in range(int(np.ceil(WAY / step))):
            speed = _plus(speed, slope, -0.5 * step)
            here = _plus(here, _times(scale, self.arrow.effects(*speed)), step)
            energy, slope = self._energy(here, precision, scale)
            speed = _plus(speed, slope, -0.5 * step)
        change = start - energy - _kinetic(speed)
        share = np.exp(np.minimum(0.0, np.where(np.isfinite(change), change, -np.inf)))
        taken = self.random.random(share.size) < share
        self.common = np.where(taken, here[0], self.common)
        self.own = np.where(taken, here[1], self.own)
        return float(share.mean())

    def _energy(self, effects, precision, scale) -> tuple[NDArray, tuple[NDArray, NDArray]]:
        """Minus the log posterior (chain,), and its gradient in the units of the factor."""
        common, own = effects
        prior, own_prior = precision
        logit = self.regression.logit(common, own)
        off = common - self.spreads.mean[:, None]
        pulled = self.spreads.pulled(own, own_prior)
        energy = 0.5 * (prior * off**2).sum(axis=0) + 0.5 * (own * pulled).sum(axis=(0, 1))
        likelihood, rise, own_rise = self.regression.slope(logit, common)
        slope = self.arrow.noise(*_times(scale, (prior * off - rise, pulled - own_rise)))
        return energy - likelihood, slope


def _kinetic(speed) -> NDArray[np.float64]:
    return 0.5 * ((speed[0] ** 2).sum(axis=0) + (speed[1] ** 2).sum(axis=(0, 1)))


def _times(scale, effects) -> tuple[NDArray, NDArray]:
    return scale[0] * effects[0], scale[1] * effects[1]


def _plus(first, second, factor: float) -> tuple[NDArray, NDArray]:
    return first[0] + factor * second[0], first[1] + factor * second[1]
