"""JSON in the shapes in which search engines' tools and MTEB write judgments and rankings."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from bayeseval.messages import some_of
from bayeseval.trec.frames import of_dict

META = "mteb_model_meta"
_TOPIC = ("query", "name", "id", "description")
_DOCUMENT = ("docId", "doc_id", "docid", "_id")


def exported(name: str, value: Any, kind: str) -> pd.DataFrame | None:
    """Table of judgments of OpenSearch, Elasticsearch or RRE, or of a run of MTEB; else None.

    The first two have lists of ``{"query": ..., "ratings": [{"docId": ..., "rating": ...}]}``
    (Elasticsearch's requests ``id`` and ``_id``), RRE objects with ``relevant_documents``, in
    which a document has a gain, or a gain has documents. Topics are queries, those of RRE's
    groups the group. Of MTEB a file holds one run, of one data set.

    Examples
    --------
    >>> rated = {"queries": [{"query": "x", "relevant_documents": {"2": ["a"]}}]}
    >>> exported("f", rated, "judgments")
      topic document grade
    0     x        a     2
    """
    if kind == "run":
        return _of_mteb(name, value) if isinstance(value, Mapping) and META in value else None
    rows = list(_rated(name, value))
    return (
        pd.DataFrame(rows, columns=["topic", "document", "grade"], dtype=object) if rows else None
    )


def _rated(name: str, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Topic, document and grade of everything that is rated, however deep it stands."""
    if isinstance(value, list):
        for part in value:
            yield from _rated(name, part)
    elif isinstance(value, Mapping):
        ratings, relevant = value.get("ratings"), value.get("relevant_documents")
        if isinstance(ratings, list):
            for rating in ratings:
                yield _topic(name, value), _first(name, rating, _DOCUMENT), rating.get("rating")
        elif isinstance(relevant, Mapping):
            for key, rated in relevant.items():
                if isinstance(rated, list):  # documents of this gain
                    yield from ((_topic(name, value), document, key) for document in rated)
                else:
                    grade = rated.get("gain") if isinstance(rated, Mapping) else rated
                    yield _topic(name, value), key, grade
        else:
            for part in value.values():
                yield from _rated(name, part)


def _topic(name: str, value: Mapping) -> str:
    return str(_first(name, value, _TOPIC))


def _first(name: str, value: Any, names: tuple[str, ...]) -> Any:
    """Value of the first of some names that is there."""
    found = next((one for one in names if isinstance(value, Mapping) and one in value), None)
    if found is None:
        raise ValueError(
            f"{name}: every rated entry needs one of the keys {', '.join(names)}: {value}"
        )
    return value[found]


def _of_mteb(name: str, value: Mapping) -> pd.DataFrame:
    """Run of MTEB's predictions ``{subset: {split: {topic: {document: score}}}}``, of one split."""
    splits = {
        f"{subset}/{split}": table
        for subset, of_subset in value.items()
        if subset != META and isinstance(of_subset, Mapping)
        for split, table in of_subset.items()
    }
    if len(splits) != 1:
        raise ValueError(
            f"{name} must hold predictions for one split, and holds "
            f"{some_of(list(splits), 5) or 'none'}; give each as a run, as a dict in Python"
        )
    table = of_dict(next(iter(splits.values())), "run")
    model = value[META].get("model_name") if isinstance(value[META], Mapping) else None
    return table.assign(run=model) if model else table.drop(columns="run")
