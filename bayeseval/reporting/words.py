"""What the words of a page mean: measures, estimators, intervals, ranks and notes."""

from collections.abc import Container

import xarray as xr

from bayeseval.estimators import HAS_COVARIANCE, WITHOUT_DESIGN
from bayeseval.evaluation.score_tables import GIVEN, is_known
from bayeseval.measures.names import parse_measures
from bayeseval.messages import percent

# what each measure is; ``first`` are the documents down to the cutoff
MEASURES = {
    "P": "the share of relevant documents among {first}",
    "RBP": "the number of relevant documents for each document read, if a reader goes on from one "
    "document to the next with probability {number:g}",
    "DCG": "the sum of the gains of {first}, each divided by log2(rank + 1)",
    "NumRelRet": "the number of relevant documents that a run retrieved",
    "NumRel": "the number of relevant documents of a topic, the same for every run",
    "AP": "the mean, over all relevant documents, of the precision at the rank of each, or 0 for "
    "one that is not among {first}",
    "nDCG": "the sum of the gains of {first}, each divided by log2(rank + 1), as a share of the "
    "largest sum that a ranking could have",
    "R": "the share of the relevant documents that are among {first}",
    "Rprec": "the share of relevant documents among the first R, where R is the number of relevant "
    "documents of the topic",
    "RR": "1 divided by the rank of the first relevant document, or 0 where none is among {first}",
    "Success": "1 where a relevant document is among {first}, else 0",
    "ERR": "the expected value of 1 divided by the rank where a reader of {first} stops, whom each "
    "document satisfies with a probability that grows with its grade",
    "SetP": "the share of relevant documents among {first}",
    "SetR": "the share of the relevant documents that are among {first}",
    "SetF": "a mean of SetP and SetR, which is high only where both are",
    "IPrec": "the highest precision at any rank from a recall of {number:g} on",
    "Bpref": "the share of judged non-relevant documents that stand below a judged relevant one, "
    "mean over the relevant ones; unjudged documents do not count",
    "infAP": "average precision as trec_eval infers it from the judged documents of the pool",
    "Judged": "the share of judged documents among {first}",
    "NumRet": "the number of documents that a run retrieved",
}


def definition(label: str) -> str:
    """One sentence on a measure; empty for the name of a measure that is not known here.

    Examples
    --------
    >>> definition("P@10")
    'P@10 is the share of relevant documents among the first 10 documents.'
    >>> definition("AP(rel=2)").endswith("A document is relevant from grade 2 on.")
    True
    """
    if not is_known(label):
        return ""
    measure = parse_measures(label)[0]
    if measure.kind == "provided":
        return f"{label} is scored by ir_measures, whose documentation defines it."
    text = MEASURES.get(measure.name)
    if text is None:
        return f"{label} is a measure of the user's own."
    first = (
        "the documents retrieved"
        if measure.cutoff is None
        else "the first document"
        if measure.cutoff == 1
        else f"the first {measure.cutoff} documents"
    )
    text = f"{label} is {text.format(first=first, number=measure.parameter)}"
    if "gain" in text:
        gain = "its grade" if measure.discount == "log2" else "2^grade - 1"
        gain = "that of its grade in the name" if measure.gains else gain
        text += f"; the gain of a document is {gain}"
    text += "."
    if measure.relevance_level > 1:
        text += f" A document is relevant from grade {measure.relevance_level} on."
    return text


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
    GIVEN: "scores per topic, as another tool has made them.",
}
# what is random, so what an interval covers
OF_SAMPLE = (
    "if the documents were drawn again and again, {level} of such intervals would contain the "
    "score that complete judgments of these topics give. Documents that could not be drawn count "
    "as not relevant."
)
OF_TOPICS = (
    "if the topics were drawn again and again, {level} of such intervals would contain the mean "
    "over all topics like these. A bias of the estimator is not covered."
)
OUTSIDE, UNJUDGED = "weight outside", "weight unjudged"  # columns of a table
WEIGHT = "How much of the weight of a measure, which is 1 for P@k and RBP, falls on documents "
NOTED = {
    "new": "The run did not contribute to what was judged, so less is known of the documents that "
    "only this run retrieved.",
    "unlike the model": "The sample contradicts the predictions of the model for this run (a red "
    "name in the picture): look at the interval by the sample alone, the pale bar.",
    "the model alone": "No sums of sampled judgments estimate this measure. Its scores are those "
    "of a model that is fitted to the judgments, and their intervals include the errors that such "
    "models made on other collections.",
    OUTSIDE: f"{WEIGHT}outside the sampling frame, which could not have been drawn.",
    UNJUDGED: f"{WEIGHT}without a judgment.",
    "possible ranks": "The ranks that a run may have among these runs, with confidence for all "
    "runs at once.",
    "group": "Every run of one group is better than every run of the next group, with the same "
    "confidence.",
}


def weight_column(estimator: str) -> str:
    """Name of the column of the weight on documents that could not be known."""
    return UNJUDGED if estimator in WITHOUT_DESIGN else OUTSIDE


def meanings(scores: xr.Dataset, *, combined: bool, named: Container[str]) -> dict[str, str]:
    """Words of a page with their meaning.

    ``scores`` are by the estimator; ``combined`` says whether there are scores combined with a
    model; ``named`` are further words that the page has, of ``NOTED``.
    """
    estimator, level = str(scores.attrs["estimator"]), percent(scores.attrs["ci_prob"])
    covered = OF_SAMPLE if estimator in HAS_COVARIANCE else OF_TOPICS
    words = {"Score": "The mean of the measure over the topics."}
    if estimator in ESTIMATORS:  # of no score by the model alone
        words[estimator] = ESTIMATORS[estimator]
    if combined:
        words[f"{estimator} and the model combined"] = (
            "Combined scores weigh the sample against a model that is fitted to the runs. Their "
            "intervals cover the truth as often as stated on average over runs, not for each run."
        )
    if estimator in ESTIMATORS and scores["interval"].notnull().any():
        source = f"By {estimator} alone: " if combined else f"By {estimator}: "
        words[f"{level} interval"] = source + covered.format(level=level)
        if scores.attrs.get("anytime"):
            words[f"{level} interval"] += (
                " This is valid at every look while judging goes on, also for those who stop when "
                "an interval suits them."
            )
    return words | {name.capitalize(): text for name, text in NOTED.items() if name in named}
