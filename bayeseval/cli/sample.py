"""`bayeseval sample`: which documents to judge, and the design that says with which probability."""

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.cli.options import (
    Budget,
    Depth,
    DesignWritten,
    KnownQrels,
    NStrata,
    OnDuplicate,
    OutputFile,
    PoolDepth,
    QrelsFormat,
    Runs,
    Scheme,
    ScoreType,
    Seed,
)
from bayeseval.cli.output import check_writable, remark, working, write_result, written_whole


def sample(
    runs: Runs,
    budget: Budget,
    design_file: DesignWritten,
    output: OutputFile = None,
    scheme: Scheme = "pps",
    n_strata: NStrata = 20,
    pool_depth: PoolDepth = None,
    qrels: KnownQrels = None,
    qrels_format: QrelsFormat = "qrels",
    seed: Seed = None,
    depth: Depth = 1000,
    on_duplicate: OnDuplicate = "error",
    score_type: ScoreType = "float64",
) -> None:
    """Choose documents to judge from RUNs, at random with known probabilities.

    Writes lines `topic TAB document` in random order within each topic, as an assessor should get
    them, and the design file. Judge them all, write qrels, then `bayeseval evaluate --design`.
    """
    for path in (design_file, output):
        if path is not None:
            check_writable(path)
    if design_file == output:
        raise ValueError(f"--design-file and --output both name {output}; give each its own file")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    if seed < 0:
        raise ValueError(f"--seed must be a whole number, 0 or more, not {seed}")
    strata_seed, draw_seed, order_seed = map(int, np.random.SeedSequence(seed).generate_state(3))
    collection = be.read_collection(
        qrels,
        runs,
        qrels_format=qrels_format,
        depth=depth,
        on_duplicate=on_duplicate,
        score_type=score_type,
    )
    with working("sampling"):
        strata = {"n_strata": n_strata} if scheme != "poisson" else {}
        if scheme == "uniform":
            strata["random_seed"] = strata_seed
        design = SCHEMES[scheme](collection, budget=budget, pool_depth=pool_depth, **strata)
        selected = be.draw(design, random_seed=draw_seed)
    sampled = design.assign(selected=selected).assign_attrs(command_seed=seed)
    with written_whole(design_file) as unfinished:
        be.save_design(sampled, unfinished)
        write_result(_to_judge(sampled, order_seed), output)
    _remark_sample(sampled, seed)


SCHEMES = {
    "pps": be.designs.pps_strata,
    "uniform": be.designs.uniform_strata,
    "poisson": be.designs.poisson,
}


def _to_judge(design: xr.Dataset, random_seed: int) -> str:
    """Lines `topic TAB document`: topics in order, their sampled documents shuffled."""
    random = np.random.default_rng(random_seed)
    chosen = np.flatnonzero(design["selected"].to_numpy())
    topic = design["pair_topic"].to_numpy()[chosen]
    order = np.lexsort((random.random(chosen.size), topic))
    labels = design["topic"].to_numpy()[topic[order]]
    documents = design["document"].to_numpy()[chosen[order]]
    return "".join(
        f"{label}\t{document}\n" for label, document in zip(labels, documents, strict=True)
    )


def _remark_sample(design: xr.Dataset, seed: int) -> None:
    """Say how many documents there are to judge, among how many."""
    frame = int((design["inclusion_probability"] > 0).sum())
    remark(
        f"{int(design['selected'].sum())} documents to judge of a frame of {frame}, "
        f"{design.sizes['topic']} topics, seed {seed}"
    )
