"""What `evaluate`, `compare` and `rank` share: their files and options, checked and read."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from bayeseval.cli.data import DataTree
from bayeseval.cli.groups import Estimated, Judged, Rankings
from bayeseval.cli.output import check_outputs
from bayeseval.cli.reading import COMBINED, judged_collection, judged_files, label_files


def estimating(estimated: Estimated, judged: Judged) -> dict[str, Any]:
    """Options of ``be.evaluate``, less ``ci_prob``; of dyn where a model is combined with it."""
    from bayeseval.estimators import checked_options

    if estimated.estimator == COMBINED:
        _check_combined(estimated)
    elif estimated.learn_from != "design":
        raise ValueError(f"--learn-from goes with --estimator {COMBINED}, which fits a model")
    estimator = design_estimator(estimated.estimator)
    names = ("outside", "missing_topics", "relevance_level")
    own = {} if estimated.denominator is None else {"denominator": estimated.denominator}
    checked_options(estimator, own)
    predictor = chosen_predictor(estimated.predictor, estimator, judged.labels)
    options = {"estimator": estimator, "predictor": predictor}
    options |= {name: getattr(estimated, name) for name in names}
    return options | ({"estimator_options": own} if own else {})


def fitting(estimated: Estimated, seed: int) -> dict[str, Any]:
    """How a model that is combined with dyn is fitted."""
    return {"learn_from": estimated.learn_from, "random_seed": seed}


def learned_from(estimated: Estimated) -> dict[str, Any]:
    """What is told of the model, where there is one."""
    return {"learn_from": estimated.learn_from} if estimated.estimator == COMBINED else {}


def design_estimator(estimator: str) -> str:
    """The estimator itself, or the one that a model is combined with."""
    return "dyn" if estimator == COMBINED else estimator


def _check_combined(estimated: Estimated) -> None:
    """Refuse options that dyn has and the combination of dyn and a model has not."""
    known = {
        "outside": ("nonrelevant",),
        "missing_topics": ("zero",),
        "denominator": (None, "counts"),
    }
    for name, allowed in known.items():
        given = getattr(estimated, name)
        if given not in allowed:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} {given} does not go with --estimator combined; dyn has it")


def check_population(population: str | None, estimator: str) -> None:
    """Refuse a population of topics that an estimator has no errors for.

    These topics need a covariance of the design; design and model are combined for these alone.
    """
    from bayeseval.estimators import HAS_COVARIANCE

    if estimator == COMBINED:
        if population == "topics":
            raise ValueError(
                "--population topics: design and model are combined for these topics; --estimator "
                "dyn has the population that they represent"
            )
        return
    if population == "sample" and estimator not in HAS_COVARIANCE:
        raise ValueError(
            f"--population sample: estimator '{estimator}' has no design covariance; estimators "
            f"that have one: {', '.join(HAS_COVARIANCE)}"
        )


def read_judged(
    qrels: str,
    runs: list[str],
    judged: Judged,
    rankings: Rankings,
    output: Path | None,
    further: Path | None = None,
) -> DataTree:
    """Runs with their judgments and labels; an output that would replace one is refused.

    So is one that would replace a ``further`` file, which has been read.
    """
    read = judged_files(qrels, runs, judged)
    check_outputs({"--output": output}, read if further is None else [*read, further])
    return judged_collection(qrels, runs, judged, rankings)


def chosen_predictor(
    text: str | None, estimator: str, labels: list[str] | None
) -> str | tuple[str, str | float | list[str]] | None:
    """The name of a predictor, or ``constant:VALUE`` as a pair; with labels, what is made of them.

    Refused are a predictor that is not known, and labels that would have no effect.
    """
    from bayeseval.predictors.registry import PREDICTORS, needs_column

    if labels:
        return _of_labels(text, estimator, list(label_files(labels)))
    name, colon, value = (text or "").partition(":")
    if name == "constant" and colon:
        with suppress(ValueError):
            return name, float(value)
    ready = [name for name in PREDICTORS if not needs_column(name)]
    if text is None or text in ready:
        return text
    raise ValueError(
        f"--predictor must be {', '.join(ready)} or constant:VALUE with a value from 0 to 1, "
        f"not {text!r}"
    )


def _of_labels(text: str | None, estimator: str, judges: list[str]) -> tuple[str, str | list[str]]:
    """The predictor that a command with labels asks for."""
    from bayeseval.predictors.registry import PREDICTORS, reads_columns

    if estimator != "dyn":
        raise ValueError(
            f"--labels goes with --estimator dyn or combined; '{estimator}' learns from none"
        )
    if text == "external" and len(judges) == 1:
        return text, judges[0]
    learned = [name for name in PREDICTORS if reads_columns(name) and name != "external"]
    if text is None or text in learned:
        return text or "pooled", judges
    raise ValueError(
        f"--predictor with --labels must be {', '.join(learned)} (learned from the labels) or "
        f"external (one judge's labels as they are), not {text!r}"
    )
