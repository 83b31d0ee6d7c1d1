"""Which design has the smaller error?

Twenty samples of 50 judgments per topic are drawn by each design. Each point is the RMS error of
one run.
"""

import matplotlib.pyplot as plt

designs = {
    "order": be.designs.order(complete, measures="P@10", budget=50, random_seed=1),
    "pps_strata": be.designs.pps_strata(complete, budget=50),
    "uniform_strata": be.designs.uniform_strata(complete, budget=50, random_seed=1),
}
for name, design in designs.items():
    drawn = be.draw(design, n_replicates=20, random_seed=1)
    found = be.evaluate(be.reveal(complete, design, drawn), "P@10", estimator="dyn")
    error = ((found["estimate"].mean("topic") - truth["estimate"]) ** 2).mean("replicate") ** 0.5
    plt.plot(error.squeeze(), [name] * error.sizes["run"], "o", alpha=0.5)
plt.xlabel("RMS error of the mean P@10"), plt.xlim(0)
