"""A bad judge does no harm

These labels are random. Taken as judgments they give every run the same wrong score. With the
sample of judgments the scores are right, and the intervals are as long as without labels.
"""

import numpy as np

labels = be.trec.qrels_frame(complete)
labels["grade"] = (np.random.default_rng(1).random(len(labels)) < 0.3).astype(int)
alone = be.read_collection(labels, be.trec.runs_frame(complete))
labelled = be.add_predictions(sampled, "llm", labels.rename(columns={"grade": "label"}))
means = {
    "labels taken as judgments": be.scores(alone, "P@10", estimator="assumed"),
    "judgments and labels": be.scores(labelled, "P@10", estimator="dyn", labels="llm"),
}
axes = be.plots.plot_intervals(means, "P@10", truth=truth)
