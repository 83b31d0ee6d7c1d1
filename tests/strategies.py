"""Hypothesis strategies: rankings, judgments, and how their files may be laid out."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

IN_FOLDER = settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
LABEL = st.text(
    alphabet=st.sampled_from("abcABC019-_.:/#'\"é文"), min_size=1, max_size=12
) | st.sampled_from(["NA", "null", "nan", "None", "x" * 40, "clueweb09-en0000-00-00000"])
TOPIC = LABEL.filter(lambda label: not label.startswith("#"))
SCORE = st.sampled_from([0.0, 1.0, 1.5, -2.25]) | st.floats(
    allow_nan=False, allow_infinity=False, width=64
)
GAP = st.text(alphabet=" \t", min_size=1, max_size=3)


def rankings(max_topics: int = 3, max_documents: int = 8):
    """Scores by topic and document."""
    documents = st.dictionaries(LABEL, SCORE, min_size=1, max_size=max_documents)
    return st.dictionaries(TOPIC, documents, min_size=1, max_size=max_topics)


def judgments(max_topics: int = 3, max_documents: int = 8):
    """Grades by topic and document."""
    grades = st.dictionaries(LABEL, st.integers(-1, 3), min_size=1, max_size=max_documents)
    return st.dictionaries(TOPIC, grades, min_size=1, max_size=max_topics)


@st.composite
def run_files(draw, ranking, tag: str = "tag"):
    """Text of a run file of a ranking: any order, blanks, tabs, comments and line ends."""
    lines = [
        [topic, "Q0", document, str(draw(st.integers(0, 99))), repr(score), tag]
        for topic, documents in ranking.items()
        for document, score in documents.items()
    ]
    return _laid_out(draw, draw(st.permutations(lines)))


@st.composite
def qrels_files(draw, grades):
    """Text of a qrels file: any order, blanks, tabs, comments and line ends."""
    lines = [
        [topic, "0", document, str(grade)]
        for topic, documents in grades.items()
        for document, grade in documents.items()
    ]
    return _laid_out(draw, draw(st.permutations(lines)))


def _laid_out(draw, lines: list[list[str]]) -> str:
    text = ""
    for fields in lines:
        text += draw(st.sampled_from(["", "", "\n", "# a comment\n", " \t\n"]))
        gaps = [draw(GAP) for _ in fields[1:]] + [draw(st.sampled_from(["", " ", "\t"]))]
        text += draw(st.sampled_from(["", " "]))
        text += "".join(field + gap for field, gap in zip(fields, gaps, strict=True))
        text += draw(st.sampled_from(["\n", "\r\n"]))
    return text if draw(st.booleans()) else text.removesuffix("\n")
