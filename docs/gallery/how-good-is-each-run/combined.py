"""By the sample and a model together

The combined intervals are shorter than those of the sample. Where a run is probably unlike the
model, its name is red and its interval follows the sample.
"""

table = be.compare_intervals(dyn, be.summarize(post), combined)
axes = be.plots.plot_combined(table, "P@10")
