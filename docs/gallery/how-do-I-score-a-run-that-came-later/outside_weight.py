"""How much of a score is missing?

`outside_weight` is the share of a score that lies on documents which no run of the design
retrieved. They could not be judged, and they count as not relevant.
"""

names = late_runs[4::6]
later = be.add_runs(sampled, be.trec.runs_frame(be.select(whole, topics=topics, runs=names)))
scores = be.scores(later, "P@10", estimator="dyn")
weight = scores["outside_weight"].squeeze().sel(run=names).to_series()
axes = weight.sort_values().plot.barh(xlabel="outside weight of P@10", ylabel="")
