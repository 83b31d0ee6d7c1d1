"""What a pool does to a run that came later

The pool has the first 10 documents of six runs. The other runs score too low by it, and
`be.adjust_scores` estimates by how much.
"""

import matplotlib.pyplot as plt

names = complete["run"].to_numpy()
known = be.select(complete, topics=topics, runs=names[::2].tolist())
pool = be.designs.depth_pool(known, pool_depth=10)
rest = be.trec.runs_frame(be.select(complete, topics=topics, runs=names[1::2].tolist()))
later = be.add_runs(be.reveal(known, pool, be.draw(pool)), rest, contributed=False)
found = be.adjust_scores(later, "P@10").squeeze()
true = truth["estimate"].squeeze().sel(run=found["run"])
for name, mark in {"unadjusted": "o", "adjusted": "^"}.items():
    plt.plot(true, found[name], mark, label=name)
plt.axline((0.4, 0.4), slope=1, color="grey", linestyle=":")
plt.xlabel("P@10 by complete judgments"), plt.ylabel("P@10 by the pool"), plt.legend()
