"""Worlds with complete judgments, as a fit to a sample takes them for possible."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import with_node
from bayeseval.inference import fit
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.models.table import kind_of_documents
from bayeseval.posterior.modelled import document_model, modelled_measures, scored_by_relevance
from bayeseval.predictors.registry import check_labels


def posterior_worlds(
    sampled: xr.DataTree, measures, fitted, relevance_level: int, number: int, random_seed: int
) -> list[xr.DataTree]:
    """Collections like a sample without its design, whose unjudged documents a model has drawn.

    ``number`` worlds, each a posterior draw, as far apart in the chains as can be, with grades of
    all pairs of the frame; the judged ones are as they were. ``fitted`` is a fit of a model of
    documents to the sample; None: ``relevance_model``, or ``grade_model`` where a measure counts
    grades, with the labels that were added, by its approximation. Refused are a measure of grades,
    or of another level, of which the fit does not tell; a fit of another kind of model or to other
    judgments; labels that are there because documents were sampled.

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
        how = {"draws": number, "chains": 1, "approximation": "laplace"}
        told = bool(scored_by_relevance(sampled, measures, relevance_level).all())
        model = document_model(sampled, relevance_level, told)
        fitted = fit(model, random_seed=random_seed, **how)
    kind = kind_of_documents(fitted)
    sizes = fitted["posterior"].sizes
    wanted = min(sizes["draw"], -(-number // sizes["chain"]))  # of every chain
    places = np.linspace(0, sizes["draw"] - 1, wanted).astype(int)
    some = fitted.isel(draw=places, missing_dims="ignore")
    draws = kind.draws(some, sampled, random_seed)
    modelled_measures(measures, draws.binary_level(), sampled)
    grades = _drawn_grades(draws)[:, np.linspace(0, draws.n_draws - 1, number).astype(int)]
    judgments = sampled.children["judgments"].to_dataset(inherit=False)
    bare = with_node(sampled, "design", None)
    return [
        with_node(bare, "judgments", judgments.assign(grade=("pair", grade)))
        for grade in np.ascontiguousarray(grades.T)
    ]


def _drawn_grades(draws: RelevanceDraws) -> NDArray[np.float32]:
    """Grades (pair, draw) of all pairs of the frame, NaN outside."""
    frame, start = draws.frame, draws.frame.rankings.start
    grades = np.full((start[-1], draws.n_draws), np.nan, dtype=np.float32)
    for topic in range(start.size - 1):
        pairs = np.flatnonzero(frame.row_of_pair[start[topic] : start[topic + 1]] >= 0)
        grades[start[topic] + pairs] = draws.scale[draws.topic(topic, pairs).codes]
    return grades
