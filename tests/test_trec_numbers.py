import numpy as np
import pytest

from bayeseval.trec.lines import blocks

COLUMNS = "topic 0 document grade"


def read(texts: list[str]) -> np.ndarray:
    data = "".join(f"1 0 d {text}\n" for text in texts).encode()
    return np.concatenate([lines.numbers(3, "grade") for lines in blocks("qrels", data, COLUMNS)])


def test_random_doubles_are_read_to_the_last_bit():
    rng = np.random.default_rng(7)
    numbers = np.concatenate([rng.normal(size=20_000) * 10.0**k for k in range(-20, 20, 3)])
    np.testing.assert_array_equal(read([repr(float(number)) for number in numbers]), numbers)


def test_every_way_of_writing_a_number_is_read_as_float_reads_it():
    texts = ["0", "-0", ".5", "5.", "-12.25", "9" * 19, "9" * 20, "1e5", "1E-7", "+1", "007.50"]
    values = read(texts)
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(values, expected)
    assert (np.signbit(values) == np.signbit(expected)).all()


@pytest.mark.parametrize("text", [".", "-", "1.2.3", "a", "1_0", "0x10", "nan", "inf", "1e999"])
def test_what_is_no_finite_number_is_refused_with_its_line(text):
    with pytest.raises(ValueError, match="qrels, line 2: grade .* is not a finite number"):
        read(["1", text, "2"])
