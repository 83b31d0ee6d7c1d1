"""The package's messages in the words of the shell: options instead of Python's arguments."""

import re

# from the longest to the shortest where one begins another
OPTIONS = {
    "on_duplicate='best'": "--on-duplicate best",
    "on_duplicate": "--on-duplicate",
    "score_type='float64'": "--score-type float64",
    "score_type": "--score-type",
    "estimator='dyn'": "--estimator dyn",
    "outside='error'": "--outside error",
    "qrels_format": "--qrels-format",
    "missing_topics": "--missing-topics",
    "relevance_level": "--relevance-level",
    "ci_prob": "--ci-prob",
    "common_topics must": "--common-topics must",
    "leave_out='team'": "--leave-out team",
    "n_strata": "--n-strata",
    "pool_depth": "--pool-depth",
    "random_seed": "--seed",
    "budget must": "--budget must",
    "depth must": "--depth must",
}
# a name inside a longer word, a path or a quoted label is not ours
NAME = re.compile(rf"(?<![\w./'-])({'|'.join(map(re.escape, OPTIONS))})(?![\w./])")


def shell_words(text: str) -> str:
    """A message on one line that names options as one types them in the shell."""
    return NAME.sub(lambda found: OPTIONS[found[0]], " ".join(text.split()))


def printable(text: str) -> str:
    """Text in which what a terminal would obey, or not show, is written as an escape."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun, whose plural ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
