"""What a ratio is divided by under a model, brought to what the sample says of it by its design."""

import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.estimators.denominators import RatioOptions
from bayeseval.estimators.registry import ESTIMATORS, estimated_relevance
from bayeseval.estimators.relevance import EstimatedRelevance
from bayeseval.frame.frame import Frame
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.table import MEASURES

DENOMINATORS = ("counts", "model")
NOWHERE = np.full((1, 1), -1, dtype=np.int32)  # ranks that show nothing: counts are of the topic


class Denominators:
    """Expected denominators of AP, nDCG and R@k on every topic, as the estimator ``dyn`` has them.

    Parameters
    ----------
    relevance : EstimatedRelevance or None
        None leaves every denominator as the model has it.
    scale : tuple of float
        Grades that an assessor may give.
    """

    def __init__(self, relevance: EstimatedRelevance | None, scale: tuple[float, ...]) -> None:
        self._relevance = relevance
        self._scale = np.array(scale)

    @classmethod
    def of(cls, sampled: xr.DataTree, denominator: str) -> "Denominators":
        """Those of a sample; the model's own where that is asked for, or no design tells others."""
        schemes = ESTIMATORS["dyn"].schemes or ()
        known = "design" in sampled.children and sampled["design"].attrs["scheme"] in schemes
        frame = Frame.drawn_from(sampled) if known else Frame.of(sampled)
        if denominator == "model" or not known or frame.lists_sampled_alone:
            return cls(None, frame.scale)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what matters to dyn's own estimates alone
            found = estimated_relevance(frame, "dyn", None, 0, RatioOptions())
        assert isinstance(found, EstimatedRelevance)
        return cls(found, frame.scale)

    def factor(self, topic: int, measure: Measure, whole: NDArray) -> float:
        """Mean of the model's denominators by what is expected of the sample; 1 for no ratio.

        Parameters
        ----------
        topic : int
        measure : Measure
        whole : array (pair, draw)
            Relevances of all documents of the topic as the measure sees them.
        """
        denominator = MEASURES[measure.name].denominator
        if self._relevance is None or denominator is None:
            return 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts = self._relevance.topic(topic, NOWHERE).counts(measure)
        if counts is None:
            return 1.0
        seen = relevance(measure, self._scale)
        least = float(seen[seen > 0].min(initial=1.0)) if measure.graded else 1.0
        drawn = np.maximum(denominator(measure, whole), least).mean()
        return float(drawn / np.maximum(counts.draw, least).mean())
