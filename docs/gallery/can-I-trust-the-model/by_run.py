"""Judgments and predictions by run

A run outside the grey band finds more or fewer relevant documents than the model expects of it.
"""

seen = be.inference.predicted_judgments(fitted, sampled, random_seed=1)
axes = be.plots.plot_judgments(seen, "runs")
