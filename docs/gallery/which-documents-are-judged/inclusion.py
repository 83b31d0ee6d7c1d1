"""The probability of being judged

Documents that the runs rank near the top are likely to be judged. Each of the others has a
chance, which is known.
"""

import matplotlib.pyplot as plt

designs = {
    "order": be.designs.order(complete, measures="P@10", budget=50, random_seed=1),
    "pps_strata": be.designs.pps_strata(complete, budget=50),
    "uniform_strata": be.designs.uniform_strata(complete, budget=50, random_seed=1),
}
for name, design in designs.items():
    chance = design["inclusion_probability"].to_numpy()[design["pair_topic"] == 0]
    plt.plot(sorted(chance[chance > 0])[::-1], label=name)
plt.xscale("log"), plt.yscale("log"), plt.legend()
plt.xlabel("documents of one topic, the most likely first"), plt.ylabel("probability")
