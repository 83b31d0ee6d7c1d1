import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayeseval.trec import lines
from bayeseval.trec.lines import plain_decimals, spans_of

DIGITS = st.text(alphabet="0123456789", min_size=1, max_size=13)
PLAIN = st.builds(
    lambda sign, whole, point, part: sign + whole + (point + part if point else ""),
    st.sampled_from(["", "-"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
)
ANY = PLAIN | st.floats().map(repr) | st.text(alphabet="0123456789.-+eEx_,/:é", min_size=1)


def as_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


@given(texts=st.lists(ANY, min_size=1, max_size=20))
def test_a_number_is_read_as_float_reads_it_or_not_at_all(texts):
    values, others = plain_decimals(spans_of(texts))
    expected = np.array([as_float(text) for text in texts])
    read = np.setdiff1d(np.arange(len(texts)), others)
    np.testing.assert_array_equal(values[read], expected[read])
    assert (np.signbit(values[read]) == np.signbit(expected[read])).all()


@pytest.mark.parametrize("extended", [True, False])
def test_random_doubles_are_read_to_the_last_bit(monkeypatch, extended):
    monkeypatch.setattr(lines, "_IS_EXTENDED", extended and lines._IS_EXTENDED)
    rng = np.random.default_rng(7)
    numbers = np.concatenate([rng.normal(size=20_000) * 10.0**k for k in range(-1, 6)])
    texts = [repr(float(number)) for number in numbers]
    values, others = plain_decimals(spans_of(texts))
    read = np.setdiff1d(np.arange(len(texts)), others)
    np.testing.assert_array_equal(values[read], numbers[read])
    if lines._IS_EXTENDED:
        assert others.size < 0.02 * numbers.size


def test_plain_numbers_are_read_and_others_are_left():
    texts = [
        "0",
        "-0",
        ".5",
        "5.",
        "-12.25",
        "9" * 19,
        "1e5",
        ".",
        "-",
        "1.2.3",
        "9" * 20,
        "+1",
        "a",
    ]
    values, others = plain_decimals(spans_of(texts))
    assert values[:6].tolist() == [0, 0, 0.5, 5, -12.25, float("9" * 19)]
    assert others.tolist() == [6, 7, 8, 9, 10, 11, 12]
