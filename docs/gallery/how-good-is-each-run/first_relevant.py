"""Measures that only a model scores

RR@10 looks for the first relevant document. It is no sum over documents, so the sample alone has
no interval for it. The model has one, which allows for the model's own errors.
"""

draws = be.posterior_scores(fitted, sampled, "RR@10", random_seed=1)
model_alone = be.with_model_errors(draws)
true = be.evaluate(complete, "RR@10", estimator="assumed")["estimate"].mean("topic")
axes = be.plots.plot_intervals({"model": model_alone}, "RR@10", truth=true)
