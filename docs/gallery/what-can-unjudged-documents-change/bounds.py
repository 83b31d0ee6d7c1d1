"""The lowest and the highest possible score

The pool has the first 10 documents of each run. Whatever the unjudged documents are, rank-biased
precision is within its bounds. Park's interval takes each of them as relevant with the same
probability; it is short, and often wrong.
"""

pool = be.designs.depth_pool(complete, pool_depth=10)
pooled = be.reveal(complete, pool, be.draw(pool))
bounds = be.residual.rbp_bounds(pooled, 0.95, over="topic")
bounds = bounds.assign(estimate=bounds["interval"].mean("ci_bound"))
bounds.attrs["ci_prob"] = 0.9  # as that of the other interval; the bounds are certain
park = be.residual.rbp_uncertainty(pooled, 0.95, 0.2, over="topic")
true = be.evaluate(complete, "RBP(p=0.95)", estimator="assumed")["estimate"].mean("topic")
axes = be.plots.plot_intervals({"bounds": bounds, "Park": park}, truth=true.squeeze())
