"""How well do labels and judgments agree?

A simulated LLM labels 80 % of the relevant documents as relevant, and 5 % of the others. The
sample of judgments shows how often the labels are right, with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

labels = be.trec.qrels_frame(complete)
chance = np.random.default_rng(1).random(len(labels))
labels["label"] = np.where(labels.pop("grade") > 0, chance < 0.8, chance < 0.05).astype(int)
labelled = be.add_predictions(sampled, "llm", labels)
found = be.label_agreement(labelled).sel(quantity=["kappa", "sensitivity", "specificity"])
low, high = found["interval"].transpose("ci_bound", ...).to_numpy()
plt.hlines(found["quantity"], low, high, linewidth=3)
plt.plot(found["estimate"], found["quantity"], "ko")
plt.xlabel("estimate and 90 % interval"), plt.xlim(0, 1)
