"""Results as tidy tables."""

import pandas as pd
import xarray as xr

KEYS = ("measure", "run", "run_a", "run_b", "topic", "replicate")
DIMS = ("measure", "comparison", "run", "topic", "replicate")
NO_ROWS = {"run_other", "rank", "ci_bound", "direction", "chain"}  # of matrices, within a row
BOUNDS = ("lower", "upper")
FIRST = ("estimate", *BOUNDS)  # columns after the labels
TOPIC = "topic_"  # before the names of variables by topic, beside means


def to_frame(scores: xr.Dataset) -> pd.DataFrame:
    """One row for each run (or comparison), measure and topic, if any, with bounds as columns.

    Parameters
    ----------
    scores : Dataset
        A result of :func:`evaluate`, :func:`mean_over_topics`, :func:`summarize`,
        :func:`compare`, :func:`rankings.rank_sets` or another function on runs or pairs of runs.

    Returns
    -------
    DataFrame
        Columns: the labels (measure, run or run_a and run_b, topic, replicate), those of other
        dims (source of :func:`compare_intervals`, budget and n_topics of :func:`plan`, or a dim
        along which results were concatenated), then ``estimate``, ``lower`` and ``upper``
        (of ``interval``), then every other variable. Matrices of pairs of runs and probabilities of
        ranks are not included.

    Raises
    ------
    TypeError
        Something else than a Dataset.
    ValueError
        Posterior draws, which are summarised first; no dim measure, run or comparison.

    Examples
    --------
    >>> import xarray as xr, bayeseval as be
    >>> mean = xr.Dataset(
    ...     {
    ...         "estimate": (("measure", "run"), [[0.4, 0.5]]),
    ...         "interval": (("measure", "run", "ci_bound"), [[[0.3, 0.5], [0.45, 0.55]]]),
    ...     },
    ...     coords={"measure": ["P@10"], "run": ["a", "b"], "ci_bound": ["lower", "upper"]},
    ... )
    >>> print(be.to_frame(mean).to_string(index=False))
    measure run  estimate  lower  upper
       P@10   a       0.4   0.30   0.50
       P@10   b       0.5   0.45   0.55
    """
    if not isinstance(scores, xr.Dataset):
        raise TypeError(f"to_frame takes a Dataset, not a {type(scores).__name__}")
    dims = [str(dim) for dim in scores.dims]
    if "draw" in dims:
        raise ValueError("to_frame takes summaries; posterior draws are summarised by summarize")
    if not {"run", "comparison", "measure"} & set(dims):
        raise ValueError(
            f"to_frame needs a dim measure, run or comparison, and the dims are {', '.join(dims)}"
        )
    flat = with_bounds(scores) if "interval" in scores else scores
    other_dims = [dim for dim in dims if dim not in DIMS and dim not in NO_ROWS]
    order = [*(dim for dim in DIMS if dim in dims), *other_dims]
    flat = flat[[name for name, values in flat.items() if set(values.dims) <= set(order)]]
    frame = flat.to_dataframe(dim_order=[dim for dim in order if dim in flat.dims]).reset_index()
    keys = [name for name in (*KEYS, *other_dims) if name in frame]
    values = sorted(map(str, flat), key=lambda name: FIRST.index(name) if name in FIRST else 3)
    others = [c for c in frame if c not in keys and c not in values and c != "comparison"]
    return frame.loc[:, keys + values + others]


def with_bounds(scores: xr.Dataset) -> xr.Dataset:
    """The same with ``lower`` and ``upper`` as variables in the place of ``interval``."""
    bounds = {name: scores["interval"].sel(ci_bound=name, drop=True) for name in BOUNDS}
    return scores.drop_vars("interval").assign(bounds)


def with_topics(mean: xr.Dataset, by_topic: xr.Dataset | None) -> xr.Dataset:
    """Means, with the variables of scores by topic under names of their own, if there are any."""
    if by_topic is None:
        return mean
    kept = by_topic.drop_dims("direction", errors="ignore").data_vars.items()
    return mean.assign({f"{TOPIC}{name}": one for name, one in kept if "topic" in one.dims})


def topics_of(scores: xr.Dataset) -> xr.Dataset:
    """Scores by topic of what :func:`with_topics` made, or scores as they are."""
    names = {
        str(name): str(name).removeprefix(TOPIC) for name in scores if str(name).startswith(TOPIC)
    }
    return scores[list(names)].rename(names) if names else scores
