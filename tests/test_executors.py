"""The same numbers by every executor, after an interruption, and after a worker was killed."""

import multiprocessing
import os
import signal
import time
import warnings
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr
from dask.distributed import Client, LocalCluster
from threadpoolctl import threadpool_info

import bayeseval as be
from bayeseval.cli import main
from bayeseval.designs import sizes
from bayeseval.evaluation import problem
from bayeseval.frame import sample
from bayeseval.measures.table import OWN
from bayeseval.processors import in_chunks, usable_processors

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def collection():
    return be.simulate.urn_collection(
        [0.05, 0.1, 0.3], n_topics=3, n_documents=80, prevalence=0.2, random_seed=3
    )


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        yield pool


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def replicated(collection, **options):
    design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    estimators = [("dyn", "rank_logistic"), ("dyn", "pooled")]
    return be.experiments.replicate(
        collection, design, ["P@10", "AP"], estimators=estimators, n_replicates=25,
        random_seed=1, **options,
    )  # fmt: skip


def planned(collection, **options):
    return be.plan(
        collection, ["P@10", "RR"], budget=[20], n_simulations=22, random_seed=2,
        **options,
    )  # fmt: skip


def compared(collection, **options):
    scores = be.evaluate(collection, "AP", estimator="assumed")["estimate"].isel(measure=0)
    gold = be.evaluate(collection, "P@10", estimator="assumed")["estimate"].isel(measure=0)
    request = {"n_boot": 50, "n_outer": 45, "random_seed": 3}
    return be.rankings.bias_variance(scores, gold, **request, **options)


@pytest.fixture(scope="module")
def serial(collection):
    return {function: function(collection) for function in (replicated, planned, compared)}


@pytest.mark.filterwarnings("ignore:RR")  # is scored by a model alone
@pytest.mark.parametrize("function", [replicated, planned, compared])
@pytest.mark.parametrize("name", ["threads", "processes", "client"])
def test_numbers_are_those_of_one_process_to_the_last_bit(
    collection, serial, function, name, request
):
    with ThreadPoolExecutor(2) as threads:
        executor = threads if name == "threads" else request.getfixturevalue(name)
        xr.testing.assert_identical(function(collection, executor=executor), serial[function])


@pytest.mark.filterwarnings("ignore:RR")
@pytest.mark.parametrize("function", [replicated, planned, compared])
def test_kept_chunks_give_the_same_numbers(collection, serial, function, tmp_path):
    first = function(collection, keep=tmp_path)
    files = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    again = function(collection, keep=tmp_path)
    xr.testing.assert_identical(first, serial[function])
    xr.testing.assert_identical(again, serial[function])
    assert files == {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A sample of twelve topics, on disk, and the order that it was drawn by."""
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.3], n_topics=12, n_documents=60, prevalence=0.2, random_seed=4
    )
    judge = np.random.default_rng(7).uniform(size=collection.sizes["pair"])
    predictors = xr.Dataset({"judge": ("pair", judge)})
    collection = collection.assign({"predictors": xr.DataTree(predictors)})
    path = tmp_path_factory.mktemp("stored") / "sampled.zarr"
    design = be.designs.order(collection, budget=20, random_seed=5)
    be.save_collection(be.reveal(collection, design, be.draw(design)), path)
    return be.open_collection(path, chunks={})


def in_blocks(monkeypatch):
    """Blocks of few topics, as where there are many."""
    monkeypatch.setattr(problem, "BLOCK", 800)
    monkeypatch.setattr(sample, "CELLS", 600)
    monkeypatch.setattr(sizes, "BLOCK", 5)


@pytest.mark.parametrize("name", ["threads", "processes", "client"])
@pytest.mark.parametrize(
    "asked",
    [
        {"estimator": "assumed"},
        {"estimator": "stat"},
        {"estimator": "dyn"},
        {"estimator": "dyn", "predictor": ("recalibrated", "judge")},
        {"estimator": "condensed"},
    ],
    ids=lambda asked: "-".join(map(str, asked.values())),
)
def test_blocks_of_topics_have_the_same_numbers_wherever(stored, asked, name, request, monkeypatch):
    asked = asked | {"measures": ["P@10", "AP", "nDCG@10"]}
    with ThreadPoolExecutor(2) as threads:
        executor = threads if name == "threads" else request.getfixturevalue(name)
        whole = be.evaluate(stored, **asked)
        in_blocks(monkeypatch)
        here, there = (be.evaluate(stored, **asked, executor=e) for e in (None, executor))
    xr.testing.assert_identical(here, there)
    xr.testing.assert_allclose(whole, there, rtol=1e-12)


def highest(grades, all_grades):
    return grades.max(axis=0)


@pytest.mark.filterwarnings("ignore:6 topics have no judgment")
@pytest.mark.parametrize("name", ["processes", "client"])
def test_an_own_measure_is_that_of_this_process_and_topics_may_lack_judgments(
    stored, name, request, monkeypatch
):
    be.measure("Highest", highest)
    try:
        grade = stored["judgments/grade"].to_numpy().copy()
        grade[stored["pair_topic"].to_numpy() < 6] = np.nan
        sampled = stored.copy()
        sampled["judgments/grade"] = stored["judgments/grade"].copy(data=grade)
        asked = {"measures": ["Highest@3", "AP"], "estimator": "assumed"}
        whole = be.evaluate(sampled, **asked)
        in_blocks(monkeypatch)
        executor = request.getfixturevalue(name)
        xr.testing.assert_identical(be.evaluate(sampled, **asked, executor=executor), whole)
    finally:
        del OWN["Highest"]


@pytest.mark.parametrize("name", ["processes", "client"])
def test_an_order_is_the_same_whoever_finds_the_sizes(stored, name, request, monkeypatch):
    asked = {"measures": "P@10", "frame": "retrieved", "budget": 10, "random_seed": 6}
    whole = be.designs.order(stored, **asked)
    in_blocks(monkeypatch)
    executor = request.getfixturevalue(name)
    xr.testing.assert_identical(be.designs.order(stored, **asked, executor=executor), whole)


def test_blocks_of_topics_go_to_the_executor(stored, monkeypatch):
    class Counting(ThreadPoolExecutor):
        asked = 0

        def submit(self, *work):
            self.asked += 1
            return super().submit(*work)

    in_blocks(monkeypatch)
    counts = []
    with Counting(1) as executor:
        for estimator in ("assumed", "stat", "dyn"):
            be.evaluate(stored, "P@10", estimator=estimator, executor=executor)
            counts.append(executor.asked)
    # one of at least four blocks is scored here, and dyn looks at all of them four times before
    assert counts[0] >= 3
    assert counts[1] == 2 * counts[0]
    assert counts[2] > counts[1] + 4 * 4


def drawn(folder, scale, seed):
    """Random numbers; each call leaves a mark, and some wait or fail as the folder says."""
    (folder / f"{seed} by {os.getpid()} at {time.monotonic_ns()}").touch()
    if seed == 2 and (folder / "fail").exists():
        while len(list((folder / "keep").glob("*.nc"))) < 2:
            time.sleep(0.02)
        raise ValueError("the third chunk failed")
    while seed in (2, 3) and (folder / "wait").exists():
        time.sleep(0.02)
    values = scale * np.random.default_rng(seed).normal(size=3)
    return xr.Dataset({"value": ("draw", values)}, coords={"draw": list("abc")})


def numbers(folder, *, scale=1.0, executor=None, keep=None):
    return [one["value"].values.tolist() for one in
            in_chunks(drawn, (folder, scale), range(6), "draws", executor, keep)]  # fmt: skip


def marks(folder, seed):
    return sorted(folder.glob(f"{seed} by *"))


@pytest.mark.parametrize("name", [None, "processes", "client"])
def test_an_interrupted_call_goes_on_from_its_files(tmp_path, name, request):
    executor = name and request.getfixturevalue(name)
    keep = tmp_path / "keep"
    (tmp_path / "fail").touch()
    with pytest.raises(ValueError, match="the third chunk failed"):
        numbers(tmp_path, executor=executor, keep=keep)
    n_kept = len(list(keep.iterdir()))
    assert 2 <= n_kept < 6
    (tmp_path / "fail").unlink()
    (tmp_path / "again").mkdir()
    assert numbers(tmp_path, executor=executor, keep=keep) == numbers(tmp_path / "again")
    assert len(list(keep.iterdir())) == 6


def test_another_request_has_files_of_its_own(tmp_path):
    keep = tmp_path / "keep"
    assert numbers(tmp_path, keep=keep) != numbers(tmp_path, keep=keep, scale=2.0)
    assert len(list(keep.iterdir())) == 12


def test_files_know_the_collection_its_judgments_and_the_options(collection, tmp_path):
    design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    other = collection.copy(deep=True)
    other["judgments/grade"][0] = 1.0 - other["judgments/grade"][0]
    asked = {"measures": "P@10", "estimators": ["stat"], "random_seed": 1, "n_replicates": 2}

    def files(of, **options):
        be.experiments.replicate(of, design, keep=tmp_path, **(asked | options))
        return len(list(tmp_path.iterdir()))

    assert [files(collection), files(collection.copy(deep=True))] == [1, 1]
    changed = [{"measures": "P@5"}, {"random_seed": 2}, {"estimators": ["dyn"]}, {"ci_prob": 0.8}]
    assert [files(collection, **options) for options in changed] == [2, 3, 4, 5]
    assert files(other) == 6


def killed(folder, n_kept=0):
    """Kill the process of the third chunk once some are kept, and let the others go on."""
    for _ in range(1500):
        time.sleep(0.02)
        begun = marks(folder, 2)
        if begun and len(list(folder.glob("keep/*.nc"))) >= n_kept:
            os.kill(int(begun[0].name.split()[2]), signal.SIGKILL)
            break
    (folder / "wait").unlink()


def test_a_cluster_replaces_a_worker_that_is_killed(client, tmp_path):
    (tmp_path / "wait").touch()
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(numbers, tmp_path, executor=client)
        killed(tmp_path)
        assert found.result(60.0) == numbers(tmp_path)
    assert len(marks(tmp_path, 2)) == 3  # killed, repeated, and in one process


def test_a_pool_whose_worker_is_killed_loses_no_finished_chunk(tmp_path):
    (tmp_path / "wait").touch()
    keep = tmp_path / "keep"
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool, ThreadPoolExecutor(1) as thread:
        found = thread.submit(numbers, tmp_path, executor=pool, keep=keep)
        killed(tmp_path, n_kept=2)
        with pytest.raises(
            BrokenExecutor, match="killed.* [2-5] of 6 chunks that are kept in .*keep"
        ):
            found.result(60.0)
    assert len(marks(tmp_path, 0)) == 1
    assert numbers(tmp_path, keep=keep) == numbers(tmp_path)
    assert len(marks(tmp_path, 0)) == 2  # the last time without files


def warned(seed):
    warnings.warn(f"the {seed % 2}th kind", RuntimeWarning, stacklevel=1)
    blas = [found for found in threadpool_info() if found["user_api"] == "blas"]
    return {found["num_threads"] for found in blas}, usable_processors()


@pytest.mark.parametrize("name", ["processes", "client"])
def test_workers_use_one_core_and_warnings_are_given_here(name, request):
    with pytest.warns(RuntimeWarning, match="the [01]th kind"):
        found = list(in_chunks(warned, (), range(4), "kinds", request.getfixturevalue(name)))
    assert found == [({1}, 1)] * 4


def test_the_command_takes_the_address_of_a_scheduler(collection, client, tmp_path, capsys):
    be.trec.write_qrels(collection, tmp_path / "qrels")
    runs = [tmp_path / name for name in collection["run"].to_numpy()]
    for run in runs:
        be.trec.write_run(collection, run.name, run)
    words = ["plan", tmp_path / "qrels", *runs, "-m", "P@10", "--budget", "20", "--format", "csv"]
    there = ["--scheduler", client.scheduler.address]
    assert main([str(word) for word in words]) == 0
    here = capsys.readouterr().out
    assert main([str(word) for word in words + there]) == 0
    assert capsys.readouterr().out == here


def test_what_is_no_executor_is_refused(collection):
    refused = pytest.raises(TypeError, match="a dask.distributed.Client, not a int")
    with refused:
        compared(collection, executor=2)
    with refused:
        be.evaluate(collection, "P@10", estimator="assumed", executor=2)
    with refused:
        be.designs.order(collection, budget=10, random_seed=1, executor=2)


def test_a_client_that_is_closed_is_refused(collection, client):
    with Client(client.scheduler.address) as closed:
        pass
    with pytest.raises(ValueError, match="^the client that is the executor is closed"):
        be.evaluate(collection, "P@10", estimator="assumed", executor=closed)
