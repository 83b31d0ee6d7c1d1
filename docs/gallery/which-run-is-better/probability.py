"""The probability that one run is better than another

The run of the row is better than the run of the column with the probability in the cell.
"""

ranks = be.rankings.rank_probabilities(combined)
axes = be.plots.plot_better(ranks)
