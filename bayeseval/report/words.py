"""What the words on a page mean: a plain sentence for each quantity that is shown."""

import numpy as np
import xarray as xr

from bayeseval.estimators import HAS_COVARIANCE, WITHOUT_DESIGN
from bayeseval.messages import percent
from bayeseval.report.answers import Answers

ESTIMATORS = {
    "dyn": "predicts the relevance of every document and corrects the predictions by the sampled "
    "judgments: unbiased for sums such as P@k and RBP, whatever the system.",
    "stat": "weights every sampled judgment by one over its probability: unbiased for sums such as "
    "P@k and RBP, with longer intervals than dyn.",
    "assumed": "takes every document without a judgment for not relevant: exact where all that a "
    "run retrieved was judged; runs of which little was judged mostly score too low.",
    "condensed": "takes documents without a judgment out of the rankings and moves the others up: "
    "runs of which little was judged mostly score too high.",
    "inf": "(as sample_eval has it: AP is xinfAP, nDCG is infNDCG) counts a document without a "
    "judgment by the share of relevant ones in its stratum of the pool, as 1/3 where none was "
    "sampled there: biased.",
    "stat_ap": "(statAP) weights every sampled document by one over its probability, and pairs of "
    "documents as if they were drawn independently, which is not quite so.",
    "importance": "(importance sampling) is for draws with replacement: every draw counts by one "
    "over its probability among the documents of the run; topics where too few of them were "
    "drawn are left out of its mean.",
}
COMBINED = (
    "weigh the sample against a model that has learned from all runs; their intervals cover what "
    "they promise on average over runs, not for each."
)
RANKS = "The ranks that a run may have among these, a confidence set for each run by itself."
GROUP = (
    "These hold for all runs at once: every run of one group is found better than every run of the "
    "next."
)
# what is random, so what an interval is to hold; what degrees of freedom tell
OF_SAMPLE = (
    "were the documents drawn again, {level} of such intervals would hold the score that complete "
    "judgments of these topics give, all that could not be drawn not relevant.",
    "How well the sample tells the errors themselves: with few, below 10 say, hardly; intervals of "
    "AP and Rprec rest on them alone, others also on what was predicted.",
)
OF_TOPICS = (
    "were the topics drawn again, {level} of such intervals would hold the mean over topics like "
    "these; a bias of the estimator is not in it.",
    "The number of topics less one: how well their spread tells the errors themselves.",
)
FURTHER = {
    "new": "The run did not contribute to what was judged; what it alone retrieved is less well "
    "known.",
    "unlike the model": "The sample contradicts what the model predicts of this run (a red name in "
    "the picture): look at the interval by the sample alone, the pale bar.",
    "limited": "The estimated number of relevant documents of a topic was impossibly small, "
    "or its score fell outside 0 to 1, and was set to the nearest possible value.",
    "picture of pairs": "Blue where the run of the row is better than the run of the column, pale "
    "where it is open.",
}


def meanings(answers: Answers, both: Answers | None, named: set[str]) -> dict[str, str]:
    """Words of a page with their meaning.

    ``answers`` are by the estimator, ``both`` combined with a model; ``named`` are further words
    that the page has, of ``FURTHER``, or "weight".
    """
    scores = answers.scores
    held, told = OF_SAMPLE if scores.attrs["estimator"] in HAS_COVARIANCE else OF_TOPICS
    estimator, level = str(scores.attrs["estimator"]), percent(scores.attrs["ci_prob"])
    words = {"Score": "The mean of the measure over the topics.", estimator: ESTIMATORS[estimator]}
    if both is not None:
        words[f"{estimator} and the model combined"] = f"Combined scores {COMBINED}"
    if scores["interval"].notnull().any():
        whose = f"By {estimator if both is None else f'{estimator} alone'}: "
        words[f"{level} interval"] = whose + held.format(level=level)
    if freedom(scores):
        words["Degrees of freedom"] = told
    if answers.sets is not None:
        words["Told apart"] = (
            f"Pairs of runs of which the better one is known, with {level} confidence that none of "
            "them is wrong."
        )
        words |= {"Possible ranks": RANKS, "Group": GROUP}
    if "weight" in named:
        where = "that could not have been drawn, outside the sampling frame"
        where = "without a judgment" if estimator in WITHOUT_DESIGN else where
        words["Weight"] = (
            f"How much of a measure, of 1 for P@k and RBP, falls on documents {where}."
        )
    return words | {name.capitalize(): text for name, text in FURTHER.items() if name in named}


def freedom(scores: xr.Dataset) -> str:
    """The least and the most degrees of freedom of the runs, where they are finite."""
    of_run = scores["degrees_of_freedom"]
    known = of_run.to_numpy()[np.isfinite(of_run.to_numpy())]
    if not known.size:
        return ""
    low, high = f"{known.min():.0f}", f"{known.max():.0f}"
    return low if low == high else f"{low} to {high}"


def limited(scores: xr.Dataset) -> str:
    """The largest share of a run's topics whose ratio was limited; empty where none was."""
    share = (scores["n_limited"] / scores["n_topics"]).fillna(0.0)
    return f"{float(share.max()):.0%}" if float(share.max()) > 0 else ""
