"""Runs that were made to mislead it

A dual run has the score of its original, but its relevant documents are not where other runs have
them. The model, which was not fitted to these runs, is sure and wrong. The combined interval
moves to that of the sample.
"""

copies = be.trec.runs_frame(be.dual_runs(complete, random_seed=1))
copies = copies[copies["run"].str.endswith("~dual")]
later = be.add_runs(sampled, copies)
later_dyn = be.scores(later, "P@10", estimator="dyn")
later_post = be.posterior_scores(fitted, later, "P@10", random_seed=1)
table = be.compare_intervals(later_dyn, be.summarize(later_post), be.combine(later_dyn, later_post))
axes = be.plots.plot_combined(table, "P@10", runs=sorted(copies["run"].unique())[:6])
