"""`bayeseval fit`: scores, files and notes."""

import io
import json
import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.cli.fit import MODELS
from bayeseval.inference import prior_fit
from bayeseval.models.table import kind_of
from tests.cli.test_bad_input import check_refused
from tests.posterior.handmade import handmade_fit
from tests.small import small_collection

HEADER = "run,topic,measure,estimator,estimate,standard_error,lower,upper"
QUICK = ["--seed", "1", "--draws", "25"]


@pytest.fixture(autouse=True)
def no_window():
    with matplotlib.rc_context({"backend": "agg"}):
        yield


@pytest.fixture(scope="module")
def kept_sample(kept_files, draw_sample) -> Path:
    """The folder with a design of 12 documents a topic and their judgments."""
    draw_sample(kept_files)
    return kept_files


@pytest.fixture
def sampled(kept_sample, tmp_path) -> Path:
    """A copy of it, for one test."""
    return Path(shutil.copytree(kept_sample, tmp_path, dirs_exist_ok=True))


def fitted(command, files, *words, measures=("P@10",), qrels="judged"):
    flags = [word for measure in measures for word in ("-m", measure)]
    runs = [files / name for name in "abc"]
    output = ["--output", files / "out"] if "--output" not in words else []
    return command("fit", files / qrels, *runs, *flags, *output, *words)


def test_scores_are_those_of_the_package_in_the_columns_of_evaluate(command, sampled):
    code, out, err = fitted(
        command, sampled, "--design", sampled / "design.nc", *QUICK, "--format", "csv",
        "--ci-prob", "0.8", "--population", "topics", measures=("P@10", "AP"),
    )  # fmt: skip
    assert (code, out.splitlines()[0]) == (0, f"{HEADER},n_topics,outside_weight")
    runs = [str(sampled / name) for name in "abc"]
    collection = be.attach_judgments(
        be.read_collection(None, runs), be.read_design(sampled / "design.nc"),
        str(sampled / "judged"),
    )  # fmt: skip
    known = be.fit(
        be.models.relevance_model(collection), approximation="laplace", draws=25,
        random_seed=1,
    )  # fmt: skip
    post = be.posterior_scores(
        known, collection, ["P@10", "AP"], population="topics", random_seed=1
    )
    summary = be.summarize(post, ci_prob=0.8)
    rows = pd.read_csv(io.StringIO(out))
    assert rows[["run", "measure"]].values.tolist() == [
        [run, measure] for run in "abc" for measure in ("P@10", "AP")
    ]
    assert set(rows["topic"]) == {"all"} and set(rows["estimator"]) == {"relevance_model"}
    for row in rows.itertuples():
        place = summary.sel(run=row.run, measure=row.measure)
        assert row.estimate == pytest.approx(place.estimate.item(), abs=1e-15)
        assert row.standard_error == pytest.approx(place.standard_error.item(), abs=1e-15)
        assert [row.lower, row.upper] == pytest.approx(place.interval.values.tolist(), abs=1e-15)
    assert (sampled / "out" / "scores.csv").read_text() == out
    again = be.open_fit(sampled / "out" / "fit.nc")
    np.testing.assert_array_equal(again["posterior/reliability"], known["posterior/reliability"])
    assert not (sampled / "out" / "intervals.csv").exists()
    assert "is fitted to 36 judged documents and the ranks of 3 runs" in err
    assert "no sampler to check" in err and "no design" not in err
    assert "the model's predictions" in err


def test_the_combined_scores_are_printed_in_every_format_for_readers(command, sampled):
    how = ("--design", sampled / "design.nc", *QUICK)
    code, out, err = fitted(command, sampled, *how, "--format", "markdown")
    assert code == 0, err
    shown = pd.read_csv(sampled / "out" / "intervals.csv").query("estimator == 'combined'")
    for row in shown.itertuples():
        assert f"{row.estimate:.4f}" in out
    assert out.count("P@10") == 2  # of the model, and combined


def test_plots_are_written_beside_the_fit_and_the_table_goes_to_stdout(command, sampled):
    """In intervals.csv design, model and combination stand side by side."""
    code, out, err = fitted(
        command, sampled, "--design", sampled / "design.nc", *QUICK, measures=("P@10", "AP")
    )
    assert code == 0, err
    table = pd.read_csv(sampled / "out" / "intervals.csv")
    assert ",".join(table.columns[:8]) == HEADER
    assert sorted(table.estimator.unique()) == ["combined", "design", "model"]
    assert len(table) == 3 * 2 * 3
    assert "times as long as dyn's, mean over runs" in err
    names = {path.name for path in (sampled / "out").glob("*.png")}
    assert names == {
        "intervals_P@10.png",
        "intervals_AP.png",
        "prior_posterior.png",
        "calibration_relevance.png",
        "forest_reliability.png",
        "scores_P@10.png",
        "scores_AP.png",
        *(f"judgments_{kind}.png" for kind in ("strata", "topics", "agreement", "runs")),
    }
    printed = " ".join(out.split())
    assert "relevance_model, 90% intervals over these topics" in printed
    assert "dyn and the model combined, 90% intervals over these topics" in printed
    assert (
        f"intervals_P@10.png, intervals_AP.png and 9 plots of the fit in {sampled / 'out'}, seed 1"
        in err.splitlines()[-1]
    )
    assert "Sampling" not in err
    warned = [line for line in err.splitlines() if "warning" in line]
    assert all("the judgments contradict the model's predictions" in line for line in warned)


def test_the_picture_of_the_scores_has_the_intervals_of_the_table(command, sampled, monkeypatch):
    drawn, draw = [], be.plots.plot_intervals

    def kept(*given, **options):
        ax = draw(*given, **options)
        names = [label.get_text() for label in ax.get_yticklabels()]
        bars = [bar[:, 0] for bar in ax.collections[0].get_segments()]
        drawn.append(dict(zip(names, bars, strict=True)))
        return ax

    monkeypatch.setattr(be.plots, "plot_intervals", kept)
    for words in ([], ["--population", "topics"]):
        code, _, err = fitted(command, sampled, "--design", sampled / "design.nc", *QUICK, *words)
        assert code == 0, err
        rows = pd.read_csv(sampled / "out" / "scores.csv")
        for row in rows.itertuples():
            np.testing.assert_allclose(drawn[-1][row.run], [row.lower, row.upper], atol=1e-6)
    assert len(drawn) == 2 and not np.allclose(drawn[0]["a"], drawn[1]["a"])


def test_without_a_design_the_judged_documents_are_the_frame_with_a_note(command, sampled):
    words = [*QUICK, "--format", "json"]
    code, out, err = fitted(command, sampled, *words)
    assert code == 0
    assert "no design: the judged documents are the frame, and all others count as not" in err
    assert "warning: every document that these scores count and the model speaks of" in err
    assert "--design" in err and "scores are exact" not in err
    assert "weight on documents outside the frame, mean over runs: P@10 0." in err
    answer = json.loads(out)
    assert (answer["approximation"], answer["seed"], "passed" in answer) == ("laplace", 1, True)
    assert [row["n_topics"] for row in answer["scores"]] == [3, 3, 3]
    known = json.loads((sampled / "out" / "scores.json").read_text())
    assert known["scores"] == answer["scores"] and known["seed"] == 1


def test_with_complete_judgments_the_scores_are_exact_with_a_note(command, files):
    code, _, err = fitted(command, files, *QUICK, qrels="qrels")
    assert code == 0
    assert "every document that counts is judged: scores are exact" in err
    assert "warning" not in err


def test_a_run_that_lacks_a_topic_gets_a_note(command, sampled):
    lines = (sampled / "c").read_text().splitlines(keepends=True)
    (sampled / "c").write_text("".join(line for line in lines if not line.startswith("2 ")))
    _, _, err = fitted(command, sampled, *QUICK)
    assert "1 of 3 runs lacks topics and scores 0 there, 1 run-topic pair in all; run c" in err


def test_bad_files_are_one_sentence(command, sampled):
    check_refused(fitted(command, sampled, *QUICK, qrels="none"), "none")
    swapped = command("fit", sampled / "a", sampled / "judged", "-m", "P@10", *QUICK)
    check_refused(swapped[:2] + (swapped[2].splitlines()[-1],), "QRELS RUN")
    (sampled / "judged").write_text("")
    check_refused(fitted(command, sampled, *QUICK), "judged", "empty")


def sampler_answer(model, *, sticky=False) -> xr.DataTree:
    """What a sampler would return for the model: independent draws, and an energy."""
    made = handmade_fit(model)
    random = np.random.default_rng(1)
    shape = [made["posterior"].sizes[dim] for dim in ("chain", "draw")]
    energy = random.normal(size=shape)
    if sticky:
        energy = np.cumsum(energy, axis=1)
    statistics = {"diverging": np.zeros(shape, dtype=bool), "energy": energy}
    values = {name: (("chain", "draw"), array) for name, array in statistics.items()}
    made["sample_stats"] = xr.DataTree(xr.Dataset(values))
    return made


def test_the_verdict_is_a_note_and_a_failed_one_a_warning(command, sampled, monkeypatch):
    words = ["--design", sampled / "design.nc", "--nuts", "--seed", "1", "--format", "json"]
    monkeypatch.setattr(be, "fit", lambda model, **_: sampler_answer(model))
    code, out, err = fitted(command, sampled, *words)
    assert code == 0 and json.loads(out)["verdict"].keys() >= {"r_hat", "strata", "runs"}
    assert "the sampler passed: divergences 0; r_hat 1.0" in err
    monkeypatch.setattr(be, "fit", lambda model, **_: sampler_answer(model, sticky=True))
    code, out, err = fitted(command, sampled, *words)
    answer = json.loads(out)
    assert (code, answer["passed"]) == (0, False)
    assert answer["verdict"]["bfmi"] < 0.3
    warning = next(line for line in err.splitlines() if "warning: the sampler" in line)
    assert "did not pass" in warning and "(allowed: at least 0.3)" in warning
    assert "--draws" in warning and str(sampled / "out") in warning


@pytest.fixture
def pooled(files) -> Path:
    """The folder with the judgments of the first five ranks of every run in `judged`."""
    collection = be.read_collection(files / "qrels", [files / name for name in "abc"])
    pool = be.designs.depth_pool(collection, 5)
    sampled = be.reveal(collection, pool, be.draw(pool, random_seed=1))
    be.trec.write_qrels(sampled, files / "judged")
    return files


def test_the_urn_is_fitted_to_the_pool_and_draws_what_is_below(command, pooled, monkeypatch):
    def drawn(model, **_) -> xr.DataTree:
        made = prior_fit(model, draws=40, random_seed=2)
        energy = np.random.default_rng(3).normal(size=(1, 40))
        values = {"diverging": energy > np.inf, "energy": energy}
        statistics = xr.Dataset({name: (("chain", "draw"), x) for name, x in values.items()})
        return made.assign({"sample_stats": xr.DataTree(statistics)})

    monkeypatch.setattr(be, "fit", drawn)
    words = ["--model", "urn", "--pool-depth", "5", "--seed", "1", "--format", "json"]
    code, out, err = fitted(command, pooled, *words, measures=("P@5", "P@20"))
    assert code == 0, err
    assert "is fitted to the first 5 ranks of 3 runs" in err and "left to draw" not in err
    answer = json.loads(out, parse_constant=pytest.fail)  # NaN is no JSON
    assert answer["verdict"]["r_hat"] is None
    rows = {(row["run"], row["measure"]): row for row in answer["scores"]}
    truth = be.evaluate(
        be.read_collection(pooled / "judged", [pooled / "a"]), "P@5", estimator="assumed"
    )
    assert "not differences between runs" in err
    assert rows["a", "P@5"]["standard_error"] == 0.0
    assert rows["a", "P@5"]["estimate"] == pytest.approx(truth.estimate.mean().item())
    assert all(rows[run, "P@20"]["standard_error"] > 0.0 for run in "abc")
    assert "that such models made on other collections" in err


def test_that_urns_have_no_rank_to_fill_is_noted_before_sampling(command, pooled, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the sampler is broken")

    monkeypatch.setattr(be, "fit", broken)
    _, _, err = fitted(command, pooled, "--model", "urn", "--pool-depth", "5", measures=("P@5",))
    lines = err.splitlines()
    assert "sampler is broken" in lines[-1]
    assert "nothing is left to draw, and evaluate --estimator assumed" in " ".join(lines[:-1])


def test_an_urn_scores_sums_over_ranks_alone(command, pooled):
    answer = fitted(command, pooled, "--model", "urn", "--pool-depth", "5", measures=("AP",))
    check_refused(answer, "AP has no posterior scores")


def test_a_broken_sampler_writes_nothing_with_a_note(command, sampled, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the sampler is broken: draws of 'slope' are not finite")

    monkeypatch.setattr(be, "fit", broken)
    code, out, err = fitted(command, sampled, "--nuts", "--seed", "1")
    assert (code, out) == (1, "")
    assert "draws of 'slope' are not finite; nothing is written" in err.splitlines()[-1]
    assert not (sampled / "out").exists()


@pytest.mark.slow
def test_the_sampler_fits_an_urn_from_the_shell(command, pooled):
    code, _, err = fitted(
        command, pooled, "--model", "urn", "--pool-depth", "5", "--seed", "1", "--format", "csv",
        "--draws", "300", measures=("P@20", "RBP(p=0.9)"),
    )  # fmt: skip
    assert code == 0, err
    rows = pd.read_csv(pooled / "out" / "scores.csv")
    assert set(rows["estimator"]) == {"urn_model"} and (rows["standard_error"] > 0).all()
    names = {path.stem for path in (pooled / "out").glob("*.png")}
    assert {"trace", "rank", "energy", "forest_log_odds", "scores_P@20"} <= names


@pytest.mark.slow
def test_the_sampler_fits_grades_from_the_shell(command, sampled):
    code, out, err = fitted(
        command, sampled, "--design", sampled / "design.nc", "--model", "grades", "--seed", "1",
        "--draws", "300", "--nuts", "--format", "csv",
        measures=("nDCG@10", "P(rel=2)@10"),
    )  # fmt: skip
    assert code == 0, err
    assert "the sampler" in err and "divergences" in err
    rows = pd.read_csv(io.StringIO(out))
    assert set(rows["estimator"]) == {"grade_model"}
    assert rows["estimate"].between(0.0, 1.0).all() and (rows["standard_error"] > 0).all()
    fit = be.open_fit(sampled / "out" / "fit.nc")
    assert fit["posterior"].sizes["draw"] == 300
    names = {path.stem for path in (sampled / "out").glob("*.png")}
    chains = {"trace", "rank", "energy", "convergence"}
    assert chains | {"calibration_grade", "scores_nDCG@10"} <= names


def test_what_model_and_design_both_warn_of_is_shown_once(command, sampled):
    (sampled / "c").unlink()
    code, _, err = command(
        "fit", sampled / "judged", sampled / "a", sampled / "b", "-m", "P@10", "--design",
        sampled / "design.nc", *QUICK, "--output", sampled / "out",
    )  # fmt: skip
    assert code == 0 and "times as long as dyn's" in err
    assert err.count("1 of the 3 runs that the design was made from") == 1


def test_without_a_sample_there_is_nothing_to_combine_and_the_files_of_an_older_fit_go(
    command, sampled
):
    (sampled / "out").mkdir()
    older = ["intervals.csv", "intervals_AP.png", "trace.png"]
    own = ["mine.png", "notes.csv", "rank.png", "scores_final.png"]
    for name in ("fit.nc", *older, *own):
        (sampled / "out" / name).write_text("of another fit")
    listed = json.dumps({"files": ["fit.nc", "scores.csv", *older, "../design.nc"]})
    (sampled / "out" / "scores.json").write_text(listed)
    code, _, err = fitted(command, sampled, *QUICK)
    assert code == 0, err
    assert "no combined intervals: the judgments have no --design" in err
    assert "left by an earlier fit: intervals.csv, intervals_AP.png, trace.png" in " ".join(
        err.split()
    )
    left = {path.name for path in (sampled / "out").iterdir()}
    assert left >= {"fit.nc", "scores.csv", "scores.json", *own} and not left & set(older)
    assert (sampled / "design.nc").exists()
    about = json.loads((sampled / "out" / "scores.json").read_text())
    assert about["files"][:3] == ["fit.nc", "scores.csv", "scores.json"]


def test_where_there_was_no_fit_nothing_is_removed(command, sampled):
    (sampled / "out").mkdir()
    (sampled / "out" / "trace.png").write_text("of something else")
    code, _, err = fitted(command, sampled, *QUICK)
    assert code == 0 and "left by an earlier fit" not in err
    assert (sampled / "out" / "trace.png").read_text() == "of something else"


def test_one_document_a_topic_gives_no_error_and_no_combination(command, files, draw_sample):
    words = [*draw_sample(files, budget=1, n_strata=1), *QUICK]
    code, _, err = fitted(command, files, *words)
    assert code == 0 and "no combined intervals: the sample is too small" in err, err
    assert not (files / "out" / "intervals.csv").exists()


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_fit_offers_has_scores(name):
    kind = kind_of(MODELS[name].make(small_collection(), [], 1, 9))
    assert kind is not None and kind.draws is not None
    assert (name == "urn") == (kind.draws_of != "documents")
