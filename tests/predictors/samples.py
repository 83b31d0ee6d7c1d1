"""Small samples for the tests of predictors."""

import numpy as np

from bayeseval.frame.sample import Sample


def random_sample(
    *, n_topics=4, n_strata=6, n_runs=3, n_replicates=3, rate=0.5, poisson=False, random_seed=0
):
    """A stratified or Poisson sample with relevance that falls with the fused rank."""
    rng = np.random.default_rng(random_seed)
    sizes = rng.integers(3, 9, (n_topics, n_strata))
    n_pairs = sizes.sum(axis=1)
    start = np.concatenate([[0], np.cumsum(n_pairs)])
    topic = np.repeat(np.arange(n_topics), n_pairs).astype(np.int32)
    stratum = np.repeat(np.arange(sizes.size), sizes.ravel())
    shuffled = np.concatenate([start[t] + rng.permutation(n_pairs[t]) for t in range(n_topics)])
    fused_rank = np.concatenate([1 + np.arange(n) for n in n_pairs])[shuffled].astype(np.int32)
    stratum = stratum[shuffled].astype(np.int32)
    drawn = np.maximum(2, np.round(rate * sizes.ravel())).astype(int)
    probability = (drawn / sizes.ravel())[stratum]
    selected = rng.random((n_replicates, topic.size)) < probability
    if not poisson:
        selected = np.zeros_like(selected)
        for replicate in selected:
            for number, count in enumerate(drawn):
                replicate[rng.choice(np.flatnonzero(stratum == number), count, False)] = True
    run_rank = np.maximum(fused_rank[:, None] + rng.integers(-6, 7, (topic.size, n_runs)), 0)
    sample = Sample(
        pair=np.arange(topic.size),
        topic=topic,
        start=start,
        inclusion_probability=probability,
        stratum=np.full_like(stratum, -1) if poisson else stratum,
        selected=selected,
        fused_rank=fused_rank,
        run_rank=run_rank.astype(np.int32),
    )
    truth = (rng.random(topic.size) < 1 / (1 + fused_rank / 8)).astype(float)
    return sample, np.where(selected, truth, 0.0)
