"""A plan from a pilot

Ten of the topics serve as a pilot. The lines say how long the intervals will be for other numbers
of judgments and of topics.
"""

pilot = be.select(sampled, topics=topics[:10], runs=complete["run"].to_numpy().tolist())
numbers = {"budget": [25, 50, 100], "n_topics": [25, 100]}
planned = be.plan(pilot, "P@10", **numbers, random_seed=1)
axes = be.plots.plot_plan(planned)
