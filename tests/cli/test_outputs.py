"""No command replaces what it reads, nor a pipe, a device or a link by a file."""

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tempfile
import threading
from contextlib import redirect_stderr, redirect_stdout

import pytest

import bayeseval as be
from bayeseval.cli import main

SCORE = ["evaluate", "qrels", "a", "b", "-m", "P@5", "--estimator", "assumed", "--format", "csv"]
SAMPLE = ["sample", "a", "b", "--budget", "8", "--seed", "1"]
ADJUST = ["adjust", "qrels", "a", "b", "--unpooled", "c"]
PLAN = ["plan", "qrels", "a", "b", "-m", "P@5", "--budget", "9"]
FIT = ["fit", "qrels", "a", "b", "-m", "P@5"]


@pytest.fixture
def folder(files, monkeypatch):
    """The folder of the files, in which commands run, with links and further inputs."""
    monkeypatch.chdir(files)
    (files / "link").symlink_to("qrels")
    os.link(files / "a", files / "twin")
    (files / "topics").write_text("1\n")
    (files / "teams").write_text("run,team\na,x\nb,y\nc,z\n")
    for folder, name, source in (
        ("link-out", "scores.csv", "../qrels"),
        ("plot-out", "trace.png", "../a"),
    ):
        (files / folder).mkdir()
        (files / folder / name).symlink_to(source)
    return files


HOME = [
    ([*SCORE, "--output", "~/qrels"], "qrels"),
    ([*SCORE, "--design", "~/c", "--output", "c"], "c"),
    ([*SAMPLE, "--design-file=~/a"], "a"),
    (
        [*SAMPLE, "--design-file", "d.nc", "--labels", "llm=~/topics", "--output", "topics"],
        "topics",
    ),
    ([*SAMPLE, "--design-file", "d.nc", "--labels", "~/topics", "--output", "topics"], "topics"),
    ([*ADJUST, "--common-topics", "~/topics", "--output", "topics"], "topics"),
    ([*FIT, "--output", "~/link-out"], "qrels"),
]
CLASHES = [
    ([*SCORE, "--output", "qrels"], "qrels"),
    ([*SCORE, "--output", "./a"], "a"),
    ([*SCORE, "--output", "link"], "qrels"),
    ([*SCORE, "--output", "twin"], "a"),
    (["evaluate", "qrels", "[ab]", *SCORE[4:], "--output", "b"], "b"),
    ([*SCORE, "--design", "c", "--output", "c"], "c"),
    ([*SAMPLE, "--design-file", "a"], "a"),
    ([*ADJUST, "--output", "c"], "c"),
    ([*ADJUST, "--common-topics", "topics", "--output", "topics"], "topics"),
    ([*SAMPLE, "--design-file", "d.nc", "--certain", "qrels", "--output", "link"], "qrels"),
    ([*SAMPLE, "--design-file", "d.nc", "--labels", "topics", "--output", "topics"], "topics"),
    (["compare", *SCORE[1:], "--output", "link"], "qrels"),
    (["compare", *SCORE[1:], "--output", "twin"], "a"),
    (["rank", *SCORE[1:], "--output", "./b"], "b"),
    (["plan", *FIT[1:6], "--budget", "9", "--output", "link"], "qrels"),
    (["report", *FIT[1:6], "--output", "twin"], "a"),
    ([*FIT, "--output", "link-out"], "qrels"),
    ([*FIT, "--output", "plot-out"], "a"),
]


@pytest.mark.parametrize(("words", "lost"), CLASHES, ids=[" ".join(row[0]) for row in CLASHES])
def test_an_input_is_never_an_output(command, folder, words, lost):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code, out, err = command(*words)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert f"would replace {lost}, which this command reads" in err
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before


@pytest.mark.parametrize(("words", "lost"), HOME, ids=[" ".join(row[0]) for row in HOME])
def test_a_home_that_the_shell_left_alone_is_looked_into(command, folder, monkeypatch, words, lost):
    monkeypatch.setenv("HOME", str(folder))
    code, out, err = command(*words)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert re.search(rf"would replace (\S*/)?{lost}, which this command reads", err)


def test_results_go_into_a_home_that_the_shell_left_alone(command, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert command(*SAMPLE, "--design-file=~/d.nc", "--output", "~/list")[0] == 0
    assert be.read_design(folder / "d.nc").sizes["topic"] == 3
    assert len((folder / "list").read_text().splitlines()) == 3 * 8
    assert command("demo", "--output", "~/made")[0] == 0 and (folder / "made").is_dir()
    assert not (folder / "~").exists()


def test_a_link_to_nothing_is_no_folder_for_results(command, folder):
    (folder / "gone").symlink_to("nowhere")
    for words in ([*FIT, "--output", "gone"], ["demo", "--output", "gone/in"]):
        code, out, err = command(*words)
        assert (code, out) == (2, "") and "gone is a link to nothing" in err
    code, out, err = command("demo", "--output", "gone")
    assert (code, out) == (2, "") and "link to nothing; name another --output" in err


def test_an_empty_name_is_not_the_folder_one_stands_in(command, folder):
    for words in ([*FIT, "--output", ""], ["demo", "--output", ""]):
        code, out, err = command(*words)
        assert (code, out) == (2, "") and "'' names no folder; . is this one" in err


def test_what_a_model_has_not_is_refused_before_files_are_read(command, folder):
    for words in (["fit", "no", "none"], ["adjust", "no", "none", "--unpooled", "c"]):
        code, out, err = command(*words, "-m", "Bpref")
        assert (code, out) == (2, "") and "Bpref " in err and "; measures that " in err


def test_two_outputs_are_two_files(command, folder):
    (folder / "other").symlink_to("d.nc")
    for output in ("d.nc", "./d.nc", "other"):
        code, out, err = command(*SAMPLE, "--design-file", "d.nc", "--output", output)
        assert (code, out) == (2, "")
        assert "--design-file and --output both name" in err
    code, out, err = command(*SAMPLE, "--design-file", "-")
    assert (code, out) == (2, "") and "both name -" in err


def test_a_design_replaces_no_file(command, folder):
    be.save_collection(be.read_collection("qrels", ["a"]), "collection.nc")
    for other in ("qrels", "collection.nc"):
        before = (folder / other).read_bytes()
        code, out, err = command(*SAMPLE, "--design-file", other)
        assert (code, out) == (2, "") and f"{other} exists" in err
        assert (folder / other).read_bytes() == before
    (folder / "empty.nc").touch()
    assert command(*SAMPLE, "--design-file", "empty.nc")[0] == 0


def test_a_dash_is_stdout(command, folder):
    plain = command(*SCORE)[1]
    assert command(*SCORE, "--output", "-")[1] == plain
    asked = command(*SAMPLE, "--design-file", "d.nc")[1]
    assert command(*SAMPLE, "--design-file", "e.nc", "--output", "-")[1] == asked
    assert command(*ADJUST, "--output", "-")[1].split() == command(*ADJUST)[1].split()
    for words in (FIT, ["demo"]):
        code, out, err = command(*words, "--output", "-")
        assert (code, out) == (2, "") and "folder" in err
    assert not (folder / "-").exists()
    code, out, err = program(*SAMPLE, "--design-file", "-", "--output", "list")
    assert code == 0 and out == (folder / "d.nc").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has /dev/full")
def test_there_is_no_list_to_judge_where_the_design_cannot_be_written(command, folder):
    code, out, err = command(*SAMPLE, "--design-file", "/dev/full")
    assert (code, out, err) == (2, "", "bayeseval: /dev/full: No space left on device\n")
    code, out, err = command(*SAMPLE, "--design-file", "/dev/full", "--output", "list")
    assert code == 2 and not (folder / "list").exists()


FORMATS = {"s.csv": "csv", "s.JSON": "json", "s.md": "markdown", "s.tex": "latex", "s": "table"}

FORMATTED = [
    SCORE[:-2], ["compare", *SCORE[1:-2]], ["rank", *SCORE[1:-2]], ADJUST, PLAN
]  # fmt: skip


@pytest.mark.parametrize("words", FORMATTED, ids=lambda words: words[0])
def test_a_file_has_the_format_that_its_name_ends_in(command, folder, words):
    asked = {}
    for name, format in FORMATS.items():
        code, out, err = command(*words, "--output", name)
        assert (code, out) == (0, ""), err
        asked[format] = command(*words, "--format", format)[1]
        assert (folder / name).read_text() == asked[format]
    assert len(set(asked.values())) == len(FORMATS)
    assert command(*words, "--output", "s.csv", "--format", "json")[0] == 0
    assert (folder / "s.csv").read_text() == asked["json"]


OTHER_NAMES = ["s.xlsx", "S.XLSX", "s.tsv", "s.parquet", "s.html", "s.docx", "s.pdf", "s.xlsx.gz"]


@pytest.mark.parametrize("words", [*FORMATTED, SCORE])
def test_a_name_that_promises_a_format_which_is_not_written_is_refused(command, folder, words):
    for name in OTHER_NAMES:
        code, out, err = command(*words, "--output", name)
        assert (code, out) == (2, ""), name
        assert f"--output {name}: no ." in err and "ends in .csv gives a table for Excel" in err
        assert not (folder / name).exists()


def test_it_is_refused_before_files_are_read(command, folder):
    code, _, err = command("rank", "nowhere", *SCORE[2:-2], "--output", "s.ods")
    assert code == 2 and "no .ods is written" in err and "nowhere" not in err


def test_a_table_goes_to_a_text_file_and_columns_with_tabs_to_tsv(command, folder):
    table = command(*SCORE[:-2])[1]
    for name in ("s.txt", "s", "s.txt.gz"):
        assert command(*SCORE[:-2], "--output", name)[0] == 0
    assert (folder / "s.txt").read_text() == (folder / "s").read_text() == table
    lines = [*SCORE[:-1], "trec_eval"]
    assert command(*lines, "--output", "s.tsv")[0] == 0
    assert (folder / "s.tsv").read_text() == command(*lines)[1]


@pytest.mark.parametrize("name", ["r.pdf", "r.docx", "r.csv", "r.txt", "r.md.gz"])
def test_a_report_is_html_alone(command, folder, name):
    page = ["report", "nowhere", "a", "-m", "P@5", "--output"]
    code, _, err = command(*page, name)
    assert code == 2 and "a report is a page of HTML, not ." in err and not (folder / name).exists()
    for other in ("r.html", "r.htm.gz", "r"):
        assert "a page of HTML" not in command(*page, other)[2]


def test_a_file_is_compressed_as_its_name_ends(command, folder):
    plain = command(*SCORE)[1]
    for ending, opened in ((".gz", gzip.open), (".xz", lzma.open), (".bz2", bz2.open)):
        assert command(*SCORE[:-2], "--output", f"scores.csv{ending}")[0] == 0
        with opened(f"scores.csv{ending}", "rt") as scores:
            assert scores.read() == plain
    code, out, err = command(*SCORE, "--output", "scores.zip")
    assert (code, out) == (2, "") and "scores.zip ends in .zip; plain text or .gz" in err


def test_links_stay_and_pipes_are_written_through(command, folder):
    plain = command(*SCORE)[1]
    (folder / "scores").symlink_to("target")
    assert command(*SCORE, "--output", "scores")[0] == 0
    assert os.readlink("scores") == "target" and (folder / "target").read_text() == plain
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((folder / "pipe").read_text()))
    reader.start()
    assert command(*SCORE, "--output", "pipe")[0] == 0
    reader.join(10)
    assert read == [plain] and (folder / "pipe").is_fifo()


def program(*words, stdout=None, encoding="utf-8"):
    """The program with a file as the system's stdout; its exit code, stdout and stderr."""
    kept, said = os.dup(1), io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace")
    with tempfile.TemporaryFile() as unnamed:
        os.dup2((stdout or unnamed).fileno(), 1)
        try:
            with open(1, "w", encoding=encoding, closefd=False) as text:
                with redirect_stdout(text), redirect_stderr(said):
                    code = main(words)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        unnamed.seek(0)
        said.seek(0)
        return code, unnamed.read(), said.read()


def test_streams_that_are_closed(command, folder):
    """Nothing is lost without a word, and no file takes the number of a stream."""
    plain = command(*SCORE)[1]
    shell = f'{sys.executable} -m bayeseval "$@"'
    started = {"env": os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, "text": True}
    done = subprocess.run(
        ["sh", "-c", f"{shell} 2>&-", "sh", *SCORE], stdout=subprocess.PIPE, **started
    )
    assert (done.returncode, done.stdout) == (0, plain)
    done = subprocess.run(
        ["sh", "-c", f"{shell} >&-", "sh", *SCORE], stderr=subprocess.PIPE, **started
    )
    assert done.returncode == 2 and done.stderr.endswith("bayeseval: stdout: it is closed\n")


def test_results_are_whole_where_nobody_reads_what_is_said_beside_them(command, folder):
    words = ["rank", *SCORE[1:]]
    code, out, err = command(*words)
    assert code == 0 and err
    for asked, answer in ((words, (0, out)), (["rank"], (2, "")), ([], (2, ""))):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w", buffering=1) as unread, redirect_stderr(unread):
            assert command(*asked)[:2] == answer


def test_where_the_encoding_lacks_the_lines_of_a_table_they_are_ascii(folder):
    table = program(*SCORE[:-2])[1].decode()
    code, out, _ = program(*SCORE[:-2], encoding="cp1252")  # what Windows gives a file
    assert code == 0
    plain = out.decode("ascii")
    assert "|run |" in plain and "+---" in plain
    assert re.findall(r"[\w.]+", plain) == re.findall(r"[\w.]+", table)
    code, out, err = program("rank", *SCORE[1:-2], encoding="cp1252")
    assert code == 0 and "|run |" in out.decode("ascii")


def test_an_encoding_that_lacks_the_letters_of_a_label_is_one_sentence(folder):
    (folder / "greek").write_text("1 Q0 d00 1 2 \N{GREEK SMALL LETTER ALPHA}\n", encoding="utf-8")
    for words in (SCORE[4:-2], SCORE[4:]):
        code, out, err = program("evaluate", "qrels", "greek", *words, encoding="cp1252")
        assert (code, out) == (2, b"")
        assert "stdout is written as cp1252, which has no '\\u03b1'; set PYTHON" in err


def test_a_terminal_does_not_obey_labels(folder):
    (folder / "red").write_text("1 Q0 d00 1 2 \033[31mred\n")
    words = ["evaluate", "qrels", "red", *SCORE[4:]]
    assert b"\n\x1b[31mred,all" in program(*words)[1]  # a file or a pipe has it as it is
    screen, side = os.openpty()
    with os.fdopen(side, "wb") as terminal:
        code, out, err = program(*words, stdout=terminal)
    shown = os.read(screen, 10_000)
    os.close(screen)
    assert code == 0
    assert b"\\x1b[31mred,all" in shown and b"\x1b[31m" not in shown


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has /dev/full")
def test_a_full_device_is_one_sentence(command, folder):
    (folder / "full").symlink_to("/dev/full")  # a fault would replace the link only
    code, out, err = command(*SCORE, "--output", "full")
    assert (code, out) == (2, "")
    assert err.endswith("bayeseval: full: No space left on device\n")
    assert (folder / "full").is_symlink() and not (folder / "full").is_file()
    with open("/dev/full", "wb") as full:
        code, out, err = program(*SCORE, stdout=full)
    assert code == 2 and err.endswith("bayeseval: stdout: No space left on device\n")


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="Linux has /proc")
def test_what_stdout_has_stays_before_what_is_written_to_its_device(folder, command):
    (folder / "stdout").symlink_to("/proc/self/fd/1")  # as /dev/stdout is
    with (folder / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        code, out, err = program(*SCORE, "--output", "stdout", stdout=log)
    assert code == 0, err
    assert (folder / "stdout").is_symlink()
    assert (folder / "log").read_text() == "before\n" + command(*SCORE)[1]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="Linux has /dev/fd")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "bayeseval: stdout would go into qrels, which"),
        (["--output", "/dev/stdout"], "bayeseval: --output /dev/stdout would replace qrels, which"),
    ],
)
def test_an_input_that_is_open_is_never_written_to(folder, words, message):
    before = (folder / "qrels").read_bytes()
    with (folder / "qrels").open("ab") as appended:
        code, out, err = program(*SCORE, *words, stdout=appended)
    assert (code, (folder / "qrels").read_bytes()) == (2, before)
    assert err.startswith(message)
