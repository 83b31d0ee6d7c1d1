"""What an assessor gets of a sample."""

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import check_collection
from bayeseval.collection.choices import check_seed
from bayeseval.designs.placing import check_design, design_rows, own_sample


def to_judge(
    design: xr.Dataset, judged: xr.DataTree | None = None, *, random_seed: int | None
) -> pd.DataFrame:
    """Sampled documents to judge, in random order within each topic.

    The order says nothing of how relevant a document may be, as an assessor should get them; a pool
    that has an order of its own (``judging_order``) keeps that.

    Parameters
    ----------
    design : Dataset
        A design with its sample, ``design.assign(selected=bayeseval.draw(design, ...))`` (with
        replacement ``draw_count``), or a deterministic one.
    judged : DataTree, optional
        Leave out what has a grade in this collection.
    random_seed : int or None
        Of the order.

    Returns
    -------
    DataFrame
        Columns topic and document, topics in the order of the design.

    Raises
    ------
    ValueError
        No sample, or replicates of one; a collection without judgments.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdef")})
    >>> collection = be.read_collection(None, run.assign(score=range(6)))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=2)
    >>> sample = design.assign(selected=be.draw(design, random_seed=1))
    >>> print(be.designs.to_judge(sample, random_seed=1).to_string(index=False))
    topic document
        1        e
        1        b
        1        f
        1        d
    """
    check_design(design)
    check_seed(random_seed)
    sample = own_sample(design, "draw one, design.assign(selected=draw(design, random_seed=...))")
    if sample.ndim > 1:
        raise ValueError("the design has replicates of a sample; select one of them")
    chosen = sample.to_numpy() > 0
    if judged is not None:
        check_collection(judged)
        if "judgments" not in judged.children:
            raise ValueError("judged has no judgments, and says nothing of what is left to judge")
        grade = judged["judgments/grade"]
        if "replicate" in grade.dims:
            raise ValueError("judged holds replicates of a sample; select one of them")
        row = design_rows(judged, design)
        chosen[row[(row >= 0) & grade.notnull().to_numpy()]] = False
    pair = np.flatnonzero(chosen)
    topic = design["pair_topic"].to_numpy()[pair]
    if "judging_order" in design:
        within = design["judging_order"].to_numpy()[pair].astype(float)
    else:
        within = np.random.default_rng(random_seed).random(pair.size)
    order = np.lexsort((within, topic))
    return pd.DataFrame(
        {
            "topic": design["topic"].to_numpy()[topic[order]],
            "document": design["document"].to_numpy()[pair[order]],
        }
    )
