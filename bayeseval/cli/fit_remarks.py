"""What `bayeseval fit` says on the way: what it learns from, and what speaks against the scores."""

from pathlib import Path

import bayeseval as be
from bayeseval.cli.data import Dataset
from bayeseval.cli.output import remark
from bayeseval.cli.remarks import outside_shares, remark_late
from bayeseval.messages import counted

EXACT = 1e-9  # standard errors below are rounding


def remark_learning(collection, made, depth, pool_depth: int | None, outside: str) -> None:
    """Say what the model learns from: pools of the urn's lists, or documents; what it speaks of."""
    learned = counted(len(made.coords["run"]), "run")
    if pool_depth is not None:
        remark(f"the model learns from the first {pool_depth} ranks of {learned}")
        remark(
            "each run is modelled by itself: use the scores, not differences between runs; with "
            "few runs in the pool, scores deeper than the pool are too low"
        )
        if collection.attrs["runs_cut"]:
            remark(
                f"the urns hold what the runs retrieved at their first {depth} ranks (--depth); a "
                "deeper look changes the scores"
            )
        return
    judged = counted(len(made.coords["judged_pair"]), "judged document")
    remark(f"the model learns from {judged} and the ranks of {learned}")
    remark_late(collection.sizes["run"] - len(made.coords["run"]))
    if "design" not in collection.children:
        fate = "count as not relevant" if outside == "nonrelevant" else "are left to the model"
        remark(
            f"no design: the judged documents are the frame, and all others {fate}; judgments of "
            "a random sample need its --design"
        )


def remark_filled(rehearsed: Dataset | None) -> None:
    """Say before minutes of sampling that the urns have no rank to fill."""
    weight = None if rehearsed is None else rehearsed.get("filled_weight")
    if weight is not None and not weight.any():
        remark(
            "every document that counts is judged or outside the urns: nothing is left to draw, "
            "and evaluate --estimator assumed gives the same scores at once"
        )


def remark_fit(summary, found, right, output: Path) -> None:
    """What speaks against the scores: documents outside, errors, the sampler, the judgments."""
    shares = outside_shares(summary["outside_weight"])
    largest = float(summary["standard_error"].max())
    if shares:
        remark(f"weight on documents outside the frame, mean over runs: {shares}")
    elif largest < EXACT:
        remark("every document that counts is judged: scores are exact, and no model was needed")
    if "model_errors" in summary.attrs and largest >= EXACT:
        remark(
            "intervals include the errors that such models made on other collections "
            "(--posterior-only leaves them out)"
        )
    _remark_verdict(found, output)
    _remark_judgments(right)


def _remark_verdict(found: Dataset | None, output: Path) -> None:
    """Say what the sampler's checks gave, and what to do where they failed."""
    if found is None:
        remark("a Laplace approximation has no sampler to check; use it for a quick look")
        return
    text = be.inference.verdict_text(found)
    if found["passed"].all():
        remark(f"the sampler passed: {text}")
    else:
        remark(
            f"warning: the sampler did not pass its checks, and the scores may be wrong: {text}; "
            f"take more --draws and --tune, and look at the plots in {output}"
        )


def _remark_judgments(judged: Dataset | None) -> None:
    """Say whether the judgments are as the model predicts them, and what to do where not."""
    if judged is None:
        return
    text = be.inference.verdict_text(judged)
    if judged["passed"].all():
        remark(
            "the judgments agree with the model's predictions; largest standardised differences by "
            f"kind: {text}"
        )
    else:
        remark(
            "warning: the judgments contradict the model's predictions: its scores may be wrong, "
            f"and combined intervals too short: {text}; compare them with evaluate --estimator dyn"
        )
