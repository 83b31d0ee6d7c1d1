"""How deep the judgments go

The judged documents lie at all ranks, most of them near the top. The usual practice judges the
top alone.
"""

import matplotlib.pyplot as plt
import numpy as np

ranking = sampled["rankings/ranking"].isel(run=0).transpose("topic", "rank").to_numpy()
judged = sampled["judgments/grade"].notnull().to_numpy()
shares = np.where(ranking >= 0, judged[ranking], np.nan)
plt.bar(np.arange(1, ranking.shape[-1] + 1), np.nanmean(shares, axis=0))
plt.xlabel("rank in one run"), plt.ylabel("share of topics with a judgment there")
