"""Collections to DataFrames, as ``read_collection`` takes them."""

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import check_collection, check_one_sample
from bayeseval.collection.labels import pair_names


def qrels_frame(collection: xr.DataTree) -> pd.DataFrame:
    """Judgments as a DataFrame (topic, document, grade), -1 where pooled but not judged.

    Parameters
    ----------
    collection : DataTree
        Collection with judgments, without replicates.

    Returns
    -------
    DataFrame
        One row for each judged or pooled pair, in the order of the pairs.

    Raises
    ------
    ValueError
        Where the collection has no judgments, or replicates of them.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> qrels = pd.DataFrame({"topic": ["1", "1"], "document": ["a", "b"], "grade": [2, -1]})
    >>> be.qrels_frame(be.read_collection(qrels))
      topic document  grade
    0     1        a      2
    1     1        b     -1
    """
    check_collection(collection)
    if "judgments" not in collection.children:
        raise ValueError("the collection has no judgments to put into a DataFrame.")
    check_one_sample(collection, "a DataFrame of qrels holds one sample")
    grade = collection["judgments/grade"].to_numpy().reshape(-1)
    listed = np.flatnonzero(~np.isnan(grade) | collection["judgments/pooled"].to_numpy())
    value = np.where(np.isnan(grade), -1, grade)[listed]
    whole = (value == np.round(value)).all()
    topic, document = pair_names(collection, listed)
    grade = value.astype(np.int64) if whole else value
    return pd.DataFrame({"topic": topic, "document": document, "grade": grade})


def runs_frame(collection: xr.DataTree) -> pd.DataFrame:
    """Rankings as a DataFrame (run, topic, document, score), best document first.

    A collection holds rankings, not scores: the score is the number of documents that are left, so
    that reading the frame gives the same rankings.

    Parameters
    ----------
    collection : DataTree
        Collection with runs.

    Returns
    -------
    DataFrame
        One row for each retrieved document.

    Raises
    ------
    ValueError
        Where the collection has no runs.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> runs = pd.DataFrame({"run": "a", "topic": "1", "document": ["x", "y"], "score": [1.5, 3.0]})
    >>> be.runs_frame(be.read_collection(None, runs))
      run topic document  score
    0   a     1        y      2
    1   a     1        x      1
    """
    check_collection(collection)
    if "rankings" not in collection.children:
        raise ValueError("the collection has no runs to put into a DataFrame.")
    ranking = collection["rankings/ranking"].to_numpy()
    run, topic, rank = np.nonzero(ranking >= 0)
    length = np.count_nonzero(ranking >= 0, axis=2)
    return pd.DataFrame(
        {
            "run": collection["run"].to_numpy()[run],
            "topic": collection["topic"].to_numpy()[topic],
            "document": collection["document"].to_numpy()[ranking[run, topic, rank]],
            "score": length[run, topic] - rank,
        }
    )
