"""Measures that err more because the sample was drawn for other measures."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.schema import design_parameters
from bayeseval.designs.sizes import Shares, chance, squared_weights
from bayeseval.frame.frame import Frame
from bayeseval.measures.measure import Measure
from bayeseval.measures.table import SUMS
from bayeseval.messages import warn
from bayeseval.rounding import ratio

LARGE = 1.5  # error, by that of a sample drawn for the measure, from which on a warning is due
N_TOPICS = 25  # enough for a ratio of errors


class DrawnForOthers(UserWarning):
    """Measures that err much more than by a sample that is drawn for them."""


def warn_drawn_for_others(frame: Frame, measures: list[Measure]) -> None:
    """Warn of measures whose error is much larger because an order is for other measures."""
    design, runs = frame.collection.children.get("design"), frame.collection["run"].to_numpy()
    parameters = design_parameters(design)
    drawn_for = parameters.get("measures")
    if design is None or drawn_for is None or not np.isin(parameters["runs"], runs).all():
        return
    if "stratum_extension" in design:  # later runs: the order was for no measure of theirs
        return
    others = [one for one in measures if one.label not in drawn_for and one.kind in SUMS]
    if not others:
        return
    ratios = zip(others, error_ratios(frame, others), strict=True)
    large = [f"{one.label} about {ratio:.1f} times" for one, ratio in ratios if ratio >= LARGE]
    if large:
        text = ", ".join(large).replace(" about", " errs about", 1)
        warn(
            f"the sample was drawn for {', '.join(drawn_for)}; {text} as much as by a sample "
            "drawn for it",
            DrawnForOthers,
        )


def error_ratios(frame: Frame, measures: list[Measure]) -> NDArray[np.float64]:
    r"""Error of each measure by an order over that by as many documents drawn for it alone.

    .. math:: \sqrt{V / V_0}, \qquad V = \sum_d f(d)\, q(d) \left(1 / \pi(d) - 1\right), \qquad
              V_0 = \frac{1}{n} \Big( \sum_d \sqrt{f(d)\, q(d)} \Big)^2

    over the list of a topic, of which n are judged, with f and q as for :func:`sizes`. V and V_0
    are added up over some 25 topics or more. V_0 is the variance of a draw with replacement, with
    probabilities proportional to the roots: it is not 0 where a sample could be certain of all that
    a measure weighs, and the ratio may be below 1.
    """
    variance, probability = np.zeros((2, len(measures))), frame.sample.inclusion_probability
    for row, spread in expected_spreads(frame, measures):
        drawn = probability[row]
        variance[0] += spread @ (1.0 / drawn - 1.0)
        variance[1] += np.sqrt(spread).sum(axis=1) ** 2 / max(drawn.sum(), 1.0)
    return np.sqrt(ratio(variance[0], variance[1]))


def expected_spreads(
    frame: Frame, measures: list[Measure]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Rows of a topic's list (document,), and f q of each measure (measure, document).

    For some 25 topics or more. Divided by the probability that a document is judged, less itself,
    and added up, they are the variance to be expected.
    """
    sample, listed = frame.ranked_sample, frame.collection["design/place"].to_numpy() > 0
    asked: Shares = [(measure, 1.0) for measure in measures]
    for topic in range(0, sample.n_topics, max(sample.n_topics // N_TOPICS, 1)):
        row = np.arange(sample.start[topic], sample.start[topic + 1])
        row = row[np.argsort(sample.fused_rank[row])]
        row = row[listed[sample.pair[row]]]
        p = chance(np.arange(1, row.size + 1))
        squares = squared_weights(frame.shaping, topic, sample.pair[row], p, asked)
        yield row, np.array([square for square, _ in squares]) * p * (1.0 - p)
