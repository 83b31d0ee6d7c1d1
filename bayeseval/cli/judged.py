"""The collection that a command works on: runs and judgments, joined by a design if any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bayeseval as be

if TYPE_CHECKING:
    import xarray as xr


def input_files(
    judgments: list[str | None], runs: list[str], others: list[Path | None]
) -> list[Path]:
    """Files that a command reads: those of judgments and runs, some behind globs."""
    from bayeseval.trec.sources import expanded

    named = [path for path in judgments if path is not None]
    found = [*(expanded(named, "judgments") if named else []), *expanded(runs, "run")]
    paths = [path for path in found if isinstance(path, Path)]
    return paths + [path for path in others if path is not None]


def check_measures(measures: list[str], relevance_level: int) -> None:
    """Refuse what is no measure before files are read."""
    from bayeseval.measures.names import parse_measures

    parse_measures(measures, relevance_level=relevance_level)


def judged_collection(qrels: str, runs: list[str], design: Path | None, **options) -> xr.DataTree:
    """Runs with their judgments, those of a design joined to it."""
    if design is not None and options["qrels_format"] != "qrels":
        raise ValueError("--design goes with plain qrels; the other formats bring their own design")
    try:
        if design is None:
            return be.read_collection(qrels, runs, **options)
        collection = be.read_collection(None, runs, **options)
        return be.attach_judgments(collection, be.read_design(design), qrels)
    except ValueError as error:
        if " fields where " not in str(error):
            raise
        text = str(error).rstrip(".")
        raise ValueError(f"{text} (the order is QRELS RUN...: judgments first)") from error
