"""Files of runs and judgments in the formats of TREC, and what is suspected of them."""

import bz2
import gzip
import lzma

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import bayeseval as be
from bayeseval.collection import select
from bayeseval.trec import add_runs, labels, lines, read_collection, read_qrels
from bayeseval.trec.gathering import ranking_order
from bayeseval.trec.labels import Labels
from bayeseval.trec.lines import spans_of
from tests.strategies import IN_FOLDER, LABEL, judgments, qrels_files, rankings, run_files

RUN = "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n2 Q0 a 1 1 r\n"


QRELS = "1 0 a 1\n1 0 c 0\n2 0 a -1\n"


@pytest.fixture
def write(tmp_path):
    """Function that writes a file and returns its path."""

    def written(name: str, text: str | bytes):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


def ranked_labels(collection, run: int = 0) -> dict[str, list[str]]:
    documents = collection["document"].values
    ranking = collection["rankings/ranking"].values[run]
    return {
        topic: documents[row[row >= 0]].tolist()
        for topic, row in zip(collection["topic"].values.tolist(), ranking, strict=True)
    }


def test_a_collection_has_every_retrieved_and_judged_pair(write):
    collection = read_collection(write("qrels", QRELS), write("run", RUN))
    assert collection["document"].values.tolist() == ["a", "b", "c", "a"]
    assert collection["pair_topic"].values.tolist() == [0, 0, 0, 1]
    assert collection["rankings/ranking"].values.tolist() == [[[0, 1], [3, -1]]]
    np.testing.assert_array_equal(collection["judgments/grade"], [1, np.nan, 0, np.nan])
    assert collection["judgments/pooled"].values.tolist() == [True, False, True, True]
    assert collection["run"].values.tolist() == ["r"]
    assert "design" not in collection


def test_negative_grades_may_count_as_judged(write):
    collection = read_collection(write("qrels", QRELS), None, negative_grades="judged")
    assert collection["judgments/grade"].values.tolist() == [1, 0, -1]
    assert "rankings" not in collection


def test_grades_as_pandas_writes_them_beside_missing_ones_are_whole_numbers(write):
    collection = read_collection(write("qrels", "1 0 a 1.0\n1 0 b +2.\n1 0 c 0.00\n"))
    assert collection["judgments/grade"].values.tolist() == [1, 2, 0]


def test_grades_below_those_of_a_pool_that_nobody_judged_are_said_to_be_left_out(write):
    spam = write("spam", QRELS.replace("-1", "-2"))
    with pytest.warns(UserWarning, match=r"1 of 3 grades are below -1 .the lowest is -2. and coun"):
        collection = read_collection(spam)
    np.testing.assert_array_equal(collection["judgments/grade"], [1, 0, np.nan])
    collection = read_collection(spam, negative_grades="judged")
    assert collection["judgments/grade"].values.tolist() == [1, 0, -2]


@pytest.mark.parametrize("negative_grades", ["unjudged", "judged"])
def test_missing_grades_in_a_frame_are_not_judged_and_one_warning_counts_them(negative_grades):
    frame = pd.DataFrame(
        {"topic": "1", "document": list("abcde"), "grade": [1, None, 2, np.nan, -1]}
    )
    with pytest.warns(UserWarning, match="2 of 5 rows.*'1' document 'b': .*not judged") as said:
        collection = read_collection(frame, negative_grades=negative_grades)
    assert len(said) == 1
    assert said[0].filename == __file__
    last = -1 if negative_grades == "judged" else np.nan
    np.testing.assert_array_equal(collection["judgments/grade"], [1, np.nan, 2, np.nan, last])
    assert collection["judgments/pooled"].values.all()


def test_an_empty_text_is_a_missing_grade_in_a_frame_too():
    frame = pd.DataFrame({"topic": "1", "document": list("abc"), "grade": ["1", "", "0"]})
    with pytest.warns(UserWarning, match="1 of 3 rows.*'1' document 'b': .*not judged"):
        collection = read_collection(frame)
    np.testing.assert_array_equal(collection["judgments/grade"], [1, np.nan, 0])


def test_ties_go_by_document_descending_before_the_cut(write):
    text = "1 0 a 1 5 r\n1 0 c 2 5 r\n1 0 b 3 5 r\n1 0 d 4 1 r\n"
    collection = read_collection(None, write("run", text), depth=2)
    assert ranked_labels(collection) == {"1": ["c", "b"]}
    assert collection["document"].values.tolist() == ["b", "c"]


def test_float32_scores_make_ties(write):
    run = write("run", "1 0 a 1 1.00000001 r\n1 0 b 2 1.0 r\n")
    assert ranked_labels(read_collection(None, run)) == {"1": ["a", "b"]}
    tied = read_collection(None, run, score_type="float32")
    assert ranked_labels(tied) == {"1": ["b", "a"]}


def test_scores_are_read_to_the_last_bit(write):
    scores = [0.1 + 0.2, 0.3, float(np.nextafter(0.3, 0)), 1e-310, 5e-324, -1e300]
    text = "".join(
        f"1 0 {name} 0 {score!r} r\n" for name, score in zip("fedcba", scores, strict=True)
    )
    assert ranked_labels(read_collection(None, write("run", text))) == {"1": list("fedcba")}


def test_documents_named_like_missing_values_and_quotes_survive(write):
    text = '1 0 NA 1 9 r\n1 0 null 2 8 r\n1 0 "a 3 7 r\n1 0 b# 4 6 r\n1 0 #c 5 5 r\n1 0 nan 6 4 r\n'
    collection = read_collection(None, write("run", text))
    assert ranked_labels(collection) == {"1": ["NA", "null", '"a', "b#", "#c", "nan"]}


def test_layout_does_not_matter(write):
    text = "# comment\n\n 2\tQ0   a 1 1 r extra fields\r\n1 Q0 b 2 2 r\n  \t\r\n1 Q0 a 1 3 r"
    plain = read_collection(None, write("plain", RUN))
    assert read_collection(None, write("odd", "\ufeff" + text)).identical(plain)


def test_lines_may_end_in_a_bare_carriage_return(write):
    plain = read_collection(write("qrels", QRELS), write("run", RUN))
    qrels = write("mac_qrels", QRELS.replace("\n", "\r"))
    assert read_collection(qrels, write("mac", RUN.replace("\n", "\r"))).identical(plain)
    mixed = RUN.replace("\n", "\r\n", 1).replace("3 r\r\n", "3 r\r\n# comment\r")
    assert read_collection(write("qrels", QRELS), write("mixed", mixed)).identical(plain)
    with pytest.raises(ValueError, match="line 3: 3 fields"):
        read_collection(None, write("broken", "1 Q0 a 1 3 r\r\n1 Q0 b 2 2 r\r2 Q0 a\r"))


def test_blocks_of_a_file_are_one_run(write, monkeypatch):
    text = "".join(f"{i % 3} Q0 document{i} 1 {i} r\n" for i in range(50))
    whole = read_collection(None, write("run", text))
    monkeypatch.setattr("bayeseval.trec.lines.BLOCK", 60)
    assert read_collection(None, write("run", text)).identical(whole)
    with pytest.raises(ValueError, match="line 51: 3 fields"):
        read_collection(None, write("run", text + "1 Q0 x\n"))


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2", "zst"])
def test_compressed_files_are_read_by_their_ending(write, ending):
    if ending == "zst":
        compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    else:
        compress = {"gz": gzip, "xz": lzma, "bz2": bz2}[ending].compress
    path = write(f"run.{ending}", compress(RUN.encode()) + compress(b"2 Q0 b 2 0 r\n"))
    assert read_collection(None, path).identical(
        read_collection(None, write("run", RUN + "2 Q0 b 2 0 r\n"))
    )


def test_globs_lists_and_paths_name_the_same_files(write, tmp_path):
    paths = [write(f"run.{tag}", RUN.replace(" r\n", f" {tag}\n")) for tag in ("b", "a", "c")]
    by_glob = read_collection(None, str(tmp_path / "run.*"))
    assert by_glob["run"].values.tolist() == ["a", "b", "c"]
    assert read_collection(None, sorted(paths)).identical(by_glob)
    assert read_collection(None, iter(sorted(paths))).identical(by_glob)
    assert read_collection(None, [str(tmp_path / "run.[ab]"), paths[2]]).identical(by_glob)
    odd = write("run[1]", RUN)
    assert read_collection(None, str(odd))["run"].values.tolist() == ["r"]


def test_data_frames_are_read_as_files_are(write):
    run = pd.DataFrame(
        {"run": "r", "topic": [1, 1, 2], "document": ["a", "b", "a"], "score": [3, 2, 1]}
    )
    qrels = pd.DataFrame({"topic": [1, 1, 2], "document": ["a", "c", "a"], "grade": [1, 0, -1]})
    from_files = read_collection(write("qrels", QRELS), write("run", RUN))
    assert read_collection(qrels, run).identical(from_files)
    shuffled = read_collection(qrels[::-1], [run[::-1]])
    assert shuffled.identical(from_files)


def test_a_run_whose_tags_vary_is_named_by_its_file(write):
    path = write("one.run", "1 Q0 a 1 2 7\n1 Q0 b 2 1 7\n2 Q0 a 1 1 8\n")
    with pytest.warns(UserWarning, match="one.run, line 3: tag '8' where .* '7'; the run is named"):
        collection = read_collection(None, path)
    assert collection["run"].to_numpy().tolist() == ["one.run"]


def test_every_rank_is_read_and_a_depth_says_how_many_runs_it_cut(write):
    long = "".join(f"1 Q0 d{rank} 0 {-rank} long\n" for rank in range(1200))
    short = "".join(f"1 Q0 d{rank} 0 {-rank} short\n" for rank in range(5))
    paths = [write("long", long), write("short", short)]
    whole = read_collection(None, paths)
    assert (whole["rankings"].sizes["rank"], whole.attrs["runs_cut"]) == (1200, 0)
    for depth, cut in ((1200, 0), (1000, 1), (4, 2)):
        assert read_collection(None, paths, depth=depth).attrs["runs_cut"] == cut
    grown = add_runs(read_collection(None, paths[0], depth=4), paths[1])
    assert grown.attrs["runs_cut"] == 2


def test_runs_whose_tags_clash_are_named_by_their_files(write):
    paths = [write("one.gz", gzip.compress(RUN.encode())), write("two", RUN)]
    with pytest.warns(UserWarning, match="'r' is now 'one', 'r' is now 'two'"):
        collection = read_collection(None, paths)
    assert collection["run"].values.tolist() == ["one", "two"]


def test_a_run_table_says_who_contributed(write):
    table = pd.DataFrame({"run": ["x", "r"], "contributed": [True, False], "team": ["a", "b"]})
    collection = read_collection(None, write("run", RUN), run_table=table)
    assert collection["contributed"].values.tolist() == [False]
    assert collection["team"].values.tolist() == ["b"]


def test_the_best_ranked_copy_of_a_duplicate_is_kept(write):
    run = write("run", "1 0 a 1 1 r\n1 0 b 2 2 r\n1 0 a 3 3 r\n2 0 a 1 1 r\n")
    with pytest.warns(UserWarning, match="run 'r' has 1 document a second time"):
        collection = read_collection(None, run, on_duplicate="best")
    assert ranked_labels(collection) == {"1": ["a", "b"], "2": ["a"]}


def test_a_document_that_was_not_judged_in_one_round_may_be_in_another(write):
    """And one that was never judged is in the pool once."""
    first, second = write("first", "1 0 a -1\n1 0 b 1\n1 0 c -1\n"), write("second", QRELS_LATER)
    collection = read_collection([first, second], write("run", RUN))
    at_once = read_collection(write("both", "1 0 a 2\n1 0 b 1\n1 0 c -1\n"), write("run", RUN))
    xr.testing.assert_identical(
        collection["judgments"].to_dataset(), at_once["judgments"].to_dataset()
    )
    with pytest.raises(ValueError, match="second, line 1: document 'b' of topic '1' is judged a"):
        read_collection([first, write("second", "1 0 b 0\n")], write("run", RUN))


QRELS_LATER = "1 0 c -1\n1 0 b -1\n1 0 a 2\n"


def test_sampleval_tells_strata(write):
    text = "1 0 a 10 1\n1 0 b 10 -1\n1 0 c 2 0\n2 0 a 2 -1\n2 0 b 2 2\n2 0 c 2 -1\n"
    collection = read_collection(write("q", text), write("run", RUN), qrels_format="sampleval")
    design = collection["design"]
    assert design["inclusion_probability"].values.tolist() == [0.5, 0.5, 1] + [1 / 3] * 3
    assert design["stratum"].values.tolist() == [1, 1, 0, 2, 2, 2]
    assert design["stratum_size"].values.tolist() == [1, 2, 3]
    assert design["stratum_sample_size"].values.tolist() == [1, 1, 1]
    assert design["stratum_topic"].values.tolist() == [0, 0, 1]
    assert design["stratum_label"].values.tolist() == ["2", "10", "2"]
    assert design.attrs["scheme"] == "stratified"


def test_a_stratum_without_a_sample_is_outside_the_frame(write):
    path = write("q", "1 0 a 1 1\n1 0 b 2 -1\n")
    with pytest.warns(UserWarning, match="without a sampled document: 1, .*'2' of topic '1'"):
        collection = read_collection(path, None, qrels_format="sampleval")
    assert collection["design/inclusion_probability"].values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("qrels_format", "text"),
    [("prels", "1 a 1 2 0.25\n1 c 0 1 1\n"), ("probs", "1 0 a 1 0.25\n1 0 c 0 1\n")],
)
def test_listed_probabilities_are_known_and_others_are_not(write, qrels_format, text):
    collection = read_collection(write("q", text), write("run", RUN), qrels_format=qrels_format)
    probability = collection["design/inclusion_probability"].values
    np.testing.assert_array_equal(probability, [0.25, np.nan, 1, np.nan])
    assert collection["design"].attrs["scheme"] == "poisson"
    assert collection["judgments/pooled"].values.tolist() == [True, False, True, False]


@pytest.mark.parametrize("qrels_format", ["qrels", "sampleval", "prels"])
def test_runs_added_later_give_what_reading_all_at_once_gives(write, qrels_format):
    lines = {
        "qrels": "{} 0 {} {}\n",
        "sampleval": "{} 0 {} 1 {}\n",
        "prels": "{} {} {} 1 0.5\n",
    }[qrels_format]
    qrels = write("q", lines.format(1, "a", 1) + lines.format(1, "z", 0) + lines.format(2, "a", 1))
    first = write("first", RUN.replace(" r\n", " first\n"))
    new = "10 Q0 q 1 3 new\n1 Q0 0 1 2 new\n1 Q0 a 2 1 new\n1 Q0 b 3 0 new\n"
    second = write("second", new)
    grown = add_runs(
        read_collection(qrels, first, qrels_format=qrels_format), second, contributed=True
    )
    whole = read_collection(qrels, [first, second], qrels_format=qrels_format)
    assert grown.identical(whole)
    assert select(grown, topics=["1", "2"], runs=["first"]).identical(
        read_collection(qrels, first, qrels_format=qrels_format)
    )


def test_added_runs_keep_the_depth_of_the_collection(write):
    collection = read_collection(None, write("run", RUN), depth=1)
    grown = add_runs(collection, write("new", RUN.replace(" r\n", " s\n")), contributed=False)
    assert grown["rankings/ranking"].shape == (2, 2, 1)
    assert grown["contributed"].values.tolist() == [True, False]
    with pytest.warns(UserWarning, match="'r' is now 'new2'"):
        other = RUN.replace("Q0 b 2 2", "Q0 b 2 4")
        assert "new2" in add_runs(collection, write("new2", other))["run"].values
    assert add_runs(read_collection(write("q", QRELS), None), write("run", RUN)).identical(
        read_collection(write("q", QRELS), write("run", RUN))
    )


def test_a_file_that_was_added_before_is_told(write):
    other = write("other", RUN.replace("2 r", "4 r").replace(" r\n", " s\n"))
    collection = read_collection(None, [other, write("run", RUN)])
    with pytest.warns(UserWarning) as said:
        grown = add_runs(collection, write("again", RUN))
    assert grown["run"].values.tolist() == ["s", "r", "again"]
    assert "'r' is now 'again'" in str(said[0].message)
    assert "run 'again' has the rankings of run 'r', which is" in str(said[1].message)


@given(data=st.data(), scores=rankings())
@IN_FOLDER
def test_a_run_file_in_any_layout_is_ranked_by_score_then_document(tmp_path, data, scores):
    path = tmp_path / "run"
    path.write_bytes(data.draw(run_files(scores)).encode())
    expected = {
        topic: [d for _, d in sorted(((s, d) for d, s in documents.items()), reverse=True)]
        for topic, documents in scores.items()
    }
    collection = read_collection(None, path)
    assert ranked_labels(collection) == expected
    frame = pd.DataFrame(
        [("tag", t, d, s) for t, documents in scores.items() for d, s in documents.items()],
        columns=["run", "topic", "document", "score"],
    )
    assert read_collection(None, frame).identical(collection)


@given(data=st.data(), grades=judgments())
@IN_FOLDER
def test_a_qrels_file_in_any_layout_says_the_same(tmp_path, data, grades):
    path = tmp_path / "qrels"
    path.write_bytes(data.draw(qrels_files(grades)).encode())
    rows = {(row.topic, row.document): row.grade for row in read_qrels(path).itertuples()}
    assert rows == {(t, d): g for t, documents in grades.items() for d, g in documents.items()}


@given(labels=st.lists(LABEL, min_size=1, max_size=30), cut=st.integers(0, 30))
def test_equal_labels_have_equal_codes(labels, cut):
    seen = Labels()
    parts = [part for part in (labels[:cut], labels[cut:]) if part]
    codes = np.concatenate([seen.encode(spans_of(part)) for part in parts])
    distinct, position = seen.resolve()
    assert distinct.tolist() == sorted(set(labels))
    assert distinct[position[codes]].tolist() == labels


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 9), st.sampled_from([0.0, -0.0, 1.0, 2.5])),
        min_size=1,
        unique_by=lambda row: row[:2],
    )
)
def test_ranking_order_is_that_of_a_plain_sort(rows):
    topic, document, score = (np.array(column) for column in zip(*rows, strict=True))
    order, rank = ranking_order(topic, document, score)
    expected = sorted(range(len(rows)), key=lambda i: (topic[i], -score[i], -document[i]))
    assert order.tolist() == expected
    counts = pd.Series(topic[order]).groupby(topic[order]).cumcount()
    assert rank.tolist() == counts.tolist()


def test_what_a_table_of_new_runs_does_not_say_is_as_the_options_say(write):
    collection = read_collection(None, write("run", RUN))
    new = pd.DataFrame({"run": ["new"], "topic": ["1"], "document": ["x"], "score": [1.0]})
    table = pd.DataFrame({"run": ["new"], "team": ["them"]})
    grown = add_runs(collection, new, contributed=False, run_table=table)
    assert not grown["contributed"].sel(run="new") and grown["team"].sel(run="new") == "them"
    grown = add_runs(
        collection, new, team="us", run_table=table.drop(columns="team").assign(contributed=False)
    )
    assert not grown["contributed"].sel(run="new") and grown["team"].sel(run="new") == "us"


@pytest.mark.parametrize(
    ("scores", "message"), [(range(9), "scores rise from line to line"), ([1] * 9, "are the same")]
)
def test_scores_that_the_lines_are_not_ordered_by_are_warned_of(write, scores, message):
    lines = [f"1 Q0 d{rank} {rank} {score} r\n" for rank, score in enumerate(scores)]
    with pytest.warns(UserWarning, match=message):
        read_collection(None, write("run", "".join(lines)))
    read_collection(None, write("run", "".join(lines[:4])))  # too few to tell
    swapped = [*lines[1:], lines[0]]
    if message.startswith("scores"):
        read_collection(None, write("run", "".join(swapped)))


DIGITS = st.text(alphabet="0123456789", min_size=1, max_size=13)


PLAIN = st.builds(
    lambda sign, whole, point, part: sign + whole + (point + part if point else ""),
    st.sampled_from(["", "-"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
)


ANY = PLAIN | st.floats().map(repr) | st.text(alphabet="0123456789.-+eEx_,/:é", min_size=1)


def read_numbers(texts: list[str]) -> np.ndarray:
    data = "".join(f"topic {text}\n" for text in texts).encode()
    return np.concatenate(
        [part.numbers(1, "score") for part in lines.blocks("file", data, "topic score")]
    )


@pytest.mark.parametrize("block", [10, lines.BLOCK])
@given(texts=st.lists(ANY, min_size=1, max_size=20))
@IN_FOLDER
def test_numbers_are_read_as_float_reads_them_or_refused(monkeypatch, block, texts):
    monkeypatch.setattr(lines, "BLOCK", block)
    try:
        expected = [float(text) for text in texts]
        plain = all(text.isascii() and "_" not in text for text in texts)
    except ValueError:
        plain = False
    if not plain or not np.isfinite(expected).all():
        with pytest.raises(ValueError, match="is not a finite number"):
            read_numbers(texts)
        return
    values = read_numbers(texts)
    np.testing.assert_array_equal(values, expected)
    assert (np.signbit(values) == np.signbit(expected)).all()


def test_random_doubles_are_read_to_the_last_bit(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 10_000)
    rng = np.random.default_rng(7)
    numbers = np.concatenate([rng.normal(size=20_000) * 10.0**k for k in range(-1, 6)])
    texts = [repr(float(number)) for number in numbers]
    np.testing.assert_array_equal(read_numbers(texts), numbers)
    short = [f"{number:.6f}" for number in numbers]
    np.testing.assert_array_equal(read_numbers(short), [float(text) for text in short])


ROW = st.lists(st.sampled_from(["1", "d2", "#3", "é", "4"]), min_size=0, max_size=4)


@given(rows=st.lists(ROW, max_size=12), gap=st.sampled_from([" ", "\t", " \t "]))
@IN_FOLDER
def test_large_files_have_the_lines_of_small_ones(monkeypatch, rows, gap):
    data = "".join(f"{gap.join(row)}\n" for row in [["1", "b"], *rows]).encode()

    def read(block: int) -> list[tuple]:
        monkeypatch.setattr(lines, "BLOCK", block)
        parts = lines.blocks("file", data, "")
        return [
            (int(number), [part.text_of(place, line) for place in range(part.count[line])])
            for part in parts
            for line, number in enumerate(part.number)
        ]

    assert read(5) == read(10_000)


@pytest.mark.parametrize("letter", ["d", "dé", "d" * 40])
def test_many_lines_are_put_in_order_as_few_are(monkeypatch, letter):
    """Topics of unlike length, labels that are packed into words and others."""
    rng = np.random.default_rng(8)
    runs = {}
    for run in ("a", "b"):
        topic = rng.permutation(np.repeat(np.arange(9), [40, 1, 1, 2, 30, 1, 3, 29, 30]))
        number = rng.permutation(1000)[: topic.size]
        runs[run] = {str(t): {} for t in range(9)}
        for t, n in zip(topic, number, strict=True):
            runs[run][str(t)][f"{letter}{n}"] = float(rng.normal())
    whole = be.read_collection(None, runs)
    monkeypatch.setattr(labels, "LINES", 16)
    xr.testing.assert_identical(be.read_collection(None, runs), whole)
    for topic, documents in runs["a"].items():
        best = sorted(documents, key=lambda document: -documents[document])
        pairs = whole["rankings/ranking"].sel(run="a", topic=topic).to_numpy()
        assert whole["document"].to_numpy()[pairs[pairs >= 0]].tolist() == best


def test_a_topic_that_looks_like_a_comment_is_not_left_out_in_silence(tmp_path):
    texts = {
        "qrels": "# 2 0 a 1\n#by hand\n1 0 a 1\n1 0 b 0\n#ai 0 c 0\n#ai 0 d 1\n",
        "run": "1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n#ai Q0 c 1 2 r\n#ai Q0 d 2 1 r\n",
        "named": "query_id doc_id relevance\n1 a 1\n#ai c 0\n",
        "labels": "# topic document label\n1 a 1\n#ai c 0\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    collection = be.read_collection({"1": {"a": 1}})
    for name, line, read in (
        ("qrels", 5, be.read_collection),
        ("run", 3, lambda path: be.read_collection(None, path)),
        ("named", 3, be.read_collection),
        ("labels", 3, lambda path: be.add_predictions(collection, "gpt", path)),
    ):
        with pytest.warns(UserWarning, match=f"{name}, line {line}: .*if '#ai' is a topic, give"):
            read(tmp_path / name)
    (tmp_path / "q.csv").write_text("topic,document,grade\n1,a,1\n1,b,0\n#ai,c,0\n#ai,d,1\n")
    (tmp_path / "r.csv").write_text("topic,document,score\n1,a,2\n1,b,1\n#ai,c,2\n#ai,d,1\n")
    whole = be.read_collection(tmp_path / "q.csv", tmp_path / "r.csv")
    means = be.mean_over_topics(be.evaluate(whole, ["P@1", "AP"], estimator="assumed"))
    assert means["estimate"].to_numpy().ravel().tolist() == [0.5, 0.75]
