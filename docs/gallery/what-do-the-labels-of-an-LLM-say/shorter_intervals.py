"""Labels make the intervals shorter

With labels of a fair LLM `dyn` has shorter intervals from the same judgments. The labels are not
believed: the judgments correct them.
"""

import numpy as np

labels = be.trec.qrels_frame(complete)
chance = np.random.default_rng(1).random(len(labels))
labels["label"] = np.where(labels.pop("grade") > 0, chance < 0.8, chance < 0.05).astype(int)
labelled = be.add_predictions(sampled, "llm", labels)
with_labels = be.scores(labelled, "P@10", estimator="dyn", labels="llm")
means = {"judgments alone": dyn, "with labels": with_labels}
axes = be.plots.plot_intervals(means, "P@10", truth=truth)
