"""Judgments and predictions by agreement of the runs

The documents are grouped by the number of runs that retrieved them.
"""

seen = be.inference.predicted_judgments(fitted, sampled, random_seed=1)
axes = be.plots.plot_judgments(seen, "agreement")
