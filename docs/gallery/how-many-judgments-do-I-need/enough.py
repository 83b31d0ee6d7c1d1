"""How many more judgments?

Each bar says about how many more documents per topic are needed until the half-width of the
interval is 0.03.
"""

wanted = be.scores(sampled, "P@10", estimator="dyn", half_width=0.03)
more = wanted["more_judgments"].squeeze().to_series().sort_values()
axes = more.plot.barh(xlabel="more judgments per topic, for a half-width of 0.03")
