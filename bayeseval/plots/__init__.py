"""Pictures of estimates and of orders of runs; matplotlib is imported when one is drawn.

Draws are drawn by ArviZ and take its ``backend`` and ``**pc_kwargs`` (``plot_scores``). The others
show what is given (intervals of several estimators in one row, sets and probabilities of ranks),
which ArviZ's plots would find from draws: they take and return matplotlib axes (``ax=``).
"""

from bayeseval.inference.judgment_plot import plot_judgments
from bayeseval.plots.combined import plot_combined
from bayeseval.plots.geometry import plot_bias_variance
from bayeseval.plots.intervals import plot_intervals
from bayeseval.plots.planned import plot_plan
from bayeseval.plots.rank_probabilities import plot_better, plot_rank_probabilities
from bayeseval.plots.rank_sets import plot_rank_sets
from bayeseval.plots.reliability import plot_reliability
from bayeseval.plots.scores import plot_scores
from bayeseval.plots.topics import plot_topics

__all__ = [
    "plot_better",
    "plot_bias_variance",
    "plot_combined",
    "plot_intervals",
    "plot_judgments",
    "plot_plan",
    "plot_rank_probabilities",
    "plot_rank_sets",
    "plot_reliability",
    "plot_scores",
    "plot_topics",
]
