"""Runs that search synthetic texts, by what they score: words, vectors, other runs, relevance.

BM25, language models and cosines match words; latent semantic vectors are learned from the texts,
each from words of its own; relevance feedback, fusion and rerankers work on other runs; "neural"
ones do not read words, they see relevance with noise of their own; some are bad on purpose.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

Array = NDArray[np.float64]

# run -> words of the topic, k1 and b of BM25
BM25 = {
    "lex-bm25": ("title", 1.2, 0.75),
    "lex-bm25-long": ("long", 0.9, 0.4),
    "lex-bm25-k04b0": ("title", 0.4, 0.0),
    "lex-bm25-k3b1": ("long", 3.0, 1.0),
    "lex-tfidf-b1": ("title", 6.0, 1.0),
}
# run -> words, prior size of a language model
DIRICHLET = {
    "lm-dir1000": ("title", 1000),
    "lm-dir3000-long": ("long", 3000),
    "lm-dir100": ("title", 100),
}
# run -> words, share of the whole collection in a language model
JELINEK_MERCER = {
    "lm-jm2": ("title", 0.2),
    "lm-jm8-long": ("long", 0.8),
    "lm-jm5": ("long", 0.5),
}
# run -> words, dimensions, seed, share of all words that it is trained on in full
SEMANTIC = {
    "lsa-d40-0": ("title", 40, 0, 0.7),
    "lsa-d100-1": ("long", 100, 1, 0.7),
    "lsa-d200-2": ("title", 200, 2, 0.7),
    "dense-d60-3": ("long", 60, 3, 0.7),
    "dense-d150-4": ("long", 150, 4, 0.7),
    "dense-d150-5": ("title", 150, 5, 0.7),
    "vec-d25-6": ("title", 25, 6, 0.7),
    "bad-lsi5": ("title", 5, 9, 0.7),
    "dense-d80-x": ("title", 80, 21, 0.5),
    "lsa-d30-y": ("long", 30, 22, 0.7),
}


def run_scores(
    counts: sp.csr_matrix, words: dict[str, Array], relevance: Array, seed: int
) -> dict[str, Array]:
    """Scores (topic, document) of every run.

    Parameters
    ----------
    counts : sparse array (document, word)
    words : {"title", "long"} -> array (topic, word)
    relevance : array (topic, document)
        What neural runs see, before its largest values are called relevant.
    seed : int
        Every run that has noise has a seed of its own from this one on.
    """
    index = Index(counts)
    title, long = words["title"], words["long"]
    found = {run: index.bm25(words[kind], k1, b) for run, (kind, k1, b) in BM25.items()}
    for run, (kind, prior) in DIRICHLET.items():
        found[run] = index.dirichlet(words[kind], prior)
    for run, (kind, smoothing) in JELINEK_MERCER.items():
        found[run] = index.jelinek_mercer(words[kind], smoothing)
    for run, (kind, dimensions, offset, share) in SEMANTIC.items():
        found[run] = index.semantic(words[kind], dimensions, seed + offset, share)
    found["vec-cos"], found["vec-cos-long"] = index.cosine(title), index.cosine(long)
    first = title * (np.cumsum(title > 0, axis=1) == 1)
    found["bad-oneword"] = index.bm25(first)
    noise = np.random.default_rng(seed).normal(size=relevance.shape)
    found["bad-noise"] = found["lex-bm25-long"] + 6 * noise
    found |= _feedback(index, words, found)
    found |= _fused(index, words, found)
    return found | _neural(relevance, found, seed)


class Index:
    """Scores (topic, document) of words (topic, word)."""

    def __init__(self, counts: sp.csr_matrix) -> None:
        self.counts = counts
        self.cells = counts.tocoo()
        self.length = np.asarray(counts.sum(axis=1)).ravel()
        containing = np.asarray((counts > 0).sum(axis=0)).ravel()
        self.rarity = np.log(1 + (counts.shape[0] - containing + 0.5) / (containing + 0.5))
        share = np.asarray(counts.sum(axis=0)).ravel() + 0.01
        self.share = share / share.sum()
        vectors = self._weighted((1 + np.log(self.cells.data)) * self.rarity[self.cells.col])
        norm = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        self.vectors = sp.diags(1 / norm) @ vectors

    def _weighted(self, weight: Array) -> sp.csr_matrix:
        return sp.csr_matrix((weight, (self.cells.row, self.cells.col)), self.cells.shape)

    def bm25(self, words: Array, k1: float = 1.2, b: float = 0.75) -> Array:
        norm = k1 * (1 - b + b * self.length / self.length.mean())
        count = self.cells.data
        saturated = count * (k1 + 1) / (count + norm[self.cells.row])
        return (self._weighted(saturated * self.rarity[self.cells.col]) @ words.T).T

    def dirichlet(self, words: Array, prior: float) -> Array:
        weight = np.log1p(self.cells.data / (prior * self.share[self.cells.col]))
        shorter = np.log(prior / (prior + self.length))
        return (self._weighted(weight) @ words.T).T + words.sum(axis=1)[:, None] * shorter

    def jelinek_mercer(self, words: Array, smoothing: float) -> Array:
        own = (1 - smoothing) * self.cells.data / self.length[self.cells.row]
        weight = np.log1p(own / (smoothing * self.share[self.cells.col]))
        return (self._weighted(weight) @ words.T).T

    def cosine(self, words: Array) -> Array:
        return (self.vectors @ (words * self.rarity).T).T

    def semantic(self, words: Array, dimensions: int, seed: int, share: float) -> Array:
        """Cosine in few dimensions, learned from a share of all words and little from others."""
        random = np.random.default_rng(seed)
        trained = np.where(random.random(self.share.size) < share, 1.0, 0.3)
        start = random.normal(size=min(self.counts.shape))
        left, strength, right = svds(self.vectors @ sp.diags(trained), k=dimensions, v0=start)
        return _unit(words * self.rarity * trained @ right.T) @ _unit(left * strength).T

    def expanded(
        self, words: Array, score: Array, *, n_documents: int, n_words: int, weight: float
    ) -> Array:
        """Words (topic, word) with those of the documents of highest score (RM3)."""
        found = []
        for own, of_topic in zip(words, score, strict=True):
            top = np.argsort(-of_topic)[:n_documents]
            best = of_topic[top]
            spread_out = np.ptp(best) >= 50
            belief = np.ones(n_documents) if spread_out else np.exp(best - best.max())
            texts = sp.diags(belief / belief.sum() / self.length[top]) @ self.counts[top]
            feedback = np.asarray(texts.sum(axis=0)).ravel() * np.log(1 / self.share)
            feedback[np.argsort(-feedback)[n_words:]] = 0
            found.append((1 - weight) * own / own.sum() + weight * feedback / feedback.sum())
        return np.stack(found)


def _unit(vectors: Array) -> Array:
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def _feedback(index: Index, words: dict[str, Array], found: dict[str, Array]) -> dict[str, Array]:
    title, long = words["title"], words["long"]
    some = index.expanded(title, found["lex-bm25"], n_documents=10, n_words=25, weight=0.5)
    base = index.dirichlet(long, 400)
    more = index.expanded(long, base, n_documents=20, n_words=40, weight=0.6)
    base = found["lex-bm25-long"]
    many = index.expanded(long, base, n_documents=40, n_words=80, weight=0.8)
    return {
        "prf-rm3-bm25": index.bm25(some),
        "prf-rm3-ql": index.dirichlet(10 * more, 1000),
        "prf-rm3-deep": index.bm25(many),
    }


def _fused(index: Index, words: dict[str, Array], found: dict[str, Array]) -> dict[str, Array]:
    of_all = ("lex-bm25-long", "lm-dir1000", "dense-d150-4", "prf-rm3-bm25")
    dense = ("dense-d60-3", "dense-d150-4", "dense-d150-5")
    long = words["long"]
    return {
        "fus-rrf-bl": _fusion(found["lex-bm25"], found["lsa-d100-1"]),
        "fus-rrf-all": _fusion(*(found[run] for run in of_all)),
        "fus-dense": _fusion(*(found[run] for run in dense)),
        "fus-noise": _fusion(index.dirichlet(long, 50), found["vec-cos-long"]),
    }


def _fusion(*scores: Array) -> Array:
    """Sum of reciprocal ranks."""
    return sum(1 / (61 + np.argsort(np.argsort(-score, axis=1), axis=1)) for score in scores)


def _neural(relevance: Array, found: dict[str, Array], seed: int) -> dict[str, Array]:
    """Runs, and rerankers of others, that see relevance; ``neu-B`` is blind to some documents."""
    blind = np.random.default_rng(seed + 51)
    partly = _seen(blind, relevance, 0.16)
    partly[:, blind.random(relevance.shape[1]) < 0.35] -= 0.5
    whole = _seen(np.random.default_rng(seed + 50), relevance, 0.22)
    second = _seen(np.random.default_rng(seed + 52), relevance, 0.2)
    third = _seen(np.random.default_rng(seed + 53), relevance, 0.3)
    return {
        "neu-A": whole,
        "neu-B": partly,
        "rer-bm25": _reranked(found["lex-bm25"], 100, second),
        "rer-rm3": _reranked(found["prf-rm3-bm25"], 200, second),
        "rer-lsi": _reranked(found["lsa-d100-1"], 50, third),
    }


def _seen(random: np.random.Generator, relevance: Array, noise: float) -> Array:
    return relevance + 1.1 * noise * random.normal(size=relevance.shape)


def _reranked(score: Array, depth: int, other: Array) -> Array:
    found = score.copy()
    for topic, (own, of_other) in enumerate(zip(score, other, strict=True)):
        top = np.argsort(-own)[:depth]
        found[topic, top] = own.max() + 1 + of_other[top] - of_other[top].min()
    return found
