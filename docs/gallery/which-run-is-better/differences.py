"""How much better than a baseline?

Each run is compared with one baseline. An interval that does not reach 0 shows a difference.
"""

import matplotlib.pyplot as plt

baseline = dyn["run"].to_numpy()[0].item()
pairs = be.compare(sampled, "P@10", estimator="dyn", reference=baseline).squeeze()
pairs = pairs.sortby("estimate")
low, high = pairs["interval"].transpose("ci_bound", ...).to_numpy()
plt.hlines(pairs["run_a"], low, high, linewidth=3)
plt.plot(pairs["estimate"], pairs["run_a"], "ko")
plt.axvline(0, color="grey", linestyle=":")
plt.xlabel(f"P@10 less that of {baseline}, with 90% intervals")
