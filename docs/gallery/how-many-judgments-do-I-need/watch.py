"""Watching while the list is judged

With `anytime=True` the intervals hold at every look, so that you may stop as soon as the answer
is clear. The dotted lines are the intervals of a single look.
"""

looks = {}
for budget in (20, 30, 40, 60, 80):
    judged = be.reveal(complete, order, be.draw(order, budget=budget))
    looks[budget] = be.scores(judged, "P@10", estimator="dyn", anytime=True)
best = dyn["estimate"].squeeze().to_series().nlargest(2).index.tolist()
axes = be.plots.plot_watched(looks, "P@10", runs=best, truth=truth)
