"""What each model can do, by the name that its fits keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayeseval.models.identity import model_name
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.models.urn.draws import UrnDraws


@dataclass(frozen=True)
class ModelKind:
    """Row of the table of models."""

    # ``(fitted, sampled, random_seed)`` to draws of what the judgments did not say, of documents a
    # ``RelevanceDraws`` or a class that is made of it; None where the model draws no documents, and
    # ``posterior_scores`` cannot score runs by it
    draws: Callable[..., Any] | None
    # {"documents", "lists", "counts"}: whether a document has one relevance under a draw, whatever
    # run shows it, or each run's list is drawn by itself, or there are numbers of documents alone
    draws_of: str
    # variable whose entries (a judgment each, or a count) can be left out one by one; None where
    # the likelihood is not a product over them
    judgment: str | None
    laplace: bool = False  # whether it has an approximation, by that name
    # variables of one entry a run or topic that are standard normal before the data: others are
    # made of them, and say the same in units that mean something
    standard: tuple[str, ...] = ()
    likelihood: str = ""  # what the likelihood is where it is not a product over judgments


TILT = ("topic_tilt_deviation",)
MODELS = {
    "relevance_model": ModelKind(RelevanceDraws, "documents", "relevance", True, TILT),
    "grade_model": ModelKind(RelevanceDraws, "documents", "grade", True, TILT),
    "count_model": ModelKind(None, "counts", "relevant"),
    "urn_model": ModelKind(
        UrnDraws,
        "lists",
        None,
        standard=("run_deviation", "topic_deviation"),
        likelihood="a composite likelihood, of weighted lists that share documents",
    ),
}


def kind_of_documents(model_or_fit) -> ModelKind:
    """Row of a model or of a fit that draws the relevance or the grades of single documents."""
    kind = kind_of(model_or_fit)
    if kind is None or kind.draws_of != "documents":
        able = ", ".join(name for name, other in MODELS.items() if other.draws_of == "documents")
        raise ValueError(
            f"{model_name(model_or_fit) or 'another model'} predicts no single documents; models "
            f"that do: {able}"
        )
    return kind


def kind_of(model_or_fit) -> ModelKind | None:
    """Row of a model or of a fit; None where it is none of this package's."""
    name = model_name(model_or_fit)
    return None if name is None else MODELS.get(name)
