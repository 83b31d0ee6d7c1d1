"""What AP divides by under a model, beside what the counts of all topics say of it."""

import warnings
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.denominators import RatioOptions
from bayeseval.estimators.registry import ESTIMATORS, estimated_relevance
from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.frame.frame import Frame
from bayeseval.measures.measure import Measure

DENOMINATORS = ("counts", "model")
NOWHERE = np.full((1, 1), -1, dtype=np.int32)  # ranks that show nothing: counts are of the topic


class Denominators:
    r"""Expected numbers of relevant documents, the model's and that of the counts by precision.

    .. math:: E_t = (1 - w) E_{model} R_t + w E_{counts} R_t, \qquad
              w = \frac{V_{model} R_t}{V_{model} R_t + V_{counts} R_t}

    with :math:`R_t` the number of relevant documents of topic t, at least 1, and the posterior of
    the counts as the estimator ``dyn`` has it, which follows the topic's own sample by its design.

    Parameters
    ----------
    frame : Frame
        Of the model, of one sample.
    denominator : {"counts", "model"}
        "model" leaves every number as it is, and so do frames whose sample no such model can be
        made of: without a design, without probabilities, or where one topic alone has documents
        that were not judged.

    Attributes
    ----------
    used : {"counts", "model"}
        Whether any number has been moved so far.
    """

    def __init__(self, frame: Frame, denominator: str) -> None:
        self._frame = frame
        self._asked = denominator
        self.used = "model"

    def factor(self, topic: int, measure: Measure, value: NDArray) -> float:
        """Mean of the model's numbers by the expected one, where the measure divides by it; else 1.

        Parameters
        ----------
        topic : int
        measure : Measure
        value : array (pair, draw)
            Relevances of all documents of the topic's frame as the measure sees them.
        """
        if measure.name != "AP" or self._relevance is None:
            return 1.0
        counts = self._relevance.topic(topic, NOWHERE).counts(measure)
        if counts is None:
            return 1.0
        self.used = "counts"
        model = np.maximum(value.sum(axis=0, dtype=np.float64), 1.0)
        return float(model.mean() / _by_precision(model, np.maximum(counts.draw[0], 1.0)))

    @cached_property
    def _relevance(self) -> EstimatedRelevance | None:
        """What ``dyn`` knows of the sample; None where there is nothing to know."""
        collection = self._frame.collection
        schemes = ESTIMATORS["dyn"].schemes or ()
        known = "design" in collection.children and collection["design"].attrs["scheme"] in schemes
        if self._asked == "model" or not known or self._frame.lists_sampled_alone:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what matters to dyn's own estimates alone
            found = estimated_relevance(self._frame, "dyn", None, 0, RatioOptions())
            assert isinstance(found, EstimatedRelevance)
            found.prepare_counts()
        return found


def _by_precision(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean of two posteriors of one number, each by the inverse of its variance."""
    variances = one.var(), other.var()
    share = variances[0] / sum(variances) if sum(variances) > 0 else 0.0
    return float((1.0 - share) * one.mean() + share * other.mean())
