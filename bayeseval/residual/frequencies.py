"""Fourier sums of a weighted sum of binomial counts: kernels.

The module compiles with numba on first use and must be imported inside functions.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def largest_modulus(low, high, weight, spread, count):
    """Upper bound of the modulus of the characteristic function at angles in [low, high].

    A factor is (1 - 4 q (1 - q) sin^2(angle * weight / 2))^(count / 2), with spread = 4 q (1 - q).
    Where no multiple of pi lies within, the sine is least at one of the two ends; elsewhere the
    factor is at most 1.
    """
    logarithm = 0.0
    for group in range(weight.size):
        start, end = 0.5 * low * weight[group], 0.5 * high * weight[group]
        if np.floor(start / np.pi) == np.floor(end / np.pi):
            sine = min(abs(np.sin(start)), abs(np.sin(end)))
            logarithm += 0.5 * count[group] * np.log1p(-spread[group] * sine * sine)
            if logarithm < -60.0:
                break
    return np.exp(logarithm)


@numba.njit(cache=True, nogil=True)
def needed_frequencies(period, n_frequencies, weight, spread, count, negligible):
    """Last frequency that has to be computed: above it every modulus is negligible."""
    last = 0
    low = 1
    while low <= n_frequencies:
        high = min(n_frequencies, max(low, int(low * 2.0 ** (1.0 / 64))))
        angle = 2.0 * np.pi / period
        if largest_modulus(low * angle, high * angle, weight, spread, count) > negligible:
            last = high
        low = high + 1
    return last


@numba.njit(cache=True, nogil=True)
def characteristic(last, period, weight, probability, count, centre):
    """Characteristic function of (sum - centre) at 2 pi k / period for k = 1 ... last."""
    out = np.zeros(last, dtype=np.complex128)
    for index in range(last):
        angle = 2.0 * np.pi * (index + 1) / period
        product = 1.0 + 0.0j
        for group in range(weight.size):
            q, theta = probability[group], angle * weight[group]
            base = complex(1.0 - q + q * np.cos(theta), q * np.sin(theta))
            power = count[group]
            while power > 0:  # base to the power of the count
                if power & 1:
                    product *= base
                base *= base
                power >>= 1
            if product.real**2 + product.imag**2 < 1e-24:  # counts as 0
                product = 0.0 + 0.0j
                break
        theta = angle * centre
        out[index] = product * complex(np.cos(theta), -np.sin(theta))
    return out


@numba.njit(cache=True, nogil=True)
def sawtooth_sums(place, values, n_frequencies):
    """Vaaler's polynomial and Fejer's kernel, in expectation, at places in units of the period.

    Returns an array (2, place): the expected sawtooth of (sum - place), and half the width of the
    bounds around it. ``values`` hold the characteristic function from k = 1 on.
    """
    out = np.zeros((2, place.size))
    polynomial, kernel = np.empty(values.size), np.empty(values.size)
    for index in range(values.size):
        k = index + 1.0
        u = k / (n_frequencies + 1.0)
        factor = np.pi * u * (1.0 - u) / np.tan(np.pi * u) + u
        polynomial[index] = -factor / (np.pi * k)
        kernel[index] = 2.0 * (1.0 - u)
    for point in range(place.size):
        step = np.exp(-2j * np.pi * place[point])
        turn = step
        total, width = 0.0, 1.0
        for index in range(values.size):
            if index % 1024 == 0:  # products of many turns drift
                turn = np.exp(-2j * np.pi * ((index + 1.0) * place[point] % 1.0))
            term = values[index] * turn
            total += polynomial[index] * term.imag
            width += kernel[index] * term.real
            turn *= step
        out[0, point] = total
        out[1, point] = width / (2.0 * n_frequencies + 2.0)
    return out
