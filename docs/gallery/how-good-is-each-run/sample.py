"""By the sample alone

The estimator `dyn` has an interval for each run. The ticks are the true scores, which are known
here because the collection is simulated.
"""

axes = be.plots.plot_intervals({"dyn": dyn}, "P@10", truth=truth)
