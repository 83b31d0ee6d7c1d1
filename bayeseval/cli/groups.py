"""Options that several commands share, as one parameter of each command."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from bayeseval.cli.options import (
    CiProb,
    Denominator,
    Depth,
    DesignRead,
    Estimator,
    Labels,
    MissingTopics,
    NegativeGrades,
    OnDuplicate,
    Outside,
    Predictor,
    QrelsFormat,
    RelevanceLevel,
    ScoreType,
)
from bayeseval.whole_file import expanded_path


@dataclass(kw_only=True)
class Rankings:
    """How run files are read."""

    depth: Depth = None
    on_duplicate: OnDuplicate = "error"
    score_type: ScoreType = "float64"


@dataclass(kw_only=True)
class Judged:
    """How judgments are read and joined to runs."""

    qrels_format: QrelsFormat = "qrels"
    negative_grades: NegativeGrades = "unjudged"
    design: DesignRead = None
    labels: Labels = None


@dataclass(kw_only=True)
class Estimated:
    """How scores are estimated."""

    estimator: Estimator
    predictor: Predictor = None
    denominator: Denominator = None
    ci_prob: CiProb = 0.9
    outside: Outside = "nonrelevant"
    missing_topics: MissingTopics = "zero"
    relevance_level: RelevanceLevel = 1


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of its groups one by one, as typer reads signatures.

    A ~ at the beginning of a path that the shell did not expand is the home folder.
    """
    own = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in own.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def flat(**given) -> None:
        for name, value in given.items():
            given[name] = expanded_path(value) if isinstance(value, Path) else value
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    listed = []
    for name, parameter in own.parameters.items():
        group = inspect.signature(groups[name], eval_str=True) if name in groups else None
        listed += [parameter] if group is None else group.parameters.values()
    listed = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in listed]
    flat.__signature__ = own.replace(parameters=listed)  # pyright: ignore
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return flat
