"""By the model alone

The lines hold 90 % of the posterior draws of each score.
"""

forest = be.plots.plot_scores(post, "P@10", backend="matplotlib")
