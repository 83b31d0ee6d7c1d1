"""Runs that were not there when the sample was drawn

`dyn` scores them by the same judgments. Their intervals are mostly longer, because fewer of their
documents were likely to be judged.
"""

names = late_runs[4::6]
frame = be.trec.runs_frame(be.select(whole, topics=topics, runs=names))
later_dyn = be.scores(be.add_runs(sampled, frame), "P@10", estimator="dyn")
known = be.select(whole, topics=topics, runs=names)
later_truth = be.evaluate(known, "P@10", estimator="assumed")["estimate"].mean("topic")
axes = be.plots.plot_intervals({"dyn": later_dyn}, "P@10", runs=names, truth=later_truth)
