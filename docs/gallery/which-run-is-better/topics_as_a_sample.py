"""Would other topics give the same answer?

The first interval of each run is about these 25 topics. The second one takes the topics as a
random sample of all topics that there could be.
"""

scores = be.evaluate(sampled, "P@10", estimator="dyn")
means = {
    "these topics": be.mean_over_topics(scores, population="sample"),
    "all topics": be.mean_over_topics(scores, population="topics"),
}
axes = be.plots.plot_intervals(means, "P@10")
