"""What every sampling design starts from: an ordered frame, its certain pairs, the budget."""

import numpy as np

from bayeseval.collection import check_collection
from bayeseval.frame.members import contributing_runs, frame_mask, ordered_frame, pair_mask
from bayeseval.messages import Message, Option


def check_budget(budget: int) -> None:
    """Refuse a budget that is not a number of judgments."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
        raise ValueError(
            Message(
                Option("budget"),
                f" must be a whole number of judgments per topic, 1 or more, not {budget!r}",
            )
        )


def prepared_frame(collection, *, budget, frame, pool_depth, certain, runs) -> dict:
    """Everything a sampling design starts from: order, certainty pairs, budget left, attributes."""
    check_collection(collection)
    check_budget(budget)
    chosen = contributing_runs(collection, runs)
    mask, frame_name = frame_mask(collection, frame, pool_depth, chosen)
    n_pairs = collection.sizes["pair"]
    sure = (
        np.zeros(n_pairs, dtype=bool) if certain is None else pair_mask(certain, n_pairs, "certain")
    )
    order = ordered_frame(collection, mask | sure, chosen)
    sure_by_topic = [pairs[sure[pairs]] for pairs in order]
    rest_by_topic = [pairs[~sure[pairs]] for pairs in order]
    topics = collection["topic"].to_numpy()
    for topic, pairs, rest in zip(topics, sure_by_topic, rest_by_topic, strict=True):
        if pairs.size > budget:
            raise ValueError(
                f"topic '{topic}' has {pairs.size} certain pairs, more than the budget of {budget} "
                "judgments; raise the budget or make fewer pairs certain"
            )
        if rest.size and pairs.size == budget:
            raise ValueError(
                f"topic '{topic}' has as many certain pairs as the budget of {budget} allows and "
                "none is left for the rest of the frame; raise the budget or make fewer pairs "
                "certain"
            )
    return {
        "rest": rest_by_topic,
        "certain": sure_by_topic,
        "parameters": {
            "budget": int(budget),
            "frame": frame_name,
            "pool_depth": pool_depth,
            "n_certain": int(sure.sum()),
            "runs": collection["run"].to_numpy()[chosen].tolist(),
        },
    }
