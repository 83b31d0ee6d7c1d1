"""Which estimator is right on average?

Each point is the mean error of one run over thirty samples. `assumed` is too low for every run.
"""

import matplotlib.pyplot as plt

drawn = be.draw(order, budget=50, n_replicates=30, random_seed=1)
samples = be.reveal(complete, order, drawn)
for name in ("assumed", "stat", "dyn"):
    found = be.evaluate(samples, "P@10", estimator=name)["estimate"].mean("topic")
    error = (found - truth["estimate"]).mean("replicate").squeeze()
    plt.plot(error, [name] * error.sizes["run"], "o", alpha=0.5)
plt.axvline(0, color="grey", linestyle=":"), plt.xlabel("mean error of P@10")
