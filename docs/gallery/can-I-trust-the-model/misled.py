"""Runs that were made to mislead it

A dual run has the score of its original, but its relevant documents are not where other runs have
them. The model was not fitted to such runs, so its interval may be too short. The combined interval
is longer where sample and model disagree.
"""

both = be.dual_runs(complete, random_seed=1)
known = be.evaluate(both, "P@10", estimator="assumed")["estimate"].mean("topic")
copies = be.trec.runs_frame(both)
copies = copies[copies["run"].str.endswith("~dual")]
later = be.add_runs(sampled, copies)
design = be.scores(later, "P@10", estimator="dyn")
draws = be.posterior_scores(fitted, later, "P@10", random_seed=1)
answer = be.combine(design, draws)
table = be.compare_intervals(design, be.summarize(draws), answer, truth=known)
axes = be.plots.plot_combined(table, "P@10", runs=sorted(copies["run"].unique())[:6])
