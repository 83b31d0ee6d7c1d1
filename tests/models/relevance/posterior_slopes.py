"""A posterior by differences and by importance sampling, beside what the approximation says."""

import numpy as np
import pytest


def check_mode_and_arrow(energy, common, own, arrow, accuracy: float) -> None:
    """No gradient at the mode, and the arrow is the factor of the curvature there.

    ``energy`` (common, own) is minus the log posterior of effects.
    """
    random = np.random.default_rng(1)
    for _ in range(5):
        noise = random.standard_normal((common.size, 1)), random.standard_normal((*own.shape, 1))
        size = sum((part**2).sum() for part in noise)
        step = [0.01 * part[..., 0] / np.sqrt(size) for part in arrow.effects(*noise)]
        down, here, up = (energy(common + k * step[0], own + k * step[1]) for k in (-1, 0, 1))
        assert abs(up - down) < 1e-5  # a further Newton step would gain less than 1e-6
        assert (up - 2 * here + down) / 0.01**2 == pytest.approx(1.0, rel=accuracy)


def check_slope_of_path(chains, arrow, start, prior, scale, random) -> None:
    """The gradient of the energy of paths that start there, in the units of the arrow."""
    energy, slope = chains._energy(start, prior, scale)
    noise = [random.normal(size=(*part.shape[:-1], 1)) for part in start]
    step = [part * factor for part, factor in zip(arrow.effects(*noise), scale, strict=True)]
    there = [part + 1e-6 * move for part, move in zip(start, step, strict=True)]
    gained = (chains._energy(there, prior, scale)[0] - energy) / 1e-6
    expected = (slope[0] * noise[0]).sum(axis=0) + (slope[1] * noise[1]).sum(axis=(0, 1))
    np.testing.assert_allclose(gained, expected, rtol=1e-3, atol=1e-3)
