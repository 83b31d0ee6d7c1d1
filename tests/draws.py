"""Draws with replacement whose every sequence can be listed."""

import numpy as np

from bayeseval.frame.rankings import TopicLists
from bayeseval.measures.names import parse_measures

PROBABILITY = np.array([0.4, 0.25, 0.2, 0.1, 0.05, 0.0])  # the last one cannot be drawn
GRADE = np.array([1.0, 0.0, 2.0, 1.0, 1.0, np.nan])
POSITION = np.array(
    [
        [0, 1, 2, 3, 4, 5],
        [4, 3, 5, 2, -1, -1],
        [5, 2, 1, -1, -1, -1],
        [3, -1, -1, -1, -1, -1],
        [5, -1, -1, -1, -1, -1],
    ],
    dtype=np.int32,
)


def measure_of(name: str):
    return parse_measures(name)[0]


def topic_of(count, grade=GRADE, position=POSITION, probability=PROBABILITY) -> TopicLists:
    """Topic with one replicate for every row of counts, judged where drawn."""
    count = np.atleast_2d(count)
    return TopicLists(
        position=position,
        grade=np.where(count > 0, grade, np.nan),
        pooled=np.ones(len(grade), dtype=bool),
        draw_probability=probability,
        draw_count=count,
    )


def stopped_chances(probability, n_distinct, most_draws=12) -> dict[tuple, float]:
    """Chance of every vector of counts when draws stop at a number of distinct documents.

    By enumeration of the sequences of up to ``most_draws`` draws.
    """
    chances = {}
    alive = {(0,) * len(probability): 1.0}
    for _ in range(most_draws):
        following = {}
        for counts, chance in alive.items():
            for pair, each in enumerate(probability):
                drawn = counts[:pair] + (counts[pair] + 1,) + counts[pair + 1 :]
                done = np.count_nonzero(drawn) == n_distinct
                target = chances if done else following
                target[drawn] = target.get(drawn, 0.0) + chance * each
        alive = following
    return chances
