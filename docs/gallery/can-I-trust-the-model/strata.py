"""Judgments and predictions by stratum

To the right the judgments found more relevant documents than the model expects. All rows lie in
the grey band where the model is right.
"""

seen = be.inference.predicted_judgments(fitted, sampled, random_seed=1)
axes = be.plots.plot_judgments(seen, "strata")
