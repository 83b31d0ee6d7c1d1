"""Two runs on every topic

All documents are judged here, so that only the topics are a sample. The bars are the differences
of the two best runs, topic by topic, and the title has the interval of the mean difference.
"""

best = truth["estimate"].squeeze().to_series().nlargest(2).index.tolist()
two = be.select(complete, topics=topics, runs=best)
scores = be.evaluate(two, "P@10", estimator="assumed")["estimate"].squeeze()
difference = (scores.sel(run=best[0]) - scores.sel(run=best[1])).to_series().sort_values()
axes = difference.plot.bar(ylabel=f"P@10 of {best[0]} less that of {best[1]}")
pair = be.compare(two, "P@10", estimator="assumed", reference=best[1]).squeeze()
low, high = pair["interval"].to_numpy()
axes.set_title(f"mean difference: {low:.3f} to {high:.3f}")
