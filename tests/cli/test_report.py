"""`bayeseval report`: a page in a file, and the notes on it."""

import pytest

import bayeseval as be


@pytest.fixture
def words(files):
    runs = [files / name for name in "abc"]
    return ["report", files / "qrels", *runs, "-m", "P@5", "--output", files / "page.html"]


def test_complete_judgments_become_a_page(command, files, words):
    code, out, err = command(*words)
    page = (files / "page.html").read_text()
    assert (code, out) == (0, "") and err.splitlines()[-1].endswith("open it in a browser")
    assert page.startswith("<!doctype html>")
    collection = be.read_collection(files / "qrels", [files / name for name in "abc"])
    same = be.report(collection, "P@5")
    assert page == same


def test_a_sample_is_combined_unless_the_design_is_asked_for_alone(
    command, files, words, draw_sample
):
    design = draw_sample(files, budget=20, n_strata=5)
    words[1] = files / "judged"
    code, _, err = command(*words, *design)
    assert code == 0, err
    page = (files / "page.html").read_text()
    assert "By dyn and the model combined, the better run is known in " in page
    assert ", 4,000 posterior draws" in page
    assert command(*words, *design, "--estimator", "dyn")[0] == 0
    assert "By dyn, the better run is known in " in (files / "page.html").read_text()


def test_a_page_to_stdout_is_the_page_alone(command, words):
    code, out, err = command(*words[:-1], "-")
    assert code == 0 and out.startswith("<!doctype html>") and out.endswith("</html>\n")
    assert "open it" not in err


def test_one_run_alone_has_scores_and_no_ranks(command, files):
    code, _, err = command(
        "report", files / "qrels", files / "a", "-m", "P@5", "--output", files / "page.html"
    )
    page = (files / "page.html").read_text()
    assert code == 0, err
    assert "1 run on 3 topics, 120 judgments, 40 per topic." in page
    assert "possible ranks" not in page and "<p>By assumed.</p>" in page
