"""What `bayeseval fit` says of its model, its scores and its sampler, on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bayeseval as be
from bayeseval.cli.output import remark
from bayeseval.cli.remarks import outside_shares
from bayeseval.cli.wording import counted

if TYPE_CHECKING:
    import xarray as xr


EXACT = 1e-9  # standard errors below are rounding


def remark_urn(collection: xr.DataTree, made, depth: int | None, pool_depth: int) -> None:
    """Say what the urn learns from, and what its scores are not."""
    learned = counted(len(made.coords["run"]), "run")
    remark(f"the model learns from the first {pool_depth} ranks of {learned}")
    remark(
        "runs are drawn one by one: scores of each run, not differences of two, are meant; with "
        "few runs in the pool intervals below it are too narrow and too low"
    )
    if collection.attrs["runs_cut"]:
        remark(
            f"the urns hold what the runs retrieved at their first {depth} ranks (--depth); a "
            "deeper look changes the scores"
        )


def remark_frame(collection: xr.DataTree, made, outside: str) -> None:
    """Say what the model learns from, and what it speaks of."""
    judged, learned = len(made.coords["judged_pair"]), len(made.coords["run"])
    learning = f"{counted(judged, 'judged document')} and the ranks of {counted(learned, 'run')}"
    remark(f"the model learns from {learning}")
    if "design" not in collection.children:
        fate = "count as not relevant" if outside == "nonrelevant" else "are left to the model"
        remark(
            f"no design: the judged documents are the frame, and all others {fate}; judgments of "
            "a random sample need its --design"
        )


def remark_outside_weight(summary: xr.Dataset) -> None:
    """Say how much of each measure fell on documents that the model does not speak of."""
    shares = outside_shares(summary["outside_weight"])
    if shares:
        remark(f"weight on documents outside the frame, mean over runs: {shares}")
    if float(summary["standard_error"].max()) >= EXACT:
        return
    if not shares:
        remark("every document that counts is judged: scores are exact, and no model was needed")
        return
    remark(
        "warning: every document that the model speaks of is judged, so it changed nothing: the "
        "weight above counts as not relevant; for judgments of a sample give its --design, for "
        "those of a pool take --model urn, or --outside model"
    )


def remark_verdict(found: xr.Dataset | None, output: Path) -> None:
    """Say what the sampler's checks gave, and what to do where they failed."""
    if found is None:
        remark("a Laplace approximation has no verdict; it is for a quick look")
        return
    text = be.inference.verdict_text(found)
    if found["passed"].all():
        remark(f"the sampler passed: {text}")
    else:
        remark(
            f"warning: the sampler did not pass, and the scores may be off: {text}; "
            f"take more --draws and --tune, and look at the plots in {output}"
        )
