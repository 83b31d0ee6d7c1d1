"""What `bayeseval fit --model` offers: a row for each model, and the options that it lacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import bayeseval as be


@dataclass(frozen=True)
class FittedModel:
    """Row of the table of models that ``fit`` offers.

    ``says`` is what it models, beside its name in the help of ``--model``; ``make`` takes
    ``(collection, judges, relevance_level, depth, runs)`` to the model, with the runs that it
    learns from, or None; ``lacks`` has the options that it
    does not take, and why; ``needs`` those without which there is no such model, and what they are.
    """

    says: str
    make: Callable[..., Any]
    lacks: dict[str, str]
    needs: dict[str, str] = field(default_factory=dict)


ANY_DEPTH = "it learns from whatever documents are judged"
SAMPLED = "only the sampler fits it"
MODELS = {
    "relevance": FittedModel(
        "grades from --relevance-level on",
        lambda collection, judges, level, depth, runs: be.models.relevance_model(
            collection, external=judges, relevance_level=level, runs=runs
        ),
        lacks={"--pool-depth": ANY_DEPTH},
    ),
    "grades": FittedModel(
        "all of them, for nDCG",
        lambda collection, judges, level, depth, runs: be.models.grade_model(
            collection, external=judges, runs=runs
        ),
        lacks={
            "--pool-depth": ANY_DEPTH,
            "--relevance-level": "there a measure names its level, such as P(rel=2)@10",
        },
    ),
    "urn": FittedModel(
        "how runs judged to --pool-depth draw their documents, for P@k and RBP",
        lambda collection, judges, level, depth, runs: be.models.urn_model(
            collection, depth=depth, frame="retrieved", relevance_level=level
        ),
        lacks={
            "--labels": "it tells no documents apart",
            "--approximation": SAMPLED,
            "--qrels-format": "it learns from plain qrels, judged to a depth, and from no sample",
            "--outside model": "it draws retrieved documents",
            "--learn-from": "it models each run by itself",
        },
        needs={"--pool-depth": "the number of ranks of every run that are judged"},
    ),
}


def taking(option: str) -> str:
    """Names of the models that take an option.

    Examples
    --------
    >>> taking("--labels")
    'relevance or grades'
    """
    return " or ".join(name for name in MODELS if takes(name, option))


def takes(model: str, option: str) -> bool:
    """Whether a model takes an option."""
    return option not in MODELS[model].lacks


def check_options(model: str, given: Mapping[str, Any]) -> None:
    """Refuse options that the model lacks, and a request without those that it needs."""
    row = MODELS[model]
    for option, why in row.lacks.items():
        if given[option]:
            raise ValueError(
                f"{option} goes with --model {taking(option)}, not with --model {model}: {why}"
            )
    for option, what in row.needs.items():
        if not given[option]:
            raise ValueError(f"--model {model} needs {option}, {what}")
