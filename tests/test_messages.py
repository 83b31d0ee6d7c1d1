"""Messages: text to Python, options to other faces."""

import pickle

import numpy as np
import pandas as pd
import pytest

import bayeseval as be
from bayeseval.collection.labels import without_judgment
from bayeseval.messages import Message, Option, percent


def options(error):
    return [(part.name, part.value) for part in error.args[0].parts if isinstance(part, Option)]


def test_an_error_tells_python_its_argument_and_others_the_option():
    run = pd.DataFrame({"run": "a", "topic": "1", "document": ["x", "x"], "score": [2, 1]})
    with pytest.raises(ValueError, match=r"\(on_duplicate='best' keeps") as caught:
        be.read_collection(None, run)
    assert options(caught.value) == [("on_duplicate", "best")]


def test_a_message_comes_back_from_another_process_with_its_options():
    message = Message("give ", Option("model", "grades", "be.models.grade_model"), ".")
    back = pickle.loads(pickle.dumps(ValueError(message)))
    assert str(back) == "give be.models.grade_model."
    assert options(back) == [("model", "grades")]


def test_a_probability_is_told_as_it_was_typed():
    for typed in (0.999999999, 0.9999994, 1e-9, 0.07, 0.5):
        assert float(percent(typed).rstrip("%")) == pytest.approx(100 * typed, rel=1e-12)
    assert percent(1.0 - 1e-15) != "100%"
    assert percent(np.float32(0.9)) == "90%" and percent(1.0 - 0.05 / 3) == "98.3333%"


def test_one_topic_or_several_without_judgment_are_named():
    assert without_judgment(["7"]) == "1 topic has no judgment yet and scores NaN: '7'"
    assert without_judgment(["7"], 1).endswith("is left out: '7'; means are over 1 topic")
    text = without_judgment(np.array(["7", "8"]), 16)
    assert text.startswith("2 topics have no judgment yet and are left out, the first is '7'")
