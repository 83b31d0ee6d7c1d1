"""Documents that do not count for a topic, such as the passage that a query was made from."""

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import pair_positions
from bayeseval.collection.labels import alike_document
from bayeseval.collection.pairs import without_pairs
from bayeseval.messages import Message, Option
from bayeseval.trec.frames import as_pandas, checked_frame, described, with_our_names, without_index
from bayeseval.trec.lines import blocks
from bayeseval.trec.records import file_frame, json_values
from bayeseval.trec.sources import path_text, read_bytes
from bayeseval.whole_file import expanded_path

PAIR = ("topic", "document")


def excluded(collection: xr.DataTree, exclude: Any, depth: int | None) -> xr.DataTree:
    """Collection, read to any depth, without the pairs to exclude, and then cut at the depth.

    Later documents move up. ``exclude`` is a file, a DataFrame or ``{topic: [document]}``; None
    leaves the collection as it is. The attribute ``excluded`` counts the pairs that were there.
    """
    if exclude is None:
        return collection
    if "design" in collection.children:
        raise ValueError(
            "exclude goes with plain qrels; exclude documents before the sample is drawn"
        )
    listed, name = _listed(exclude)
    position = pair_positions(collection, listed["topic"], listed["document"])
    out = np.zeros(collection.sizes["pair"], dtype=bool)
    out[position[position >= 0]] = True
    if not out.any() and "judgments" in collection.children:
        topic, document = listed.iloc[0][list(PAIR)]
        alike = alike_document(collection, topic, document)
        warnings.warn(
            f"{name}: none of {len(listed)} documents to exclude is retrieved or judged, the first "
            f"is topic '{topic}' document '{document}'{alike}",
            stacklevel=3,
        )
    rest = without_pairs(collection, out, depth)
    rest.attrs["excluded"] = int(out.sum())
    return rest


def refuse_sampled(design: xr.Dataset, exclude: Any) -> None:
    """Refuse a design that may draw a document to exclude."""
    listed, _ = _listed(exclude)
    rows = pair_positions(design, listed["topic"], listed["document"])
    drawn = design["inclusion_probability"].to_numpy()[rows[rows >= 0]] > 0
    if drawn.any():
        topic, document = listed.loc[rows >= 0, list(PAIR)].iloc[int(np.argmax(drawn))]
        raise ValueError(
            Message(
                Option("exclude"),
                f" names document '{document}' of topic '{topic}', which the design may draw; draw "
                "the sample without the documents that do not count",
            )
        )


def _listed(exclude: Any) -> tuple[pd.DataFrame, str]:
    """Pairs to exclude (topic, document), and what they came from, for messages."""
    exclude = as_pandas(exclude)
    name = "exclude"
    if isinstance(exclude, str | os.PathLike):
        name = path_text(exclude)
        exclude = _of_file(expanded_path(exclude), name)
    if isinstance(exclude, Mapping):
        if any(
            isinstance(of, str | Mapping) or not isinstance(of, Iterable) for of in exclude.values()
        ):
            raise ValueError(f"{name} must be {{topic: [document, ...]}}")
        rows = [(topic, document) for topic, of in exclude.items() for document in of]
        exclude = pd.DataFrame(rows, columns=list(PAIR), dtype=object)
    if not isinstance(exclude, pd.DataFrame):
        raise TypeError(
            "exclude must be a path, a DataFrame (topic, document) or a dict {topic: [document]}, "
            f"not {described(exclude)}"
        )
    return checked_frame(with_our_names(without_index(exclude), PAIR), name, PAIR, ()), name


def _of_file(path: Path, name: str) -> pd.DataFrame | dict:
    """Pairs of a file: lines of two fields, a table with a header, or JSON."""
    data = read_bytes(path, "documents to exclude")
    if data.lstrip().startswith(b"{"):
        values = json_values(name, data.decode(errors="replace"))
        if len(values) == 1 and not set(PAIR) <= set(values[0]):
            return values[0]
    table = file_frame(name, data, "judgments")
    if table is not None:
        return table
    parts = list(blocks(name, data, "topic document"))
    for lines in parts:
        if (lines.count != 2).any():
            line = int(np.argmax(lines.count != 2))
            raise ValueError(
                f"{name}, line {lines.number[line]}: {lines.count[line]} fields where documents to "
                "exclude have 2 (topic document)"
            )
    columns = {own: [x for lines in parts for x in lines.texts(i)] for i, own in enumerate(PAIR)}
    return pd.DataFrame(columns, dtype=object)
