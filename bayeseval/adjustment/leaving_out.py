"""Algorithm 1 of Webber and Park (2009): the bias of an unpooled run, inferred from pooled runs."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.adjustment.common_topics import confidence, helps
from bayeseval.adjustment.pool import Pool
from bayeseval.adjustment.rescoring import rescored
from bayeseval.progress import track
from bayeseval.uncertainty import interval


def left_out_bias(
    collection: xr.DataTree,
    pool: Pool,
    group: NDArray[np.int64],
    visible: NDArray[np.bool_],
    scored: xr.DataArray,
    measures,
    *,
    base: str,
    **options,
) -> xr.DataArray:
    r"""Bias against every pooled run when it is left out and an unpooled run pooled in its place.

    .. math:: \beta_s(r) = p_s - u_s(r)

    with p the mean score by all judgments Q and u that by :math:`Q' = Q \setminus \{\text{uniquely
    pooled from } s\} \cup \{\text{returned by } r\}`, over the topics on which both s and r have a
    score. (measure, run, left_out), for every unpooled run r and pooled run s; NaN where they have
    no topic in common. Q are the ``visible`` judgments (pair,); pooled runs of a ``group``
    (pooled_run,), numbered from 0, leave together; ``scored`` (measure, run, topic) says on which
    topics an unpooled run has a score.
    """
    given = options | {"base": "nonrelevant"}
    pooled = rescored(collection, pool.pooled_runs, visible[None], measures, **given)
    truth = pooled.isel(replicate=0).rename(run="left_out")
    parts = []
    unique = pool.unique(group)
    for number in track(range(unique.shape[0]), "leaving out pooled runs"):
        only = np.flatnonzero(unique[number])
        kept, of_run = np.unique(pool.unpooled[:, only], axis=0, return_inverse=True)
        masks = np.repeat(visible[None], kept.shape[0] + 1, axis=0)
        masks[1:, pool.judged[only]] &= kept  # the first keeps all, so that every topic counts
        members = pool.pooled_runs[group == number]
        scores = rescored(collection, members, masks, measures, base=base, **options)
        scores = scores.rename(run="left_out", replicate="run").isel(run=1 + of_run.ravel())
        lost = truth.sel(left_out=scores["left_out"]) - scores.assign_coords(run=scored["run"])
        parts.append(lost.where(scored).mean("topic", skipna=True))
    bias = xr.concat(parts, dim="left_out", join="exact").sel(left_out=truth["left_out"])
    return bias.transpose("measure", "run", "left_out")


def adjusted_by_runs(
    unadjusted: xr.DataArray, bias: xr.DataArray, group: NDArray[np.int64], *, ci_prob: float
) -> xr.Dataset:
    r"""Adjusted scores from the biases of the pooled runs.

    .. math:: a = \sum_{s \in S} \beta_s / |S|, \quad
              SE^2(a) = \frac{G}{G - 1} \sum_g \Bigl(\sum_{s \in g} (\beta_s - a) / |S|\Bigr)^2,
              \quad SE^2 = \frac{1}{|S|} \sum_s (\beta_s - a)^2 + 2\, SE^2(a)

    SE is the error of predicting the bias of one more run of the same kind: the spread of the
    biases (its estimate over S, plus what S underestimates it by) and the error of their mean. With
    every run a group of its own it is :math:`s_\beta^2 (1 + 1/|S|)`. Student's t has G - 1 degrees
    of freedom. S and G leave out runs whose bias is NaN. Groups (left_out,) of pooled runs are
    independent of each other: runs or teams.
    """
    from scipy.special import ndtr

    known = bias.notnull()
    groups = xr.DataArray(group, dims="left_out", name="group")
    n_groups = known.groupby(groups).any().sum("group")
    freedom = (n_groups - 1.0).where(n_groups > 1)
    adjustment = bias.mean("left_out", skipna=True)
    deviation = ((bias - adjustment) / known.sum("left_out")).fillna(0.0)
    of_group = deviation.groupby(groups).sum()
    of_mean = n_groups / freedom * (of_group**2).sum("group")
    spread = ((bias - adjustment) ** 2).mean("left_out", skipna=True)
    error = (spread + 2.0 * of_mean) ** 0.5
    adjusted = unadjusted + adjustment
    error_of_mean = of_mean**0.5
    return xr.Dataset(
        {
            "unadjusted": unadjusted,
            "adjustment": adjustment,
            "adjusted": adjusted,
            "standard_error": error,
            "interval": interval(adjusted, error, ci_prob=ci_prob, degrees_of_freedom=freedom),
            "adjustment_error": error_of_mean,
            "helps": helps(adjustment, error_of_mean),
            "confidence": confidence(adjustment, error, lambda ratio: ndtr(0.5 * ratio)),
            "bias": bias,
        }
    )
