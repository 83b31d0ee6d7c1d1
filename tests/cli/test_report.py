"""`bayeseval report`: a page in a file, and what is said beside it."""

import pytest

import bayeseval as be


@pytest.fixture
def words(files):
    runs = [files / name for name in "abc"]
    return ["report", files / "qrels", *runs, "-m", "P@5", "--output", files / "page.html"]


def test_complete_judgments_become_a_page(command, files, words):
    code, out, err = command(*words, "--title", "All <judged>", "--seed", 3)
    page = (files / "page.html").read_text()
    assert (code, out) == (0, "") and err.splitlines()[-1].endswith("open it in a browser")
    assert page.startswith("<!doctype html>") and "<h1>All &lt;judged&gt;</h1>" in page
    collection = be.read_collection(files / "qrels", [files / name for name in "abc"])
    same = be.reporting.evaluation_page(collection, "P@5", title="All <judged>", random_seed=3)
    assert page == same


def test_a_sample_is_combined_unless_the_model_is_left_out(command, files, words):
    runs = [files / name for name in "abc"]
    command("sample", *runs, "--budget", 20, "--n-strata", 5, "--seed", 1,
            "--design-file", files / "d.nc", "--output", files / "list")  # fmt: skip
    wanted = {tuple(line.split("\t")) for line in (files / "list").read_text().splitlines()}
    lines = (files / "qrels").read_text().splitlines()
    kept = [line for line in lines if (line.split()[0], line.split()[2]) in wanted]
    (files / "qrels").write_text("\n".join(kept) + "\n")
    code, _, err = command(*words, "--design", files / "d.nc", "--draws", 50)
    assert code == 0, err
    page = (files / "page.html").read_text()
    assert "By dyn and the model combined." in page and ", 200 posterior draws;" in page
    assert command(*words, "--design", files / "d.nc", "--no-model")[0] == 0
    assert "By dyn. Of 3 pairs" in (files / "page.html").read_text()


def test_a_page_to_stdout_is_the_page_alone(command, words):
    code, out, err = command(*words[:-1], "-")
    assert code == 0 and out.startswith("<!doctype html>") and out.endswith("</html>\n")
    assert "open it" not in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--draws", "0"], "--draws must be at least 1"),
        (["--ci-prob", "2"], "--ci-prob must lie between 0 and 1"),
        (["--estimator", "best"], "'best'"),
        (["-m", "P@5@6"], "P@5@6"),
        (["--relevance-level", "9"], "no judged document has the grade --relevance-level 9"),
        (["--estimator", "dyn"], "dyn"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(command, files, words, more, message):
    code, out, err = command(*words, *more)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and message in err
    assert not (files / "page.html").exists()


def test_one_run_alone_has_scores_and_no_ranks(command, files):
    code, _, err = command(
        "report", files / "qrels", files / "a", "-m", "P@5", "--output", files / "page.html"
    )
    page = (files / "page.html").read_text()
    assert code == 0, err
    assert "1 run on 3 topics, 120 judgments, 40 per topic." in page
    assert "possible ranks" not in page and "<p>By assumed.</p>" in page
