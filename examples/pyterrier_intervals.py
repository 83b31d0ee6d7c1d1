"""From the results of PyTerrier to scores with intervals, and to differences between systems.

PyTerrier needs Java; ``pip install python-terrier bayeseval``, then ``python
examples/pyterrier_intervals.py``.
"""

import pandas as pd

import bayeseval as be

MEASURES = ["nDCG@10", "AP"]


def intervals(
    results: dict[str, pd.DataFrame], qrels: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of systems, and their differences, for the population of topics.

    ``results`` are what each system returns (qid, docno, score), ``qrels`` those of a data set
    (qid, docno, label): unjudged documents count as not relevant, as in ``pt.Experiment``.
    """
    collection = be.read_collection(qrels, results)
    scores = be.scores(collection, MEASURES, population="topics")
    return be.to_frame(scores), be.to_frame(be.compare(collection, MEASURES, estimator="assumed"))


def differences(experiment: pd.DataFrame) -> pd.DataFrame:
    """Differences of systems, of ``pt.Experiment(..., perquery=True)``."""
    return be.to_frame(be.compare(be.read_scores(experiment)))


def main() -> None:
    """Compare two models of term weights on the Vaswani collection."""
    import pyterrier as pt  # pyright: ignore[reportMissingImports]

    dataset = pt.get_dataset("vaswani")
    systems = {
        name: pt.terrier.Retriever(dataset.get_index(), wmodel=name) for name in ("BM25", "TF_IDF")
    }
    topics, qrels = dataset.get_topics(), dataset.get_qrels()
    scores, pairs = intervals({name: system(topics) for name, system in systems.items()}, qrels)
    print(scores.to_string(), pairs.to_string(), sep="\n\n")
    experiment = pt.Experiment(
        [*systems.values()], topics, qrels, ["ndcg_cut_10", "map"], names=[*systems], perquery=True
    )
    print(differences(experiment).to_string())


if __name__ == "__main__":
    main()
