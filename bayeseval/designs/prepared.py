"""The start of every sampling design: an ordered frame, its certain pairs, the budget."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_whole_numbers
from bayeseval.collection.schema import label_values
from bayeseval.frame.rankings import contributing_runs, frame_mask, ordered_frame, pair_mask
from bayeseval.messages import Message, Option

Budget = int | Mapping[str, int] | pd.Series | xr.DataArray


def check_budget(budget: object, where: str = "per topic") -> None:
    """Refuse a budget that is not a number of judgments."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise ValueError(
            Message(
                Option("budget"),
                f" must be a whole number of judgments {where}, 1 or more, not {budget!r}",
            )
        )
    check_whole_numbers(1, budget=budget)


def topic_budgets(collection: xr.DataTree | xr.Dataset, budget: Budget) -> np.ndarray:
    """Judgments for every topic: one number for all, or one for each by the topic's label."""
    topics = collection["topic"].to_numpy().tolist()
    if isinstance(budget, xr.DataArray):
        if "topic" not in budget.coords:
            raise ValueError("a budget that is a DataArray has labels of topics (coordinate topic)")
        budget = pd.Series(budget.to_numpy(), index=budget["topic"].to_numpy())
    if isinstance(budget, Mapping | pd.Series):
        named = pd.Index([str(topic) for topic in budget.keys()])
        if named.has_duplicates:
            raise ValueError(f"budget names topic '{named[named.duplicated()][0]}' twice")
        budget = {str(topic): number for topic, number in budget.items()}
    else:
        check_budget(budget)
        return np.full(len(topics), budget, dtype=np.int64)
    missing = [topic for topic in topics if topic not in budget]
    if missing:
        raise ValueError(f"budget has no number of judgments for topic '{missing[0]}'")
    unknown = [topic for topic in budget if topic not in topics]
    if unknown:
        raise ValueError(f"budget names topic '{unknown[0]}', which the collection does not have")
    for topic in topics:
        check_budget(budget[topic], f"for topic '{topic}'")
    return np.array([budget[topic] for topic in topics], dtype=np.int64)


def kept_budget(budgets: NDArray[np.int64]) -> int | list[int]:
    """Budgets (topic,) as parameters of a design hold them: one number where all are the same."""
    return int(budgets[0]) if (budgets == budgets[0]).all() else budgets.tolist()


def started(collection: xr.DataTree, budget: Budget, frame, pool_depth, runs) -> dict:
    """Budgets, runs and frame of a design, checked, and its parameters as attributes."""
    check_collection(collection)
    budgets = topic_budgets(collection, budget)
    run = contributing_runs(collection, runs)
    mask, frame_name = frame_mask(collection, frame, pool_depth, run)
    parameters = {
        "budget": kept_budget(budgets),
        "frame": frame_name,
        "pool_depth": pool_depth if pool_depth is None else int(pool_depth),
        "runs": collection["run"].to_numpy()[run].tolist(),
    }
    return {"budgets": budgets, "runs": run, "frame": mask, "parameters": parameters}


def prepared_frame(
    collection, budget, frame, pool_depth, certain, runs, labels: str | Sequence[str] = ()
) -> dict:
    """Everything a sampling design starts from: order, certainty pairs, budget left, attributes.

    Labels move a document up or down the order: see :func:`labelled_order`.
    """
    labels = [labels] if isinstance(labels, str) else list(labels)
    start = started(collection, budget, frame, pool_depth, runs)
    n_pairs = collection.sizes["pair"]
    sure = (
        np.zeros(n_pairs, dtype=bool) if certain is None else pair_mask(certain, n_pairs, "certain")
    )
    order = fused_documents(collection, start["frame"] | sure, start["runs"], labels)
    sure_by_topic = [pairs[sure[pairs]] for pairs in order]
    rest_by_topic = [pairs[~sure[pairs]] for pairs in order]
    _check_certain(collection["topic"].to_numpy(), start["budgets"], sure_by_topic, rest_by_topic)
    if (
        start["parameters"]["frame"] == "judged"
        and sure.any()
        and not any(rest.size for rest in rest_by_topic)
    ):
        raise ValueError(
            f"certain holds all {int(sure.sum())} pairs of the frame, the judged ones, so that "
            "nothing is left to sample; frame='retrieved' adds what the runs retrieved"
        )
    parameters = {"n_certain": int(sure.sum())} | ({"labels": labels} if labels else {})
    return {
        "budgets": start["budgets"],
        "runs": start["runs"],
        "rest": rest_by_topic,
        "certain": sure_by_topic,
        "parameters": start["parameters"] | parameters,
    }


def fused_documents(
    collection: xr.DataTree, mask: np.ndarray, runs: np.ndarray, labels: list[str]
) -> list[NDArray[np.int64]]:
    """Pairs of a frame, of every topic, in fused order, which labels move."""
    order = ordered_frame(collection, mask, runs)
    if not labels:
        return order
    values = label_values(collection, labels)
    return [pairs[labelled_order(values[pairs])] for pairs in order]


def labelled_design(collection, variables, scheme: str, name: str, parameters) -> xr.Dataset:
    """Dataset of a design with the labels of the collection's pairs."""
    coords = {
        "topic": ("topic", collection["topic"].to_numpy()),
        "document": ("pair", collection["document"].data),  # which may be on disk
        "pair_topic": ("pair", collection["pair_topic"].to_numpy()),
    }
    attrs = {"scheme": scheme, "name": name, "parameters": json.dumps(parameters)}
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def _check_certain(topics, budgets: np.ndarray, certain: list, rest: list) -> None:
    """Refuse a budget that leaves nothing for the documents beside the certain pairs of a topic."""
    for topic, budget, pairs, others in zip(topics, budgets, certain, rest, strict=True):
        if pairs.size > budget or (others.size and pairs.size == budget):
            raise ValueError(
                Message(
                    f"topic '{topic}' has {pairs.size} certain pairs, which ",
                    Option("budget"),
                    f" counts: {budget} leaves none for the rest of the frame; raise it, or make "
                    "fewer pairs certain",
                )
            )


def labelled_order(values: NDArray[np.float64]) -> NDArray[np.int64]:
    r"""Order (pair,) of a topic's documents in fused order, moved by their labels (pair, judge).

    .. math:: rank(d) \; 2^{1 - 2 s(d)}

    ascending, where s is the share of the topic's documents with a lower label (ties by half), its
    mean over the judges, 1/2 where a label is missing: the best labelled stand at half their rank,
    the worst at double.

    Examples
    --------
    >>> labelled_order(np.array([[0.0], [0.0], [3.0], [np.nan]]))
    array([0, 2, 1, 3])
    """
    table = pd.DataFrame(values)
    share = (table.rank() - 0.5) / table.notna().sum()
    moved = 2.0 ** (1.0 - 2.0 * np.asarray(share.fillna(0.5)).mean(axis=1))
    return np.argsort(np.arange(1, len(values) + 1) * moved, kind="stable")
