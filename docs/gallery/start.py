"""The sample from which all pictures are made.

The package ships a simulated collection, so that the true scores are known. 50 documents of each
of 25 topics are judged, and the scores come from these judgments.
"""

import bayeseval as be

whole = be.simulate.demo_collection()
topics = whole["topic"].to_numpy()[:25].tolist()
pooled = whole["contributed"].to_numpy()  # the other runs came later
runs, late_runs = (sorted(whole["run"].to_numpy()[one].tolist()) for one in (pooled, ~pooled))
complete = be.select(whole, topics=topics, runs=runs[2::6])
truth = be.scores(complete, "P@10", estimator="assumed")

order = be.designs.order(complete, measures="P@10", random_seed=1)
sampled = be.reveal(complete, order, be.draw(order, budget=50))
dyn = be.scores(sampled, "P@10", estimator="dyn")
model = be.models.relevance_model(sampled)
fitted = be.fit(model, approximation="laplace", draws=250, random_seed=1)
post = be.posterior_scores(fitted, sampled, "P@10", random_seed=1)
covariance = be.covariance(sampled, "P@10", estimator="dyn")
combined = be.combine(dyn, post, covariance=covariance)
