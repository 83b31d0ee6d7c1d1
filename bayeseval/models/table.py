"""What each model can do, by the name that its fits keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayeseval.models.identity import model_name
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.models.urn.tops import UrnDraws


@dataclass(frozen=True)
class ModelKind:
    """Row of the table of models."""

    # ``(fitted, sampled, random_seed)`` to draws of what is not judged
    draws: Callable[..., Any]
    # "documents" or "lists": whether a document has one relevance under a draw, whatever run shows
    # it, or each run's list is drawn by itself. Models of documents have a Laplace approximation.
    draws_of: str
    # variable of the judgments, which can be left out one by one; None where the likelihood is not
    # a product over them
    judgment: str | None
    # variables of one entry a run or topic that are standard normal before the data: others are
    # transformations of them, and say the same in units that mean something
    standard: tuple[str, ...]


MODELS = {
    "relevance_model": ModelKind(
        RelevanceDraws, "documents", "relevance", ("topic_tilt_deviation",)
    ),
    "grade_model": ModelKind(RelevanceDraws, "documents", "grade", ("topic_tilt_deviation",)),
    "urn_model": ModelKind(UrnDraws, "lists", None, ("run_deviation", "topic_deviation")),
}
DOCUMENT_MODELS = [name for name, row in MODELS.items() if row.draws_of == "documents"]


def kind_of_documents(model_or_fit) -> ModelKind:
    """Row of a model or of a fit that draws the relevance or the grades of single documents."""
    kind = kind_of(model_or_fit)
    if kind is None or kind.draws_of != "documents":
        raise ValueError(
            f"{model_name(model_or_fit) or 'another model'} predicts no single documents; models "
            f"that do: {', '.join(DOCUMENT_MODELS)}"
        )
    return kind


def kind_of(model_or_fit) -> ModelKind | None:
    """Row of a model or of a fit; None where it is none of this package's."""
    name = model_name(model_or_fit)
    return None if name is None else MODELS.get(name)
