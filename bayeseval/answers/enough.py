"""Whether intervals are short enough, or how many more documents are to be judged."""

from numbers import Real

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_one_sample
from bayeseval.designs.judging_list import in_list, information, judged_to
from bayeseval.evaluation.drawn_for import expected_spreads
from bayeseval.frame.frame import Frame
from bayeseval.measures.names import parse_measures
from bayeseval.messages import Message, Option
from bayeseval.uncertainty import anytime_ratio, normal_quantile

MOST_LENGTHS = 60  # of the list, tried between one more document of each topic and all


def check_half_width(half_width: float | None) -> None:
    """Refuse what is no length."""
    number = isinstance(half_width, Real) and not isinstance(half_width, bool)
    if half_width is not None and not (number and 0 < half_width < np.inf):
        raise ValueError(
            Message(Option("half_width"), f" must be a number above 0, not {half_width!r}")
        )


def with_more_judgments(
    result: xr.Dataset, collection: xr.DataTree, half_width: float | xr.DataArray
) -> xr.Dataset:
    """Result with ``more_judgments``: about how many until half of an interval is short enough.

    They are further documents of each topic, in the order of the list: 0 where the interval is
    short enough, NaN where there is none. The lengths are taken to fall as the expected standard
    error of the measure over all contributing runs.
    ``half_width`` is one number, or one for every interval.
    """
    check_one_sample(collection, "further judgments are of one sample")
    bounds = result["interval"].transpose("measure", ..., "ci_bound")
    half = 0.5 * (bounds.sel(ci_bound="upper", drop=True) - bounds.sel(ci_bound="lower", drop=True))
    more, share = _lengths_to_come(collection, result)
    number = half.copy()
    for index, falling in enumerate(share):
        times = (half / half_width)[index].to_numpy()  # as long as it should be
        # the small margin is that of rounding
        place = (falling[:, None] * times > 1.0 + 1e-9).sum(axis=0)
        needed = more[np.minimum(place, more.size - 1)]
        number[index] = np.where(np.isnan(times), np.nan, needed)
    return result.assign(more_judgments=number)


def _lengths_to_come(
    collection: xr.DataTree, result: xr.Dataset
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers (n,) of further documents of each topic, from 0 to all, and lengths (measure, n).

    Lengths of intervals are relative to those of now.
    """
    design = collection["design"].to_dataset()
    judged = collection["judgments/grade"].notnull().to_numpy()
    topic, order = collection["pair_topic"].to_numpy(), design["judging_order"].to_numpy()
    waiting = np.flatnonzero(in_list(design) & ~judged & np.isin(topic, topic[judged]))
    waiting = waiting[np.lexsort((order[waiting], topic[waiting]))]
    number = np.arange(waiting.size) - np.searchsorted(topic[waiting], topic[waiting])
    longest = int(number.max(initial=-1)) + 1
    more = np.unique(np.geomspace(1, max(longest, 1), MOST_LENGTHS).round().astype(np.int64))
    more = np.append(0, more[more <= longest])

    frame = Frame.drawn_from(collection)
    measures = parse_measures(result["measure"].to_numpy().tolist())
    spreads = list(expected_spreads(frame, measures))
    rows = np.concatenate([row for row, _ in spreads])
    pairs, spread = frame.sample.pair[rows], np.hstack([one for _, one in spreads])
    quantile, lengths = normal_quantile(result.attrs["ci_prob"]), np.zeros((len(spread), more.size))
    for column, added in enumerate(more):
        reached = judged.copy()
        reached[waiting[number < added]] = True
        longer = judged_to(design, reached)
        chance = longer["inclusion_probability"].to_numpy()[pairs]
        variance = spread[:, chance > 0] @ (1.0 / chance[chance > 0] - 1.0)
        lengths[:, column] = anytime_ratio(quantile, information(longer)) * np.sqrt(variance)
    return more, np.minimum.accumulate(
        lengths / np.where(lengths[:, :1] > 0, lengths[:, :1], 1.0), axis=1
    )
