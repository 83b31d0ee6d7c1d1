"""Complete judgments drawn from the posterior of a sample."""

import numpy as np
import xarray as xr

from bayeseval.collection import with_node
from bayeseval.inference import fit
from bayeseval.models.table import kind_of_documents
from bayeseval.posterior.modelled import document_model, modelled_measures, told_measures
from bayeseval.predictors.values import check_labels


def posterior_worlds(
    sampled: xr.DataTree, measures, fitted, relevance_level: int, number: int, random_seed: int
) -> list[xr.DataTree]:
    """Collections without a design, their unjudged documents drawn from the posterior of a sample.

    Each of the ``number`` collections is a posterior draw, as far apart in the chains as can be,
    with grades of all pairs of the frame; judged pairs keep theirs. ``fitted`` is a fit of a model
    of documents to the sample; None: ``relevance_model``, or ``grade_model`` where a measure needs
    grades, with the added labels, by its approximation. Refused are a measure that the fit does not
    model; a fit of another kind of model or to other judgments; labels that exist only where
    documents were sampled.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.pps_strata(collection, budget=60)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> worlds = posterior_worlds(sampled, "P@10", None, 1, 2, random_seed=1)
    >>> [world["judgments/grade"].notnull().mean().item() for world in worlds]
    [1.0, 1.0]
    """
    if fitted is None:
        check_labels(sampled)
        is_binary = bool(told_measures(sampled, measures, relevance_level).all())
        model = document_model(sampled, relevance_level, is_binary)
        options = {"draws": number, "chains": 1, "approximation": "laplace"}
        fitted = fit(model, random_seed=random_seed, **options)
    kind = kind_of_documents(fitted)
    assert kind.draws is not None
    sizes = fitted["posterior"].sizes
    n_each = min(sizes["draw"], -(-number // sizes["chain"]))  # of every chain
    places = np.linspace(0, sizes["draw"] - 1, n_each).astype(int)
    draws = kind.draws(fitted.isel(draw=places, missing_dims="ignore"), sampled, random_seed)
    modelled_measures(measures, draws.binary_level(), sampled)
    frame, start = draws.frame, draws.frame.rankings.start
    grades = np.full((start[-1], draws.n_draws), np.nan, dtype=np.float32)
    for topic in range(start.size - 1):
        pairs = np.flatnonzero(frame.row_of_pair[start[topic] : start[topic + 1]] >= 0)
        grades[start[topic] + pairs] = draws.scale[draws.topic(topic, pairs).codes]
    grades = grades[:, np.linspace(0, draws.n_draws - 1, number).astype(int)]
    judgments = sampled.children["judgments"].to_dataset(inherit=False)
    bare = with_node(sampled, "design", None)
    return [
        with_node(bare, "judgments", judgments.assign(grade=("pair", grade)))
        for grade in np.ascontiguousarray(grades.T)
    ]
