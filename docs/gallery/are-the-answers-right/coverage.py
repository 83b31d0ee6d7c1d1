"""Do the intervals contain the truth?

Thirty samples are drawn, and each gives an interval for the same run. About nine in ten should
contain the true score, which is the dashed line. Those that do not are red.
"""

import matplotlib.pyplot as plt

drawn = be.draw(order, budget=50, n_replicates=30, random_seed=1)
scores = be.evaluate(be.reveal(complete, order, drawn), "P@10", estimator="dyn")
interval = be.mean_over_topics(scores)["interval"].isel(run=0).squeeze()
low, high = interval.transpose("ci_bound", ...).to_numpy()
true = truth["estimate"].isel(run=0).item()
colours = ["C0" if a <= true <= b else "red" for a, b in zip(low, high, strict=True)]
plt.vlines(range(30), low, high, colors=colours, linewidth=3)
plt.axhline(true, color="black", linestyle="--")
plt.xlabel("sample"), plt.ylabel("90% interval of P@10")
