"""One call for each question: scores with intervals, differences of runs, their ranks."""

from bayeseval.answers.comparison import compare
from bayeseval.answers.ranking import rank
from bayeseval.answers.scoring import default_estimator, scores

__all__ = ["compare", "default_estimator", "rank", "scores"]
