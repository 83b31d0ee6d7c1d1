"""Bias and variance of a ranking

How far do the rankings of the runs move from those of complete judgments? The distance from the
origin is the RMS error, which has a bias (to the right) and a standard deviation (upwards).
"""

gold = be.evaluate(complete, "P@10", estimator="assumed")["estimate"].squeeze()
drawn = be.draw(order, budget=50, n_replicates=10, random_seed=1)
samples = be.reveal(complete, order, drawn)
geometries = {}
for name in ("assumed", "stat", "dyn"):
    table = be.evaluate(samples, "P@10", estimator=name)["estimate"].squeeze()
    geometries[name] = be.rankings.bias_variance(table, gold, n_boot=200, random_seed=1)
axes = be.plots.plot_bias_variance(geometries)
