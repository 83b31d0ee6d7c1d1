"""Whether intervals hold the truth; scores that differ by rounding alone are equal."""

from bayeseval.rounding import ROUNDING


def held(truth, lower, upper):
    """Whether the truth is between two bounds, arrays of any kind."""
    return (lower <= truth + ROUNDING) & (truth - ROUNDING <= upper)
