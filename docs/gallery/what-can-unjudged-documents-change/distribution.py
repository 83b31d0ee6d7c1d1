"""The distribution of the unjudged part

Each unjudged document of one run on one topic is taken as relevant with probability 0.2. The
curve says how probable it is that they add less than a given amount to the score.
"""

import matplotlib.pyplot as plt

few = be.select(complete, topics=topics[:1], runs=complete["run"].to_numpy()[:1].tolist())
pool = be.designs.depth_pool(few, pool_depth=5)
pooled = be.reveal(few, pool, be.draw(pool))
law = be.residual.rbp_uncertainty_cdf(pooled, 0.8, 0.2, cutoff=20).squeeze()
plt.plot(law["value"], law["cdf"], label="exact", drawstyle="steps-post")
plt.plot(law["value"], law["normal_cdf"], ":", label="normal approximation")
plt.xlabel("RBP(p=0.8)@20 of the unjudged documents"), plt.ylabel("probability of less")
plt.legend()
