"""Designs that formats of sampled judgments tell: strata, or a probability per document."""

import warnings

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import topic_order
from bayeseval.collection.labels import same_strings
from bayeseval.collection.schema import no_strata, strata


def sampling_design(
    collection: xr.DataTree,
    judgments: pd.DataFrame,
    where: np.ndarray,
    qrels_format: str,
    *,
    judged: np.ndarray,
) -> xr.Dataset | None:
    """Design over a collection's pairs that judgments of a format were made by; None of qrels.

    ``where`` (row,) has the position of each row's pair, ``judged`` (row,) those with a grade.
    Sampleval: inclusion probability = sampled / documents of the topic's stratum. Prels and probs:
    as listed, NaN (unknown) for documents that are not.
    """
    if qrels_format == "sampleval":
        return _stratified(collection, judgments, where, judged)
    if qrels_format in ("prels", "probs"):
        return _poisson(collection["document"].size, judgments, where, qrels_format)
    return None


def _stratified(
    collection, judgments: pd.DataFrame, where: np.ndarray, judged: np.ndarray
) -> xr.Dataset:
    topic = collection["pair_topic"].to_numpy()[where]
    labels, label = np.unique(same_strings(judgments["stratum"]), return_inverse=True)
    order = topic_order(labels)
    key = topic.astype(np.int64) * labels.size + np.argsort(order)[label]
    keys, stratum_of_row = np.unique(key, return_inverse=True)
    size = np.bincount(stratum_of_row)
    sampled = np.bincount(stratum_of_row, weights=judged).astype(np.int64)
    if (sampled == 0).any():
        first = keys[int(np.argmax(sampled == 0))]
        topic_label = collection["topic"].to_numpy()[first // labels.size]
        warnings.warn(
            f"strata without a sampled document: {int((sampled == 0).sum())}, the first is stratum "
            f"'{labels[order][first % labels.size]}' of topic '{topic_label}'; their documents "
            "count as outside the frame.",
            stacklevel=2,
        )
    stratum = np.full(collection["document"].size, -1, dtype=np.int32)
    stratum[where] = stratum_of_row
    label = ("stratum_id", labels[order][keys % labels.size])
    return xr.Dataset(
        strata(stratum, size, sampled, keys // labels.size) | {"stratum_label": label},
        attrs={"scheme": "stratified", "name": "sampleval", "parameters": "{}"},
    )


def _poisson(n_pairs: int, judgments: pd.DataFrame, where: np.ndarray, name: str) -> xr.Dataset:
    probability = np.full(n_pairs, np.nan)
    probability[where] = judgments["probability"]
    variables = {"inclusion_probability": ("pair", probability), **no_strata(n_pairs)}
    if "method" in judgments:
        method = np.full(n_pairs, "", dtype=object)
        method[where] = judgments["method"]
        variables["method"] = ("pair", same_strings(method))
    return xr.Dataset(
        variables,
        attrs={"scheme": "poisson", "name": name, "parameters": "{}", "unlisted": "unknown"},
    )
