"""Pages on evaluations: what they show is what the package says."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.estimators import ESTIMATORS
from bayeseval.measures.table import MEASURES
from bayeseval.reporting import report
from bayeseval.reporting.page import listed, page, paired, table
from bayeseval.reporting.words import definition, meanings


class Page(HTMLParser):
    """Tables, headings and points of lists of a page, and whether its elements are closed."""

    void = ("meta", "br", "path", "use", "image")

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.open, self.rows, self.points, self.titles, self.drawn = [], [], [], [], 0
        self.pairs, self.within, self.answers, self.opens = [], [], [], False
        self.small, self.words, self.captions, self.attributes = [], {}, [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        if tag == "svg":
            self.drawn += 1
        if tag == "div":
            self.opens = dict(attrs).get("class") == "answer"
        if tag == "table":
            self.within = self.pairs if dict(attrs).get("class") == "pairs" else self.rows
        if tag == "tr":
            self.within.append([])
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag
        if tag == "div":
            self.opens = False

    def handle_data(self, data):
        within = self.open[-1] if self.open else ""
        if within in ("td", "th"):
            self.within[-1].append(data)
        elif self.opens:
            self.answers.append(data)
        elif within == "li":
            self.points.append(data)
        elif within in ("h1", "h2"):
            self.titles.append(data)
        elif within == "figcaption":
            self.captions.append(data)
        elif within == "p":
            self.small.append(data)
        elif within == "dt":
            self.words[data] = ""
        elif within == "dd":
            self.words[list(self.words)[-1]] += data


@pytest.fixture(scope="module")
def whole():
    """Five runs, of which two come after the sample; one has a name that a page must escape."""
    collection = be.simulate.urn_collection(
        [0.05, 0.3, 0.1, 0.2, 0.1], n_topics=15, prevalence=0.08, shared=0.5, random_seed=3
    )
    runs = be.trec.runs_frame(collection)
    names = {"run001": "<b>&run", "run002": "r2", "run003": "r3", "run004": "n4", "run005": "n5"}
    runs["run"] = runs["run"].map(names)
    table = pd.DataFrame({"run": list(names.values()), "contributed": [True] * 3 + [False] * 2})
    return be.read_collection(be.trec.qrels_frame(collection), runs, run_table=table)


@pytest.fixture(scope="module")
def sampled(whole):
    """A sample of the collection."""
    design = be.designs.pps_strata(whole, budget=60)
    return be.reveal(whole, design, be.draw(design, random_seed=4))


@pytest.fixture(scope="module")
def text(sampled):
    return report(sampled, ["P@10", "AP"], draws=200, title="Runs & topics", random_seed=5)


def test_a_sample_is_combined_with_the_model_and_listed_from_the_best_run(sampled, text):
    page = Page(text)
    assert page.titles == [
        "Runs & topics", "P@10", "AP", "Cautions", "Terms", "Method",
    ]  # fmt: skip
    assert page.drawn == 2  # intervals by both measures
    mean = be.mean_over_topics(be.evaluate(sampled, ["P@10", "AP"], estimator="dyn"))
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=200, random_seed=5
    )
    post = be.posterior_scores(fitted, sampled, ["P@10", "AP"], random_seed=5)
    both = be.combine(mean, post)
    for measure, rows in (("P@10", page.rows[1:6]), ("AP", page.rows[7:12])):
        one = both.sel(measure=measure)
        best = one["run"].to_numpy()[np.argsort(-one["estimate"].to_numpy())].tolist()
        assert [row[0] for row in rows] == best
        for row in rows:
            run = one.sel(run=row[0])
            low, high = run["interval"].to_numpy()
            assert row[1:3] == [f"{run['estimate'].item():.3f}", f"{low:.3f} to {high:.3f}"]
            assert ("new" in row[-1]) == (row[0] in ("n4", "n5"))


def test_the_page_opens_with_the_best_run_by_each_measure_and_those_not_clearly_worse(
    sampled, text
):
    best, _, *others = Page(text).rows[1:6]
    known = be.rank(sampled, ["P@10", "AP"], draws=200, random_seed=5)
    opening = Page(text).answers
    assert len(opening) == 2
    for label, sentence in zip(("P@10", "AP"), opening, strict=True):
        sets = known.sel(measure=label)
        order = sets["run"].to_numpy()[np.argsort(-sets["estimate"].to_numpy())].tolist()
        apart = sets["separated"].sel(run=order[0])
        rivals = [run for run in order[1:] if not apart.sel(run_other=run)]
        score = f"{sets['estimate'].max().item():.3f}"
        start = f"{order[0]} scores best by {label} ({score}), but it is not clearly better than "
        start = start if rivals else f"With 90% confidence, {order[0]} is the best of the 5 runs by"
        assert sentence.startswith(start)
        assert all(run in sentence for run in rivals) or "any of the other 4 runs" in sentence


def test_the_answer_has_the_further_judgments_that_compare_gives(whole):
    design = be.designs.order(whole, budget=12, random_seed=1)
    few = be.reveal(whole, design, be.draw(design))
    options = {"estimator": "dyn", "random_seed": 5}
    (opening,) = Page(report(few, "P@10", **options)).answers
    sets = be.rank(few, "P@10", estimator="dyn", random_seed=5).isel(measure=0)
    best = str(sets["run"][int(sets["estimate"].argmax("run"))].item())
    rivals = sets["run"].to_numpy()[~sets["separated"].sel(run=best).to_numpy()]
    level = 1.0 - 0.1 / 10  # of 10 pairs, each by itself
    pairs = be.compare(
        few, "P@10", estimator="dyn", reference=best, anytime=True, ci_prob=level
    ).isel(measure=0)
    more = pairs["more_judgments"][np.isin(pairs["run_a"], rivals)].max().item()
    assert more > 0
    end = f" By dyn, about {more:.0f} more judgments of each topic would probably settle it."
    assert opening.endswith(end)
    strata = be.designs.pps_strata(whole, budget=12, n_strata=6)
    drawn = be.draw(strata, random_seed=1)
    listed = be.reveal(whole, strata, drawn)
    (opening,) = Page(report(listed, "P@10", **options)).answers
    assert "settle" not in opening  # that sample cannot go on


def test_the_answer_from_topics_has_the_number_of_topics_that_plan_gives():
    random = np.random.default_rng(1)
    score = 0.4 + np.array([0.0, 0.05, 0.04]) + random.normal(0.0, 0.12, (15, 3))
    given = be.read_scores(pd.DataFrame(score, columns=["a", "b", "c"]), measure="F1")
    (opening,) = Page(report(given, random_seed=5)).answers
    mean = given["estimate"].squeeze().mean("topic").to_series().sort_values()
    assert opening.startswith(f"{mean.index[-1]} scores best by F1 ({mean.iloc[-1]:.3f}), but it ")
    number = int(re.search(r"About (\d+) topics like these 15 would", opening)[1])
    level = 1.0 - 0.1 / 3  # of 3 pairs, each by itself
    enough = []
    for rival in mean.index[:-1]:
        pair = given.sel(run=[mean.index[-1], rival])
        asked = {"n_topics": [round(0.9 * number), number], "ci_prob": level}
        enough.append(be.plan(pair, **asked)["detectable"].squeeze() <= mean.iloc[-1] - mean[rival])
    assert np.all(enough, axis=0).tolist() == [False, True]


def test_the_best_run_is_said_to_be_known_where_it_is_and_one_run_has_an_interval(whole):
    for runs, start in (
        (["<b>&run", "r2"], "With 90% confidence, <b>&run is the better of the two runs by P@10 ("),
        (["r2"], "r2 scores "),
    ):
        some = be.select(whole, runs=runs)
        (opening,) = Page(report(some, "P@10", estimator="assumed", random_seed=5)).answers
        assert opening.startswith(start)
    assert "(90% interval " in opening


def test_pairs_have_the_chances_of_rank_under_the_names_of_the_table(sampled, text):
    page = Page(text)
    ranked = be.rank(sampled, ["P@10", "AP"], draws=200, random_seed=5)
    order = [row[0] for row in page.rows[1:6]]
    assert page.pairs[0] == order and [row[0] for row in page.pairs[1:6]] == order
    chances = ranked["probability_better"].sel(measure="P@10")
    for run, row in zip(order, page.pairs[1:6], strict=True):
        others = [other for other in order if other != run]
        for other, cell in zip(others, row[1:], strict=True):
            chance = 100 * chances.sel(run=run, run_other=other).item()
            limit = {"<1": (0.0, 0.5), ">99": (99.5, 100.0)}.get(cell)
            low, high = limit or (float(cell) - 0.5, float(cell) + 0.5)
            assert low <= chance <= high


def test_weight_outside_the_frame_stands_in_the_row_of_its_run(whole, text):
    assert "weight outside" not in text  # there is none
    design = be.designs.pps_strata(whole, budget=60, pool_depth=12)
    part = be.reveal(whole, design, be.draw(design, random_seed=4))
    page = Page(report(part, "P@10", estimator="dyn", random_seed=5))
    lost = be.scores(part, "P@10", estimator="dyn")["outside_weight"].squeeze()
    assert (lost > 0).to_numpy().tolist() == [False, False, False, True, True]
    assert page.rows[0][-2:] == ["weight outside", "note"] and "Weight outside" in page.words
    for row in page.rows[1:]:  # whose empty cells have no text
        of_late = [f"{lost.sel(run=row[0]).item():.3f}", "new"] if row[0] in ("n4", "n5") else []
        assert row[len(page.rows[0]) - 2 :] == of_late


def test_the_model_is_fitted_to_all_runs_where_it_is_asked_to(sampled):
    asked = {"draws": 200, "random_seed": 5}
    text = report(sampled, "P@10", learn_from="all", **asked)
    page = Page(text)
    both = be.scores(sampled, "P@10", estimator="combined", learn_from="all", **asked).isel(
        measure=0
    )
    for name, shown in ((row[0], row[1]) for row in page.rows[1:6]):
        assert shown == f"{both['estimate'].sel(run=name).item():.3f}"
    assert page.words["Model"].endswith("fitted to 5 runs")


def test_the_page_needs_no_other_file_and_is_the_same_again(sampled, text):
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    names = re.findall(r' id="([^"]*)"', text)
    assert len(names) == len(set(names))
    assert "<script" not in text and "&lt;b&gt;&amp;run" in text and "<b>&" not in text
    again = report(sampled, ["P@10", "AP"], draws=200, title="Runs & topics", random_seed=5)
    assert again == text


def test_draws_and_terms_are_on_the_page(sampled, text):
    page = Page(text)
    mean = be.mean_over_topics(be.evaluate(sampled, ["P@10", "AP"], estimator="dyn"))
    assert page.words["Model"].endswith("800 posterior draws")
    words = ("Score", "dyn", "dyn and the model combined", "90% interval", "Possible ranks", "New")
    for word in words:
        assert page.words[word].endswith(".")
    assert "Unlike the model" not in page.words  # no run is
    assert page.words["90% interval"].startswith("By dyn alone: if the documents were drawn again")
    more = meanings(mean, combined=False, named={"unlike the model", "weight outside"})
    assert {"Unlike the model", "Weight outside"} <= set(more)
    assert more["90% interval"].startswith("By dyn: if the documents were drawn again")
    assert {"Group", "New"}.isdisjoint(more)


def test_rough_standard_errors_are_noted_with_the_run_of_the_fewest_degrees_of_freedom(sampled):
    few = be.select(sampled, topics=sampled["topic"].to_numpy()[:6].tolist())
    bare = be.read_collection(be.trec.qrels_frame(few), be.trec.runs_frame(few))
    rough = "P@10: intervals are rough, since standard errors are (that of"
    points = Page(report(bare, "P@10", random_seed=5)).points
    (found,) = [point for point in points if point.startswith(rough)]
    assert found.endswith("has 5 degrees of freedom).")
    many = be.read_collection(be.trec.qrels_frame(sampled), be.trec.runs_frame(sampled))
    assert rough not in report(many, "P@10", random_seed=5)


def test_every_estimator_is_explained(sampled):
    scores = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="stat"))
    for name in ESTIMATORS:
        words = meanings(scores.assign_attrs(estimator=name), combined=False, named=())
        assert words[name].endswith(".")


def test_every_measure_is_defined_in_its_section_with_its_parameters(text):
    assert (
        "P@10 is the share of relevant documents among the first 10 documents." in Page(text).small
    )
    for name, row in MEASURES.items():
        label = {"IPrec": "IPrec@0.1"}.get(name, f"{name}@7" if row.needs_cutoff else name)
        sentence = definition(label)
        assert sentence.startswith(f"{label} is ") and sentence.endswith("."), name
        assert "{" not in sentence and ("7" in sentence) == row.needs_cutoff
    assert "with probability 0.95" in definition("RBP(p=0.95)")
    assert "among the first 20 documents" in definition("AP@20")
    assert definition("P(rel=2)@10").endswith("A document is relevant from grade 2 on.")
    assert definition("nDCG").endswith("the gain of a document is its grade.")
    assert definition("nDCG(dcg='exp-log2')").endswith("the gain of a document is 2^grade - 1.")
    assert definition("numQ").endswith("is scored by ir_measures, whose documentation defines it.")
    assert definition("latency in ms") == ""


def test_a_measure_of_the_user_is_named_as_one(sampled):
    label = be.measure("first_only", lambda ranking, topic: float(ranking[:1].sum()))
    assert definition(label) == "first_only is a measure of the user's own."


def test_readers_of_the_screen_find_heads_names_and_ways(text):
    page = Page(text)
    for tag, wanted in (("svg", "aria-label"), ("th", "scope"), ("html", "lang")):
        found = [attributes for name, attributes in page.attributes if name == tag]
        assert found and all(attributes.get(wanted) for attributes in found)
    ways = [a["href"][1:] for name, a in page.attributes if name == "a"]
    places = [a["id"] for name, a in page.attributes if name == "section"]
    assert ways == places and len(places) == len(page.titles) - 1


def test_many_runs_are_drawn_some_to_a_picture_and_no_column_is_empty():
    many = be.simulate.urn_collection(
        np.linspace(0.05, 0.3, 41), n_topics=4, prevalence=0.1, random_seed=2
    )
    page = Page(report(many, "P@10", random_seed=5))
    base = "P@10 by assumed, 90% intervals"
    assert page.captions == [f"{base}, runs 1 to 21", f"{base}, runs 22 to 41"]
    assert page.rows[0] == ["run", "P@10", "90% interval", "possible ranks"]
    assert len(page.pairs) == 21 and "the best 20 runs" in page.text


def test_without_a_model_the_intervals_are_those_of_dyn(sampled):
    page = Page(report(sampled, "P@10", estimator="dyn", random_seed=5))
    mean = be.mean_over_topics(be.evaluate(sampled, "P@10", estimator="dyn"))
    for row in page.rows[1:]:
        low, high = mean["interval"].sel(run=row[0]).squeeze().to_numpy()
        assert row[2] == f"{low:z.3f} to {high:z.3f}"


@pytest.mark.parametrize(
    ("predictor", "estimator", "use"),
    [
        (None, "dyn", "gpt; their reliability is estimated from the judgments"),
        (("recalibrated", "gpt"), "dyn", "gpt; their reliability is estimated from the judgments"),
        (("external", "gpt"), "dyn", "gpt; taken for the relevance as they are"),
        (("constant", 0.1), "dyn", "gpt; not used by predictor constant"),
        ("constant", None, "gpt; their reliability is estimated from the judgments"),
    ],
)
def test_the_use_of_labels_is_stated(sampled, predictor, estimator, use):
    topic = sampled["topic"].to_numpy()[sampled["pair_topic"].to_numpy()]
    pairs = pd.DataFrame({"topic": topic, "document": sampled["document"].to_numpy()})
    labels = pairs.assign(label=1.0 * (pairs.index % 3 == 0))
    labelled = be.add_predictions(sampled, "gpt", labels)
    options = {"predictor": predictor, "estimator": estimator, "draws": 20, "random_seed": 5}
    assert Page(report(labelled, "P@10", **options)).words["Labels"] == use


def test_judgments_without_a_design_are_taken_as_they_are_and_unjudged_weight_is_stated(sampled):
    bare = be.read_collection(be.trec.qrels_frame(sampled), be.trec.runs_frame(sampled))
    page = Page(report(bare, "P@10", random_seed=5))
    scores = be.evaluate(bare, "P@10", estimator="assumed")
    lost = be.mean_over_topics(scores)["outside_weight"]
    assert any(
        point.startswith(f"P@10: a weight of {lost.mean().item():.3f} falls on unjudged documents")
        for point in page.points
    )
    text = report(bare, "P@10", random_seed=5)
    assert "for topics like these" in text and "takes every document without a judgment" in text


def test_measures_of_grades_are_combined_too_and_warnings_are_listed_with_the_notes():
    graded = be.simulate.urn_collection(
        [0.1, 0.2, 0.3], n_topics=12, prevalence=0.2, grade_proportions=(0.6, 0.4), random_seed=6
    )
    design = be.designs.pps_strata(graded, budget=60)
    part = be.reveal(graded, design, be.draw(design, random_seed=7))
    notes = ["Noted before."]
    text = report(part, ["nDCG@10", "P@10"], draws=50, notes=notes, random_seed=8)
    page = Page(text)
    assert page.points[0] == "Noted before."
    assert text.count("dyn and the model combined") >= 2


def test_options_are_checked_before_the_work(sampled):
    with pytest.raises(ValueError, match="ci_prob must lie between 0 and 1"):
        report(sampled, "P@10", ci_prob=2.0, random_seed=1)
    with pytest.raises(ValueError, match="learn_from must be one of design, all, not 'n4'"):
        report(sampled, "P@10", learn_from="n4", random_seed=1)
    with pytest.raises(ValueError, match="draws is 0"):
        report(sampled, "P@10", draws=0, random_seed=1)
    with pytest.raises(ValueError, match="random_seed is .*; allowed: a whole number, 0 or more"):
        report(sampled, "P@10", random_seed=-1)


def test_labels_are_escaped_in_tables_and_lists():
    drawn = table("<t>", ["<a>", "b"], [["&", "1"]])
    assert drawn.count("<td") == 1 and "<caption>&lt;t&gt;</caption>" in drawn
    assert '<th scope="col" class="key">&lt;a&gt;</th><th scope="col">b</th>' in drawn
    assert '<th scope="row" class="key">&amp;</th><td>1</td>' in drawn
    assert paired("<t>", ["<a>", "b"], np.array([[0.5, 1.0], [0.001, 0.5]])).count("&lt;a&gt;") == 2
    assert listed(["<i>"]) == "<ul><li>&lt;i&gt;</li></ul>"


def test_runs_without_some_topics_are_noted(sampled):
    runs = be.trec.runs_frame(sampled)
    whole = be.trec.qrels_frame(sampled)
    some = runs[(runs["run"] != "r2") | (runs["topic"].astype(int) < 4)]
    page = Page(report(be.read_collection(whole, some), "P@10", random_seed=5))
    assert "1 run lacks topics and scores 0 there; r2 lacks most, 12 of 15." in page.points
    none = be.read_collection(whole, runs[runs["topic"].astype(int) < 4])
    page = Page(report(none, "P@10", random_seed=5))
    assert len([point for point in page.points if "lack" in point]) == 1
    assert not any("no run has documents" in point for point in page.points)


@pytest.mark.parametrize(
    ("estimator", "measure", "fate"),
    [
        ("assumed", "P@10", "; they count as not relevant."),
        ("assumed", "nDCG@10", "; they count as not relevant."),
        ("assumed", "Judged@10", ")."),
        ("condensed", "P@10", "; they are left out of the rankings."),
    ],
)
def test_what_becomes_of_unjudged_documents_is_stated_as_it_is(sampled, estimator, measure, fate):
    bare = be.read_collection(be.trec.qrels_frame(sampled), be.trec.runs_frame(sampled))
    page = Page(report(bare, measure, estimator=estimator, random_seed=5))
    (note,) = [point for point in page.points if "falls on unjudged documents" in point]
    assert note.endswith(fate) and note.count(";") == fate.count(";")


def test_weight_that_cannot_be_known_is_not_passed_over(sampled, tmp_path):
    be.trec.write_prels(sampled, tmp_path / "prels")
    listed = be.read_collection(
        tmp_path / "prels", be.trec.runs_frame(sampled), qrels_format="prels"
    )
    text = report(listed, "P@10", random_seed=5)
    assert text == report(listed, "P@10", estimator="stat", random_seed=5)
    page = Page(text)
    assert any("documents outside the sampling frame is not known" in x for x in page.points)


def test_scores_without_errors_have_no_ranks(sampled):
    design = be.designs.pps_strata(be.read_collection(None, be.trec.runs_frame(sampled)), budget=1,
                                   n_strata=1)  # fmt: skip
    selected = be.draw(design, random_seed=6)
    known = be.read_collection(be.trec.qrels_frame(sampled), be.trec.runs_frame(sampled))
    tiny = be.reveal(known, design, selected, unjudged="nonrelevant")
    one = be.select(known, topics=known["topic"].to_numpy()[:1].tolist())
    for few, why in ((tiny, "one judged document to a topic"), (one, "one topic")):
        text = report(few, "P@10", random_seed=5)
        page = Page(text)
        assert f"There are no ranks: from {why} some errors of scores are not known." in page.points
        assert "possible ranks" not in text and len(page.rows) == 6 and page.drawn == 1


def test_draws_with_replacement_are_not_taken_for_a_pool(sampled):
    whole = be.read_collection(be.trec.qrels_frame(sampled), be.trec.runs_frame(sampled))
    design = be.designs.with_replacement(whole, budget=20)
    drawn = be.reveal(whole, design, be.draw(design, random_seed=7))
    text = report(drawn, "P@10", random_seed=5)
    assert text == report(drawn, "P@10", estimator="importance", random_seed=5)
    mean = be.mean_over_topics(be.evaluate(drawn, "P@10", estimator="importance"))
    shown = {row[0]: row[1] for row in Page(text).rows[1:]}
    assert shown == {run: f"{mean['estimate'].sel(run=run).item():.3f}" for run in shown}


def test_control_characters_of_names_are_written_as_escapes():
    text = page("a\x1b[31m\x00", "", "b\x7f\tc\udcff", [])
    assert "<h1>a\\x1b[31m\\x00</h1>" in text and "b\\x7f\tc\\udcff" in text


def test_measures_that_only_a_model_scores_have_a_section(sampled):
    options = {"draws": 100, "random_seed": 1}
    both, alone = (report(sampled, one, **options) for one in (["P@10", "RR@10"], "RR@10"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are on the page
        scores = be.scores(sampled, ["P@10", "RR@10"], estimator="combined", **options)
    for text in (both, alone):
        assert "By the model alone, " in text and "No sums of sampled judgments" in text
        best = scores.estimate.sel(measure="RR@10").max().item()
        assert f"{best:.3f}" in text
    assert "By dyn and the model combined, " in both and "dyn and the model combined" not in alone
