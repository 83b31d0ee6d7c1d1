"""Scripts of the folder models, run as a user would run them."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import pandas as pd
import pytest

import bayeseval as be

ROOT = Path(be.__file__).parents[1]
PLOTS = {"prior_posterior", "forest_reliability"}
CHAINS = {"trace", "rank", "energy", "convergence"}


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Path:
    """A saved collection of 3 runs and 4 topics with a sample of graded judgments."""
    whole = be.simulate.urn_collection(
        [0.05, 0.1, 0.3], n_topics=4, n_documents=100, prevalence=0.2, depth=30,
        grade_proportions=[0.6, 0.4], random_seed=1,
    )  # fmt: skip
    design = be.designs.pps_strata(whole, budget=20, n_strata=4)
    path = tmp_path_factory.mktemp("collection") / "sampled.nc"
    be.save_collection(be.reveal(whole, design, be.draw(design, random_seed=1)), path)
    return path


def finished(script: str, *words) -> tuple[str, str]:
    """Standard output and error of a script that ended well."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, ROOT / "models" / script, *map(str, words)],
        capture_output=True, text=True, env=environment, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def pictures(folder: Path) -> set[str]:
    assert all(path.stat().st_size > 5000 for path in folder.glob("*.png"))
    return {path.stem for path in folder.glob("*.png")}


def test_the_relevance_script_prints_and_saves_scores_and_draws_plots(
    collection, tmp_path, monkeypatch, capsys
):
    script = str(ROOT / "models" / "relevance.py")
    words = ["--approximation", "laplace", "--draws", "100", "--output", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", [script, str(collection), *words])
    with matplotlib.rc_context({"backend": "agg"}):
        runpy.run_path(script, run_name="__main__")
    out, err = capsys.readouterr()
    assert err == ""
    rows = pd.read_csv(tmp_path / "out" / "scores.csv")
    assert list(rows["measure"].drop_duplicates()) == ["P@10", "RBP(p=0.8)", "AP"]
    sampled = be.open_collection(collection)
    fitted = be.open_fit(tmp_path / "out" / "fit.nc")
    post = be.posterior_scores(fitted, sampled, "AP", random_seed=1)
    known = be.with_model_errors(post)
    best = rows[rows["measure"] == "AP"].iloc[0]
    place = known.sel(measure="AP", run=best["run"])
    assert best["estimate"] == pytest.approx(float(known.estimate.max()), abs=1e-12)
    assert [best["lower"], best["upper"]] == pytest.approx(place.interval.values.tolist())
    assert f"{best['estimate']:.3f}" in out
    expected = PLOTS | {"calibration_relevance", "scores_P@10", "scores_RBP_p=0.8", "scores_AP"}
    assert pictures(tmp_path / "out") == expected


def test_the_table_of_the_urn_script_has_one_row_a_run():
    whole = be.simulate.urn_collection(
        [0.05, 0.1, 0.2], n_topics=3, n_documents=100, prevalence=0.2, depth=30, random_seed=1
    )
    pool = be.designs.depth_pool(whole, 5)
    drawn = be.draw(pool, random_seed=1)
    sampled = be.reveal(whole, pool, drawn, unjudged="nonrelevant")
    model = be.models.urn_model(sampled, depth=5, frame="retrieved")
    prior = be.inference.prior_fit(model, draws=50, random_seed=1)
    scores = be.posterior_scores(prior, sampled, "RBP(p=0.95)", random_seed=1)
    table = runpy.run_path(str(ROOT / "models" / "urn.py"))["table"]
    rows = table(be.summarize(scores), sampled)
    assert sorted(rows.index) == ["run001", "run002", "run003"]
    assert (rows["lower_bound"] <= rows["estimate"]).all()
    assert (rows["estimate"] <= rows["upper_bound"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "observed", "scores"),
    [
        ("relevance.py", "relevance", {"scores_P@10", "scores_RBP_p=0.8", "scores_AP"}),
        ("grades.py", "grade", {"scores_P@10", "scores_P_rel=2_@10", "scores_nDCG@10"}),
    ],
)
def test_scripts_print_a_verdict_and_draw_what_a_sampler_gives(
    collection, tmp_path, script, observed, scores
):
    words = ("--draws", "300", "--tune", "300", "--output", tmp_path)
    out, err = finished(script, collection, *words)
    told = out.splitlines()[0]
    assert told.startswith("divergences ") and "; r_hat 1.0" in told
    assert ("allowed" in told) == ("the sampler did not pass" in err)
    assert err.count("Warning") == ("allowed" in told)
    assert pictures(tmp_path) == PLOTS | CHAINS | scores | {f"calibration_{observed}"}
    rows = pd.read_csv(tmp_path / "scores.csv")
    assert (rows["lower"] <= rows["estimate"]).all() and (rows["estimate"] <= rows["upper"]).all()
