"""On which topics is a run good?

The interval of a single topic is long, because 40 documents of it are judged. The mean over the
topics is known much better.
"""

by_topic = be.evaluate(sampled, "P@10", estimator="dyn")
true_by_topic = be.evaluate(complete, "P@10", estimator="assumed")
best = dyn["estimate"].sel(measure="P@10").idxmax().item()
axes = be.plots.plot_topics({"dyn": by_topic}, run=best, truth=true_by_topic)
