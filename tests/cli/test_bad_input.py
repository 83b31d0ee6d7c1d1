"""Mistakes in words and in files: exit code 2, one sentence, and nothing is written."""

import gzip

import numpy as np
import pytest
import xarray as xr

import bayeseval as be


def check_refused(answer, *parts):
    """Check that an answer is a user's mistake in one sentence that holds these parts."""
    code, out, err = answer
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    for part in parts:
        assert str(part) in err, f"{part!r} is not in {err!r}"


EVALUATE = "evaluate qrels a --estimator assumed"
AP = f"{EVALUATE} -m AP"
DYN = "evaluate qrels a -m AP --estimator dyn"
PAIR = "qrels a b c -m P@5 --estimator assumed"
COMBINED = "judged a b c -m P@10 --design design.nc --estimator combined"
SAMPLE = "sample a --budget 8 --design-file new.nc --output list.txt"
PPS = f"{SAMPLE} --scheme pps"
CERTAIN = "sample a b --budget 5 --design-file new.nc --certain"
NEXT = "sample --design design.nc --judged judged --design-file new.nc"
ADJUST = "adjust qrels a b --unpooled c --pool-depth 3"
REPORT = "report qrels a b c -m P@5 --output page.html"
PLAN = "plan judged a b c -m P@5 --design design.nc"
FIT = "fit judged a b c -m P@10"
LEVEL = "fit judged a b c -m P(rel=1)@10 --output out"
URN = f"{FIT} --output out --model urn --pool-depth"
LABELS = "evaluate qrels a -m P@5 --labels qrels"
LOWEST = "no judged document has the grade"
BAD = [
    (f"{EVALUATE} -m Precis@10", "Precis@10", "P@10", "nDCG@10"),
    (f"{EVALUATE} -m RBP(p=2)", "p=2", "between 0 and 1"),
    ("evaluate qrels a -m AP --estimator stat", "stat", "design"),
    (f"{AP} --ci-prob 1", "--ci-prob", "1"),
    (f"{AP} --relevance-level 0", "--relevance-level"),
    (f"{AP} --output no/where.csv", "no/where.csv"),
    (f"{AP} --output .", "folder"),
    (f"{AP} --format xml", "'--format': 'xml' is not one of 'table'", "csv"),
    (f"{AP} --population all", "--population", "topics"),
    (f"{AP} --sort nDCG@5", "--sort nDCG@5 is none of the measures asked for: AP"),
    (EVALUATE, "-m"),
    (f"{AP} --wrong", "--wrong"),
    ("evaluate qrels a -m xinfAP --estimator inf", "xinfAP of sample_eval is AP by --estimator"),
    ("evaluate qrels a -m infNDCG --estimator inf", "infNDCG of sample_eval is nDCG by"),
    ("evaluate qrels a -m infAP --estimator inf", "xinfAP of sample_eval is AP by --estimator inf"),
    ("evaluat", "evaluat"),
    ("evaluate", "QRELS", "bayeseval evaluate --help"),
    (f"{AP} --estimator best", "'best' is not one of 'combined', 'dyn'"),
    (f"{SAMPLE} --depth 0", "--depth", "0"),
    (f"{SAMPLE} --depth none", "--depth takes a whole number"),
    (f"{SAMPLE} --design-file qrels", "qrels exists", "name another --design-file"),
    (f"compare {PAIR} --pair a z", "the collection has no run 'z'"),
    (f"compare {PAIR} --pair a a", "--pair names two different runs"),
    (f"compare {PAIR} --pair a b --reference c", "--pair is one comparison; leave out --reference"),
    ("evaluate q", "Missing argument 'RUN': Run files or quoted globs"),
    ("fit q r -m AP --draws 2", "--draws must be at least 4"),
    *(
        (f"{name} {PAIR} {words}", *parts)
        for name in ("compare", "rank")
        for words, *parts in [
            ("--population sample", "for these topics need --estimator stat or dyn, not 'assumed'"),
            ("--ci-prob 2", "--ci-prob must lie between 0 and 1"),
        ]
    ),
    (f"compare {PAIR} --reference z", "the collection has no run 'z'"),
    (f"compare {PAIR} --equivalence 0", "equivalence must be above 0"),
    (f"compare {PAIR} --fail-if-worse", "--fail-if-worse needs the run"),
    (f"rank {PAIR} --top 9", "top must be a number of runs from 1 to 3, not 9"),
    (f"evaluate {COMBINED} --half-width 0.1", "--anytime: scores of design and model combined"),
    (f"evaluate {COMBINED} -m Bpref", "Bpref has no posterior scores"),
    *(
        (
            f"{name} judged a b c -m P@10 --estimator combined",
            "needs the design (--design) of a random",
        )
        for name in ("evaluate", "compare", "rank")
    ),
    *(
        (
            f"{name} prels a b -m P@5 --estimator combined --qrels-format prels",
            "take --estimator stat",
        )
        for name in ("evaluate", "compare", "rank")
    ),
    (f"rank {COMBINED} --top 4", "--top must be a number of runs from 1 to 3, not 4"),
    (f"compare {COMBINED} --reference z", "the collection has no run 'z'"),
    (f"compare {COMBINED} --equivalence -1", "--equivalence must be above 0"),
    (f"{SAMPLE} --budget 0", "--budget"),
    (f"{SAMPLE} --budget ten", "--budget takes a whole number"),
    (f"{SAMPLE} -m P@x", "P@x"),
    (f"{PPS} -m P@5", "--measure goes with --scheme order; pps favours no measure"),
    ("sample a --design-file new.nc --scheme pps", "--scheme pps needs a --budget"),
    ("sample --design-file new.nc", "no RUN to sample from"),
    (f"{SAMPLE} --judged judged", "--judged goes with --design"),
    (f"{SAMPLE} --unjudgeable nonrelevant", "--unjudgeable goes with --design"),
    ("sample --design design.nc --design-file new.nc", "give what is judged of it by --judged"),
    (f"{NEXT} --seed 1", "--seed is for a new list"),
    (f"{NEXT} --certain qrels", "--certain is for a new list"),
    (f"{NEXT} --budget 9", "a sample by pps_strata cannot be continued; --scheme order makes"),
    (f"{EVALUATE} -m AP --unjudgeable nonrelevant", "--unjudgeable goes with --design"),
    (f"{SAMPLE} --seed 99999999999999999999", "--seed"),
    (f"{SAMPLE} --seed -1", "--seed"),
    (f"{SAMPLE} --pool-depth 0", "--pool-depth"),
    (f"{SAMPLE} --design-file nowhere/new.nc", "nowhere"),
    (f"{SAMPLE} --output new.nc", "--output"),
    (f"{SAMPLE} --output listed.json", "sample writes no .json; a name that ends in .csv gives"),
    (f"{SAMPLE} --output listed.jsonl.gz", "sample writes no .jsonl"),
    (f"{SAMPLE} --output listed.xlsx", "any other lines `topic TAB document`"),
    (f"{SAMPLE} --output listed.zip", "listed.zip ends in .zip; plain text or .gz"),
    (f"{CERTAIN} qrels --budget 0", "--budget must be a whole number of judgments"),
    (f"{CERTAIN} qrels", "topic '1' has 40 certain pairs, which --budget counts: 5 leaves none"),
    (f"{CERTAIN} unjudged", "--certain has no judgment to keep"),
    (f"{CERTAIN} absent", "judgments file absent does not exist"),
    (f"{ADJUST} --common-topics 77", "topics of the collection; unknown: 77; its topics: 1, 2"),
    (f"{ADJUST} --common-topics ,", "none given"),
    (f"{ADJUST} --common-topics no.txt", "'no.txt' is neither a file nor topics of QRELS"),
    (f"{ADJUST} --common-topics lost/more.qrels", "is neither a file nor topics"),
    (f"{ADJUST} -m Bpref", "Bpref is no sum of relevances"),
    (f"{ADJUST} --pool-depth 0", "--pool-depth is 0; allowed: a whole number, 1 or more"),
    (f"{ADJUST} --unpooled a", "a is both a RUN and --unpooled"),
    (f"{ADJUST} --unpooled link", "link is both a RUN and --unpooled"),
    (f"{ADJUST} --unpooled [ab]", "a is both a RUN and --unpooled"),
    ("adjust a qrels --unpooled c", "a, line 1: 6 fields where qrels have 4", "judgments first"),
    (f"{REPORT} --ci-prob 2", "--ci-prob must lie between 0 and 1"),
    (f"{REPORT} -m P@5@6", "P@5@6"),
    (f"{PLAN} --budget 0", "--budget is 0; allowed: a whole number, 1 or more"),
    (f"{PLAN} --budget 9 --n-topics 0", "--n-topics is 0; allowed"),
    (f"{PLAN} --budget 9 --half-width -1", "--half-width must be a number above 0"),
    (f"{PLAN} --budget 9 --ci-prob 90", "--ci-prob must lie between 0 and 1"),
    (PLAN, "Missing option '--budget'"),
    (
        f"{LABELS} --estimator assumed",
        "estimator 'assumed' uses no predictor and no labels; use --estimator dyn",
    ),
    (f"{LABELS} --estimator dyn --labels x=no", "there is no file 'no' of labels"),
    (f"{LABELS} --estimator dyn --labels qrels=a", "two judges 'qrels'"),
    (f"{LABELS} --estimator dyn --labels =a", "names no judge; write NAME=FILE"),
    (f"{URN} 3 --labels qrels", "not with --model urn"),
    (f"{FIT} --output out --model pps", "--model", "'pps'", "'relevance', 'grades', 'urn'"),
    (f"{FIT} --output out --model urn", "--model urn needs --pool-depth"),
    (f"{FIT} --output out --pool-depth 5", "--model urn, not with --model relevance"),
    (f"{URN} 0", "--pool-depth", "1"),
    (f"{URN} 6 --depth 5", "--depth 5", "--pool-depth 6"),
    (f"{FIT} --output out --depth 9", "--depth 9 is below the cutoff of P@10"),
    (f"{URN} 20", "unjudged document", "judged to one depth"),
    (f"{URN} 1 --qrels-format prels", "urn", "no sample"),
    (f"{FIT} --output out --draws 0", "--draws", "4"),
    (f"{FIT} --output out --seed -1", "--seed", "-1"),
    (f"{FIT} --output out --ci-prob 1", "--ci-prob", "between 0 and 1"),
    (f"{LEVEL} --model grades --relevance-level 2", "P(rel=2)@10"),
    (f"{LEVEL} --relevance-level 0", "--relevance-level is 0", "whole number, 1 or more"),
    (f"{LEVEL} --relevance-level 7", "--relevance-level 1"),
    (f"{FIT} --output out --relevance-level 3", f"{LOWEST} --relevance-level 3", "highest is 2"),
    (f"{FIT} --output out --format trec_eval", "--format", "json"),
    (f"{FIT} --output judged", "judged is a file", "folder"),
    (f"{FIT} --output judged/deeper/still", "judged is a file", "folder"),
    (f"{FIT} --output .", "--output . is the folder of the RUN a, and a glob", "another folder"),
    (f"{FIT} --output ../{{folder}}", "is the folder of the RUN a"),
    (f"{FIT} --output out --design none.nc", "none.nc"),
    (f"{FIT} --output out -m nDCG@10", "nDCG@10 counts grades", "--model grades"),
    (f"{FIT} --output out -m P(rel=2)@10", "--relevance-level 2, or take --model grades"),
    (f"{FIT} --output out -m Bpref", "Bpref", "no posterior scores", "RBP"),
    (f"{FIT} --output out -m Precis@10", "Precis@10"),
    (f"{FIT} --output out --qrels-format prels", "prels", "outside='model'", "evaluate"),
    ("demo --output judged", "is a file"),
]


@pytest.fixture(scope="module")
def folder(kept_files, draw_sample):
    """The files, with a sample of a and b, its judgments in other forms, and a link to a."""
    draw_sample(kept_files, runs="ab")
    judged = [line.split() for line in (kept_files / "judged").read_text().splitlines()]
    rows = [f"{topic} {document} {grade} 1 0.5\n" for topic, _, document, grade in judged]
    (kept_files / "prels").write_text("".join(rows))
    (kept_files / "unjudged").write_text("1 0 d01 -1\n")
    (kept_files / "link").symlink_to("a")
    return kept_files


@pytest.mark.parametrize(("line", "parts"), [(line, parts) for line, *parts in BAD])
def test_a_bad_request_is_one_sentence_and_writes_nothing(
    command, folder, monkeypatch, line, parts
):
    for name in ("bayeseval.inference.fit", "bayeseval.combination.scores.fit"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("refused too late"))
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    answer = command(*line.format(folder=folder.name).split())
    notes = [line for line in answer[2].splitlines() if ": labels '" not in line]
    check_refused((*answer[:2], "\n".join(notes)), *parts)
    assert sorted(path.name for path in folder.iterdir()) == before


UNREAD = [
    ("evaluate", "Precis@10 --estimator stat", "Precis@10", "nDCG@10"),
    ("adjust", "Precis@10 --unpooled b", "Precis@10", "nDCG@10"),
    ("fit", "Precis@10", "Precis@10", "nDCG@10"),
    ("fit", "nDCG@10 --relevance-level 2", "nDCG@10 counts grades; take --model grades"),
    ("fit", "P(rel=2)@10", "P(rel=2)@10 counts grades from 2 and the model those from 1"),
    ("fit", "P(rel=2)@10 --model urn --pool-depth 5", "--relevance-level 2"),
    ("fit", "Bpref", "Bpref ", "; measures that "),
    ("adjust", "Bpref --unpooled b", "Bpref ", "; measures that "),
    *(
        (name, f"RR --estimator {estimator}", part)
        for name in ("evaluate", "compare", "rank")
        for estimator, part in [
            ("dyn", "has no 'dyn' estimate"),
            ("hopeful", "'hopeful' is not one of 'combined', 'dyn'"),
        ]
    ),
    *(
        ("evaluate", f"{name} --estimator dyn", name, "nDCG", "RBP")
        for name in ("RR", "Bpref", "Success@5", "Judged@10")
    ),
]


@pytest.mark.parametrize(
    ("name", "measure", "parts"), [(name, measure, parts) for name, measure, *parts in UNREAD]
)
def test_a_measure_that_there_is_not_is_refused_before_files_are_read(
    command, name, measure, parts
):
    check_refused(command(name, "nowhere", "none", "-m", *measure.split()), *parts)


def test_a_measure_of_more_grades_than_the_model_has_is_refused_before_it_is_made(
    command, folder, monkeypatch
):
    monkeypatch.setattr(be.models, "relevance_model", lambda *_, **__: pytest.fail("made"))
    words = ["-m", "P@10", "-m", "nDCG@10"]
    answer = command("fit", folder / "qrels", folder / "a", *words, "--output", folder / "out")
    check_refused(answer, "nDCG@10 counts grades; take --model grades")


def changed(path, number, line):
    """Replace line `number` (from 1), or append it."""
    lines = path.read_text().splitlines()
    lines[number - 1 : number] = [line]
    path.write_text("\n".join(lines) + "\n")


def score(command, files, *words, qrels="qrels", run="a", estimator="assumed"):
    asked = ["-m", "AP", "--estimator", estimator, *words]
    return command("evaluate", files / qrels, files / run, *asked)


BAD_LINES = [
    ("a", "1 Q0 d05 0 3.5 a", "d05"),
    ("a", "1 Q0 d04 0", "4"),
    ("a", "1 Q0 d04 0 nan a", "nan"),
    ("a", "1 Q0 d04 0 inf a", "inf"),
    ("a", "1 Q0 d04 0 high a", "high"),
    ("qrels", "1 0 d05 1", "d05"),
    ("qrels", "1 0 d04", "3"),
    ("qrels", "1 0 d04 yes", "yes"),
    ("qrels", "1 0 d04 1.5", "1.5"),
]


@pytest.mark.parametrize(("name", "line", "part"), BAD_LINES, ids=[row[1] for row in BAD_LINES])
def test_a_bad_line_is_named(command, files, name, line, part):
    number = 7 if "d05" in line else 5
    changed(files / name, number, line)
    check_refused(score(command, files), files / name, f"line {number}", part)


BAD_TEXTS = [
    ("qrels", "", "empty"),
    ("a", "", "empty"),
    ("a", b"1 Q0 d00 0 1 a\n1 Q0 d\xff\xfe 0 1 a\n"),
    ("qrels", "301 0 d00 1\n302 0 d01 0\n", "301", "topic"),
    ("qrels", "a b c grade\n1 0 d01 1\n", "line 1: grade 'grade'", "a header line"),
    ("qrels", "1,0,d01,1\n", "line 1: 1 field where", "blanks or tabs", "a first line that names"),
    ("qrels", "topic,document,why\n1,d01,1\n", "no column 'grade'; it needs topic, document, gr"),
    ("qrels", "1 d01 1\n", "line 1: 3 fields where at least 4", "needs a first line that names"),
    ("a", "query Q0 docno rank score tag\n", "has a header and no other line"),
]


@pytest.mark.parametrize(("name", "text", "parts"), [(a, b, parts) for a, b, *parts in BAD_TEXTS])
def test_a_file_of_another_shape_is_named(command, files, name, text, parts):
    text = text if isinstance(text, bytes) else text.encode()
    (files / name).write_bytes(text)
    answer = score(command, files)
    check_refused(answer, *parts, *([] if "topic" in parts else [files / name]))
    assert "judgments first" not in answer[2]
    (files / name).unlink()
    check_refused(score(command, files), files / name)


def test_a_broken_archive_is_named(command, files):
    whole = gzip.compress((files / "a").read_bytes())
    (files / "a.gz").write_bytes(whole[: len(whole) // 2])
    check_refused(score(command, files, run="a.gz"), f"{files / 'a.gz'} is not a whole .gz file")
    (files / "a.gz").write_bytes(b"1 Q0 d00 0 1 a\n")
    wrong = f"{files / 'a.gz'} is not gzip data (its name ends in .gz)"
    check_refused(score(command, files, run="a.gz"), wrong)


@pytest.mark.parametrize("probability", ["0", "-0.5", "1.5", "nan", "often"])
@pytest.mark.parametrize("form", ["prels", "probs"])
def test_a_probability_outside_its_range_is_named(command, files, form, probability):
    good, bad = {
        "prels": ("1 d00 1 1 0.5\n", f"1 d01 1 1 {probability}\n"),
        "probs": ("1 0 d00 1 0.5\n", f"1 0 d01 1 {probability}\n"),
    }[form]
    (files / "sampled").write_text(good + bad)
    answer = score(command, files, "--qrels-format", form, qrels="sampled", estimator="stat")
    check_refused(answer, files / "sampled", "line 2", probability)


def test_a_missing_stratum_is_named(command, files):
    (files / "sampled").write_text("1 0 d00 1 1\n1 0 d01 1\n")
    answer = score(command, files, "--qrels-format", "sampleval", qrels="sampled", estimator="stat")
    check_refused(answer, files / "sampled", "line 2")


@pytest.fixture
def design(files, draw_sample):
    """A design file of the first 20 ranks of a; the judgments of its whole sample are there."""
    words = draw_sample(files, runs="a", budget=8, n_strata=2, pool_depth=20)
    lines = [line.split() for line in (files / "judged").read_text().splitlines()]
    (files / "judged").write_text("".join(f"{line[0]} 0 {line[2]} 1\n" for line in lines))
    return words[1]


def by_stat(command, files, design, **names):
    return score(command, files, "--design", design, estimator="stat", qrels="judged", **names)


def test_a_design_that_does_not_fit_the_judgments_is_named(command, files, design):
    with xr.open_dataset(design, engine="h5netcdf") as opened:
        frame = opened.load()
    text, judged = (files / "judged").read_text(), files / "judged"
    of_topic = frame["document"].values[frame["pair_topic"].values == 0]
    stray = next(f"d{number:02d}" for number in range(40) if f"d{number:02d}" not in of_topic)
    judged.write_text(f"{text}1 0 {stray} 1\n")
    question = "are these the judgments of another sample?"
    check_refused(by_stat(command, files, design), judged, "'1'", stray, question)
    lines = text.splitlines(keepends=True)
    judged.write_text("".join(lines[:-1]))
    check_refused(by_stat(command, files, design), judged, lines[-1].split()[2])
    judged.write_text(text)
    (files / "other").write_text((files / "a").read_text().replace(" d", " other"))
    answer = by_stat(command, files, design, run="other")
    check_refused(answer, "design", "does not belong")
    frame["stratum_size"][0] += 1
    design.unlink()
    frame.to_netcdf(design, engine="h5netcdf")
    check_refused(by_stat(command, files, design), design, "stratum")


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_a_run_without_a_topic_of_the_design_is_named(command, files, design, name):
    lines = (files / "b").read_text().splitlines()
    (files / "b").write_text("".join(f"0{line}\n" for line in lines))
    words = [files / "judged", files / "a", files / "b", "-m", "P@10", "--estimator", "stat"]
    found = "run 'b' has no topic in common with the design; it has '01' and so on, the"
    check_refused(command(name, *words, "--design", design), found)
    check_refused(command(name, *words), "run 'b' has no topic in common with the judgments")


def test_a_file_that_is_no_design_is_named(command, files):
    answer = score(command, files, "--design", files / "b", estimator="stat")
    allowed = "is not a design file; --design takes the file that `bayeseval sample --design-file` "
    check_refused(answer, f"'{files / 'b'}' {allowed}wrote")
    xr.Dataset({"x": ("y", np.arange(3))}).to_netcdf(files / "x.nc", engine="h5netcdf")
    for name in ("x.nc", "none.nc"):
        answer = score(command, files, "--design", files / name, estimator="stat")
        check_refused(answer, files / name)


@pytest.mark.parametrize(
    ("place", "kind"), [("qrels", "judgments"), ("run", "a run"), ("labels", "labels")]
)
def test_a_design_in_the_place_of_another_file_is_called_one(command, files, design, place, kind):
    given = {"qrels": files / "qrels", "run": files / "a", "labels": files / "qrels"}
    given[place] = design
    words = ["-m", "AP", "--estimator", "dyn", "--labels", f"judge={given['labels']}"]
    answer = command("evaluate", given["qrels"], given["run"], *words)
    check_refused(answer, f"{design} is a netCDF file (a design?), not {kind}")


def test_a_level_that_the_sample_missed_is_a_warning(command, files, design):
    words = ["--design", design, "--relevance-level", "2", "-m", "P@5"]
    code, _, err = score(command, files, *words, qrels="judged", estimator="dyn")
    assert code == 0 and err.count("no judged document has one; the highest is 1") == 1


def test_files_in_the_wrong_order_are_named_with_the_order(command, files):
    code, out, err = score(command, files, qrels="a", run="qrels")
    assert (code, out) == (2, "") and "QRELS RUN" in err.splitlines()[-1]
    (files / "q.csv").write_text("qid,docno,rel\n1,d01,1\n")
    (files / "r.csv").write_text("qid,docno,score\n1,d01,1.5\n")
    answer = score(command, files, qrels="r.csv", run="q.csv")
    check_refused(answer, "r.csv has no column 'grade'", "judgments first")


def test_one_topic_has_no_error_of_a_difference(command, files):
    (files / "qrels").write_text("1 0 d01 1\n1 0 d02 0\n")
    words = [files / "qrels", files / "a", files / "b", "-m", "P@5", "--estimator", "assumed"]
    for name in ("compare", "rank"):
        code, out, err = command(name, *words)
        assert (code, out) == (2, "")
        assert "the spread over topics needs at least 2 topics with scores" in err
        assert "--population" not in err  # nobody gave it


def test_help_is_short_for_h_and_shown_where_no_command_is_named(command):
    code, out, err = command("--help")
    assert (code, err) == (0, "") and "evaluate" in out and "Usage: bayeseval" in out
    assert command("-h")[:2] == (0, out)
    assert command("evaluate", "-h")[:2] == command("evaluate", "--help")[:2]
    code, nothing, err = command()
    assert (code, nothing, err.split()) == (2, "", out.split())


def test_messages_name_options_and_leave_file_names_alone(command, files):
    with (files / "a").open("a") as run:
        run.write("1 Q0 d00 0 -5 a\n")
    (files / "a").rename(files / "n_strata.run")
    answer = score(command, files, run="n_strata.run")
    check_refused(answer, "n_strata.run", "on_duplicate='best' in Python keeps")
