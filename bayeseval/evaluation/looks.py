"""What intervals need that hold at every look while an order is judged."""

import xarray as xr

from bayeseval.collection.choices import check_ci_prob
from bayeseval.messages import Message, Option
from bayeseval.uncertainty import anytime_ratio, normal_quantile

ONE_LOOK = Message(
    Option("anytime"),
    " is for these topics: the error of ",
    Option("population", "topics"),
    " does not fall while judging goes on; give that interval once, at the end",
)


def information_of(scores: xr.Dataset, population: str) -> float:
    """Information of the judgments that scores rest on, over that of the first round.

    Refuses scores without it, and the population of topics, whose error does not fall while judging
    goes on.
    """
    if "information" not in scores.attrs:
        raise ValueError(
            Message(
                Option("anytime"),
                " needs the judgments of a list that may be judged to any length (",
                Option("scheme", "order", "be.designs.order"),
                "), scored by stat or dyn",
            )
        )
    if population == "topics":
        raise ValueError(ONE_LOOK)
    return scores.attrs["information"]


def length_ratio(scores: xr.Dataset, population: str, ci_prob: float) -> float:
    """Length of intervals that hold at every look over those of a single look."""
    check_ci_prob(ci_prob)
    return float(anytime_ratio(normal_quantile(ci_prob), information_of(scores, population)))
