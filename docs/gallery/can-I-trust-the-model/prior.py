"""What the model believed before the judgments

The prior intervals are long, and the posterior ones short. So the answer comes from the judgments
and not from the priors.
"""

before = be.inference.prior_fit(model, draws=250, random_seed=1)
prior = be.posterior_scores(before, sampled, "P@10", random_seed=1)
means = {"posterior": be.summarize(post), "prior": be.summarize(prior)}
axes = be.plots.plot_intervals(means, "P@10", truth=truth)
