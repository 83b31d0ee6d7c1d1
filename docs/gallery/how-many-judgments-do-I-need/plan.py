"""A plan from a pilot

The sample serves as a pilot. The lines say how long the intervals will be for other numbers of
judgments and of topics.
"""

numbers = {"budgets": [25, 100], "n_topics": [25, 100]}
planned = be.plan(sampled, "P@10", **numbers, fitted=fitted, random_seed=1)
axes = be.plots.plot_plan(planned)
