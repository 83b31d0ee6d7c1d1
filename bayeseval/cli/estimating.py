"""What `evaluate`, `compare` and `rank` share: their files and options, checked and read."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeseval.cli.groups import Estimated, Judged, Rankings
from bayeseval.cli.output import check_outputs
from bayeseval.cli.reading import judged_collection, judged_files, label_files

if TYPE_CHECKING:
    import xarray as xr

PREDICTORS = ("pooled", "rank_logistic", "constant")  # those that need no column


def estimating(estimated: Estimated, judged: Judged) -> dict[str, Any]:
    """Options of ``be.evaluate``, less ``ci_prob``."""
    names = ("estimator", "outside", "missing_topics", "relevance_level")
    judges = list(label_files(judged.labels))
    predictor = chosen_predictor(estimated.predictor, estimated.estimator, judges)
    return {name: getattr(estimated, name) for name in names} | {"predictor": predictor}


def read_judged(
    qrels: str, runs: list[str], judged: Judged, rankings: Rankings, output: Path | None
) -> "xr.DataTree":
    """Runs with their judgments and labels; an output that would replace one is refused."""
    check_outputs({"--output": output}, judged_files(qrels, runs, judged))
    return judged_collection(qrels, runs, judged, rankings)


def chosen_predictor(
    text: str | None, estimator: str, judges: Sequence[str] = ()
) -> str | tuple[str, str | float | list[str]] | None:
    """The name of a predictor, or ``constant:VALUE`` as a pair; with labels, what is made of them.

    Raises
    ------
    ValueError
        A predictor that is not known, or labels that would have no effect.
    """
    if judges:
        return _of_labels(text, estimator, list(judges))
    name, colon, value = (text or "").partition(":")
    if name == "constant" and colon:
        with suppress(ValueError):
            return name, float(value)
    elif text is None or text in PREDICTORS:
        return text
    raise ValueError(
        f"--predictor must be {', '.join(PREDICTORS)} or constant:VALUE with a value from 0 to 1, "
        f"not {text!r}"
    )


def _of_labels(text: str | None, estimator: str, judges: list[str]) -> tuple[str, str | list[str]]:
    """The predictor that a command with labels asks for."""
    if estimator != "dyn":
        raise ValueError(f"--labels goes with --estimator dyn; '{estimator}' learns from none")
    if text in (None, "pooled", "recalibrated"):
        return text or "pooled", judges
    if text == "external" and len(judges) == 1:
        return text, judges[0]
    raise ValueError(
        "--predictor with --labels must be pooled (learned beside the ranks), recalibrated "
        f"(learned without them) or external (one judge's labels as they are), not {text!r}"
    )
