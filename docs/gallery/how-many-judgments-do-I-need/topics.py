"""How many topics?

All documents of 25 topics are judged here. The line says how large a difference between two runs
must be for more topics to show it in four cases of five.
"""

scores = be.evaluate(complete, "P@10", estimator="assumed")
planned = be.plan(scores, n_topics=[25, 50, 100, 200, 400])
seen = planned["detectable"].squeeze().to_series()
axes = seen.plot(marker="o", xlabel="topics", ylabel="difference in P@10 that can be seen")
axes.set_ylim(0)
