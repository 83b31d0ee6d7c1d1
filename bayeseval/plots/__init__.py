"""Plots of estimates and of orders of runs; matplotlib is imported at the first plot.

``plot_scores`` shows posterior draws with ArviZ and takes its ``backend`` and ``**pc_kwargs``. The
others show given estimates with intervals, sets and probabilities of ranks: they take and return
matplotlib axes (``ax=``).
"""

from bayeseval.inference.pictures import plot_judgments
from bayeseval.plots.combined import plot_combined
from bayeseval.plots.geometry import plot_bias_variance
from bayeseval.plots.intervals import plot_intervals, plot_topics
from bayeseval.plots.planned import plot_plan
from bayeseval.plots.ranks import plot_better, plot_rank_probabilities, plot_rank_sets
from bayeseval.plots.reliability import plot_reliability
from bayeseval.plots.scores import plot_scores
from bayeseval.plots.watched import plot_watched

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
    "plot_watched",
]
