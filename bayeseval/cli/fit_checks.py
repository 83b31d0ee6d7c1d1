"""What `bayeseval fit` refuses, before the minutes that a sampler takes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bayeseval.cli.output import STDOUT, check_outputs
from bayeseval.cli.remarks import cut_measures

if TYPE_CHECKING:
    import xarray as xr


FILES = ("fit.nc", "scores.csv", "scores.json")


def check_output(output: Path, ci_prob: float, inputs: list[Path]) -> None:
    """Refuse before the work what could only fail after it."""
    if output == STDOUT:
        raise ValueError("--output names a folder to write into, which - (stdout) is not")
    above = next(folder for folder in (output, *output.absolute().parents) if folder.exists())
    if not above.is_dir():
        raise ValueError(f"{above} is a file; --output names a folder to write into")
    if not os.access(above, os.W_OK):
        raise ValueError(f"the folder {above} cannot be written; name another --output")
    written = [output / name for name in FILES]
    drawn = sorted(output.glob("*.png"))
    there = [path for path in [*written, *drawn] if os.path.lexists(path)]
    check_outputs({f"--output ({path.name})": path for path in there}, inputs)
    if not 0 < ci_prob < 1:
        raise ValueError(f"--ci-prob must be between 0 and 1, not {ci_prob}")


def check_model(model: str, approximation: str | None, relevance_level: int) -> None:
    """Refuse options that the model lacks."""
    if relevance_level < 1:
        raise ValueError(f"--relevance-level must be 1 or more, not {relevance_level}")
    if approximation and model != "relevance":
        raise ValueError(f"--approximation {approximation} goes with --model relevance only")
    if model == "grades" and relevance_level != 1:
        raise ValueError(
            "--relevance-level does not go with --model grades: there a measure names its level, "
            f"such as P(rel={relevance_level})@10"
        )


def check_depths(model: str, pool_depth: int | None, depth: int | None) -> None:
    """Refuse an urn without its depth, or ranks of it that are not read."""
    if model != "urn":
        if pool_depth is not None:
            raise ValueError(f"--pool-depth goes with --model urn, not with --model {model}")
    elif pool_depth is None:
        raise ValueError(
            "--model urn needs --pool-depth, the number of ranks of every run that are judged"
        )
    elif depth is not None and pool_depth > depth:
        raise ValueError(
            f"--depth {depth} reads fewer ranks than the --pool-depth {pool_depth} that are judged"
        )


def check_frame(model: str, qrels_format: str, outside: str) -> None:
    """Refuse samples for an urn, and to count as non-relevant what may be left out by chance."""
    if model == "urn" and qrels_format != "qrels":
        raise ValueError(
            f"{qrels_format} holds a sample, and --model urn learns from judgments to a depth; "
            "choose --model relevance"
        )
    if model == "urn" and outside == "model":
        raise ValueError("--outside model does not go with --model urn: it draws retrieved ones")
    if qrels_format in ("prels", "probs") and outside == "nonrelevant":
        raise ValueError(
            f"{qrels_format} lists the sampled documents only, and the model would count all "
            "others as not relevant; let it speak of them with --outside model, or use evaluate"
        )


def check_level(collection: xr.DataTree, model: str, relevance_level: int) -> None:
    """Refuse a level that makes no document relevant, as a mistyped one does."""
    highest = int(collection["judgments/grade"].max(skipna=True).item())
    if model != "grades" and relevance_level > max(highest, 1):
        raise ValueError(
            f"no judged document has the grade --relevance-level {relevance_level} or more; the "
            f"highest is {highest}"
        )


def check_cut(collection: xr.DataTree, measures: list[str], depth: int | None) -> None:
    """Refuse to score ranks as empty that were only not read: a model exists to fill them."""
    deeper = cut_measures(collection, measures, depth)
    if deeper:
        raise ValueError(
            f"--depth {depth} is below the cutoff of {', '.join(deeper)}; read as many ranks of "
            "the runs, or more"
        )
