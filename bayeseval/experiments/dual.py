"""Dual runs: adversaries with the same precision as the runs they come from."""

import numpy as np
import xarray as xr

from bayeseval.collection import check_collection
from bayeseval.collection.choices import generator
from bayeseval.collection.schema import rebuilt
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_columns


def dual_runs(
    collection: xr.DataTree, *, relevance_level: int = 1, random_seed: int | None
) -> xr.DataTree:
    """Collection with a dual of every run added, marked as not contributing.

    A dual run has, on every topic, the relevant documents of its original in the same ranks but
    randomly permuted among them; everything else stays where it is. It scores exactly as its
    original on every binary measure, yet no system ranks the documents near its top so high: it
    shows the bias of estimators that follow the agreement of systems.

    Parameters
    ----------
    collection : DataTree
        Rankings, and the judgments taken as the truth.
    relevance_level : int
        Least grade that counts as relevant.
    random_seed : int or None
        Seed of the permutations.

    Returns
    -------
    DataTree
        The runs and their duals, named with the suffix "~dual" and with contributed = False.

    Raises
    ------
    ValueError
        A collection without judgments, or one that has dual runs already.

    References
    ----------
    Cormack and Grossman (2019), sections 1 and 6, doi:10.1145/3331184.3331355.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 1]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> dual = be.dual_runs(collection, random_seed=3)
    >>> dual.run.values, dual.contributed.values
    (array(['a', 'a~dual'], dtype='<U6'), array([ True, False]))
    """
    check_collection(collection, "rankings", "judgments")
    labels = collection["run"].to_numpy()
    if any(label.endswith("~dual") for label in labels):
        raise ValueError("the collection has dual runs already (names that end in '~dual')")
    ranking = Rankings.of(collection).pair
    relevant = np.append(grade_columns(collection)[0] >= relevance_level, False)[ranking]
    random = generator(random_seed)
    dual = ranking.copy()
    for run in range(ranking.shape[0]):
        where = np.nonzero(relevant[run])
        order = np.lexsort((random.random(where[0].size), where[0]))  # shuffle within topics
        dual[run][where] = ranking[run][where][order]
    team = collection["team"].to_numpy()
    contributed = collection["contributed"].to_numpy()
    return rebuilt(
        collection,
        runs=np.concatenate([labels, [f"{label}~dual" for label in labels]]),
        ranking=np.concatenate([ranking, dual]),
        contributed=np.concatenate([contributed, np.zeros_like(contributed)]),
        team=np.concatenate([team, team]),
    )
