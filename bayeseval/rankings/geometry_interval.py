"""Intervals of bias, variance and error: an outer bootstrap of the tables' topics."""

import numpy as np
from numpy.typing import NDArray

from bayeseval.messages import Message, Option
from bayeseval.progress import track
from bayeseval.rankings.geometry import Request, geometry

QUANTITIES = ("bias", "sigma", "sigma_gold", "mse", "rmse")

Floats = NDArray[np.floating]


def geometry_interval(
    tables: tuple[Floats, Floats],
    labels: tuple[NDArray, NDArray],
    request: Request,
    *,
    n_outer: int,
    ci_prob: float,
    random: np.random.Generator,
) -> Floats:
    r"""Bounds (quantity, bound) by the basic bootstrap.

    Topics are drawn with replacement from the tables, the geometry of the drawn tables is found,
    and its distance from that of the tables is turned around: :math:`[2 \hat v - q_{hi}, 2 \hat v -
    q_{lo}]`, for the squares b^2 and MSE as they are and for :math:`\log \sigma`. The outer mean of
    the squares lies above the estimate by as much as that lies above the truth, which the turning
    takes off.

    Parameters
    ----------
    tables : pair of float arrays (replicate, topic, run)
    labels : pair of arrays (topic,)
        Tables with the same topics are drawn together.
    request : Request
    n_outer : int
    ci_prob : float
    random : Generator
    """
    if n_outer < 20:
        raise ValueError(f"n_outer must be at least 20 for an interval, not {n_outer}")
    if not 0.0 < ci_prob < 1.0:
        raise ValueError(Message(Option("ci_prob"), f" must lie between 0 and 1, not {ci_prob}"))
    sizes = [table.shape[1] for table in tables]
    paired = np.array_equal(*labels)
    outer = np.empty((n_outer, 4))
    centre = geometry(tables[0], tables[1], request, random).squares()
    for row in track(outer, f"{n_outer} outer samples"):
        drawn = [random.integers(size, size=size) for size in sizes]
        if paired:
            drawn[1] = drawn[0]
        first, second = (table[:, topics] for table, topics in zip(tables, drawn, strict=True))
        row[:] = geometry(first, second, request, random).squares()
    tails = 0.5 * (1.0 - ci_prob) * np.array([1.0, -1.0]) + np.array([0.0, 1.0])
    squares = 2.0 * centre[:, None] - np.quantile(outer, tails, axis=0).T[:, ::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = centre[:, None] ** 2 / np.quantile(outer, tails, axis=0).T[:, ::-1]
    sigma = np.sqrt(np.where(centre[:, None] > 0, turned, 0.0))
    roots = signed_root(squares)
    return np.stack([roots[0], sigma[1], sigma[2], squares[3], roots[3]])


def signed_root(square: Floats) -> Floats:
    """sign(x) sqrt(|x|): what stands for |b| where b^2 came out negative."""
    return np.sign(square) * np.sqrt(np.abs(square))
