"""What the usual practice gives

`assumed` counts every unjudged document as not relevant. Its scores are too low, and it has no
error bar. `stat` and `dyn` use how the sample was drawn, so they are right on average.
"""

estimators = ["assumed", "stat", "dyn"]
means = {
    name: be.mean_over_topics(be.evaluate(sampled, "P@10", estimator=name)) for name in estimators
}
axes = be.plots.plot_intervals(means, "P@10", truth=truth)
