"""The probability of every rank

A row that is flat belongs to a run whose rank these judgments do not show.
"""

ranks = be.rankings.rank_probabilities(combined)
axes = be.plots.plot_rank_probabilities(ranks)
