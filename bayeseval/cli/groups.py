"""Options that several commands share, as one parameter of each command."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from bayeseval.cli import options as option
from bayeseval.whole_file import expanded_path


@dataclass(kw_only=True)
class Rankings:
    """How run files are read."""

    depth: option.Depth = None
    on_duplicate: option.OnDuplicate = "error"
    score_type: option.ScoreType = "float64"


@dataclass(kw_only=True)
class Judged:
    """How judgments are read and joined to runs."""

    qrels_format: option.QrelsFormat = "qrels"
    negative_grades: option.NegativeGrades = "unjudged"
    design: option.DesignRead = None
    labels: option.Labels = None


@dataclass(kw_only=True)
class Estimated:
    """How scores are estimated."""

    estimator: option.Estimator
    predictor: option.Predictor = None
    denominator: option.Denominator = None
    ci_prob: option.CiProb = 0.9
    outside: option.Outside = "nonrelevant"
    missing_topics: option.MissingTopics = "zero"
    relevance_level: option.RelevanceLevel = 1
    learn_from: option.LearnFrom = "design"


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
