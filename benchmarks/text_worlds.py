"""Collections of synthetic texts, searched by systems that really retrieve: no urn, no factors.

Documents are words. A document mixes a few themes and their facets, which are distributions of
concepts; many concepts have two forms, and a document prefers one of them, as the words of a topic
do. So documents in the other form are missed by all runs that match words. Relevance is how well a
document's themes and facets match the topic's need, with some noise.

Runs are BM25, language models, latent semantic vectors, relevance feedback, fusion, rerankers, bad
ones, and "neural" ones, which do not read words: they see relevance with noise of their own
(``text_runs.py``). What any run has on top is judged; relevant documents below are not known, as
in a real pool.

Three things were chosen with a look at these collections: limits of ratios are given back where
that is more than chance, each run has a curve in the model of relevance, and the combination never
takes a model's own errors for less than a share of the posterior's and the design's.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
import xarray as xr
from numpy.typing import NDArray

import bayeseval as be
from benchmarks.text_runs import Array, run_scores

THEMES, FACETS, CONCEPTS = 50, 6, 2500
THEME_OF_FACET = np.repeat(np.arange(THEMES), FACETS)
TWO_FORMS = 0.6  # share of the concepts
N_DOCUMENTS = 9000

# runs in the order in which ties are broken; those with a star contributed
RUNS = {
    "text-17": """
        lex-bm25* lex-bm25-k04b0 lex-bm25-k3b1* lm-dir1000 lm-jm8-long* vec-cos lsa-d40-0*
        lsa-d100-1 dense-d150-5 dense-d60-3* prf-rm3-bm25* prf-rm3-ql fus-rrf-all* neu-A
        rer-bm25* bad-oneword* bad-noise
    """,
    "text-37": """
        lex-bm25 lex-bm25-long* lex-bm25-k04b0* lex-bm25-k3b1 lm-dir1000 lm-dir3000-long*
        lm-dir100* lm-jm2 lm-jm8-long vec-cos* vec-cos-long lsa-d40-0 lsa-d100-1* lsa-d200-2
        dense-d60-3 dense-d150-4 dense-d150-5* vec-d25-6* prf-rm3-bm25* prf-rm3-ql*
        prf-rm3-deep fus-rrf-bl* fus-rrf-all fus-dense neu-A* neu-B rer-bm25 rer-rm3
        rer-lsi* bad-oneword* bad-lsi5* bad-noise lex-tfidf-b1 lm-jm5* fus-noise*
        dense-d80-x* lsa-d30-y*
    """,
    "text-25": """
        lex-bm25* lex-bm25-long* lex-bm25-k04b0* lm-dir1000 lm-jm2 lm-jm8-long lm-dir100
        lsa-d40-0* lsa-d100-1* lsa-d200-2* dense-d60-3 dense-d150-4 dense-d150-5
        prf-rm3-bm25* prf-rm3-ql* prf-rm3-deep* fus-rrf-bl fus-rrf-all fus-dense neu-A neu-B
        rer-bm25* rer-rm3* rer-lsi* fus-noise
    """,
    "text-6": """
        lex-bm25* lm-dir3000-long dense-d150-4* prf-rm3-ql neu-A bad-lsi5*
    """,
}


@dataclass(frozen=True, kw_only=True)
class Specification:
    """What a collection is made from.

    ``relevant`` is median, spread, least and most of the lognormal number of relevant documents of
    a topic, ``pool`` the median number of judged ones wanted, ``grades`` the mean shares of grades
    1 to 3, ``none`` the positions of topics without a relevant document.
    """

    seed: int
    n_topics: int
    relevant: tuple[float, float, int, int]
    pool: int
    depth: int
    noise: float  # of relevance
    grades: tuple[float, ...] = ()
    none: tuple[int, ...] = ()


SPECIFICATIONS = {
    "text-17": Specification(
        seed=101, n_topics=100, relevant=(42, 0.8, 3, 700), pool=1300, depth=400, noise=0.16
    ),
    "text-37": Specification(
        seed=202,
        n_topics=50,
        relevant=(150, 0.7, 15, 1200),
        pool=1600,
        depth=200,
        noise=0.14,
        grades=(0.62, 0.26, 0.12),
    ),
    "text-25": Specification(
        seed=303,
        n_topics=50,
        relevant=(6, 1.1, 1, 80),
        pool=600,
        depth=200,
        noise=0.12,
        none=(3, 30),
    ),
    "text-6": Specification(
        seed=404, n_topics=30, relevant=(40, 1.4, 3, 600), pool=900, depth=500, noise=0.14
    ),
}


@dataclass(frozen=True)
class Texts:
    """Documents, and the themes they are about; a word is a concept in one of its two forms."""

    popularity: Array  # (theme,)
    background: Array  # (concept,)
    concepts: Array  # (facet, concept) probability of a concept
    has_forms: NDArray[np.bool_]  # (concept,)
    mixture: Array  # (document, facet)
    counts: sp.csr_matrix  # (document, word)
    quality: Array  # (document,)


@dataclass(frozen=True)
class Topics:
    words: dict[str, Array]  # "title", "long" -> (topic, word)
    relevance: Array  # (topic, document), whose largest values are relevant


def text_world(name: str) -> xr.DataTree:
    """Collection of one of ``SPECIFICATIONS``, of which some runs contributed."""
    wanted = SPECIFICATIONS[name]
    labels = RUNS[name].split()
    runs = [label.rstrip("*") for label in labels]
    random = np.random.default_rng(wanted.seed)
    texts = _texts(random)
    topics = _topics(random, texts, wanted)
    scores = run_scores(texts.counts, topics.words, topics.relevance, wanted.seed)
    ranking = np.stack([_ranking(random, scores[run], wanted.depth) for run in runs])
    n_relevant = _n_relevant(random, wanted)
    names = np.array([f"D{number:06d}" for number in random.permutation(900000)[:N_DOCUMENTS]])
    pooled = ranking[:, :, : _pool_depth(ranking, wanted.pool)]
    qrels = []
    for topic, number in enumerate(n_relevant):
        best = np.argsort(-topics.relevance[topic])[:number]
        grade = np.zeros(N_DOCUMENTS, dtype=int)
        grade[best] = _grades(random, number, wanted.grades) if wanted.grades else 1
        pool = np.unique(pooled[:, topic])
        columns = {"topic": str(topic + 1), "document": names[pool], "grade": grade[pool]}
        qrels.append(pd.DataFrame(columns))
    facts = {
        "run": runs,
        "contributed": [label.endswith("*") for label in labels],
        "team": [run.split("-")[0] for run in runs],
    }
    frame = _runs_frame(runs, names[ranking])
    return be.read_collection(pd.concat(qrels), frame, run_table=pd.DataFrame(facts))


def _texts(random: np.random.Generator) -> Texts:
    background = 1 / np.arange(1, CONCEPTS + 1) ** 0.9
    background /= background.sum()
    theme = random.gamma(0.03 + 40 * background, size=(THEMES, CONCEPTS)) + 1e-12
    theme /= theme.sum(axis=1, keepdims=True)
    facet = random.gamma(0.01 + 8 * background, size=(THEMES * FACETS, CONCEPTS)) + 1e-12
    facet /= facet.sum(axis=1, keepdims=True)
    concepts = 0.45 * np.repeat(theme, FACETS, axis=0) + 0.35 * facet + 0.2 * background
    popularity = random.dirichlet(np.full(THEMES, 0.7))
    mixture = np.stack([_mixture(random, popularity) for _ in range(N_DOCUMENTS)])
    length = np.exp(random.normal(4.6, 0.6, N_DOCUMENTS))
    length = np.maximum(15, length).astype(int)
    second_form = random.beta(0.6, 0.6, N_DOCUMENTS)
    has_forms = random.random(CONCEPTS) < TWO_FORMS
    counts = []
    for document in range(N_DOCUMENTS):
        chance = mixture[document] @ concepts
        drawn = random.multinomial(length[document], chance / chance.sum())
        found = np.flatnonzero(drawn)  # no draws for concepts that are not there
        second = np.zeros_like(drawn)
        in_second = random.binomial(drawn[found], second_form[document])
        second[found] = np.where(has_forms[found], in_second, 0)
        counts.append(sp.csr_matrix(np.concatenate([drawn - second, second]).astype(float)))
    return Texts(
        popularity=popularity,
        background=background,
        concepts=concepts,
        has_forms=has_forms,
        mixture=mixture,
        counts=sp.vstack(counts, format="csr"),
        quality=random.normal(size=N_DOCUMENTS),
    )


def _mixture(random: np.random.Generator, popularity: Array) -> Array:
    """Shares (facet,) of a document's one to three themes and their facets."""
    mixture = np.zeros((THEMES, FACETS))
    n_themes = random.choice([1, 2, 3], p=[0.5, 0.35, 0.15])
    themes = random.choice(THEMES, n_themes, replace=False, p=popularity)
    for theme, share in zip(themes, random.dirichlet(np.ones(n_themes)), strict=True):
        mixture[theme] = share * random.dirichlet(np.full(FACETS, 0.25))
    return mixture.ravel()


def _topics(random: np.random.Generator, texts: Texts, wanted: Specification) -> Topics:
    title, long, relevance = [], [], []
    for _ in range(wanted.n_topics):
        themes, need = _need(random, texts.popularity)
        noise = wanted.noise * np.exp(random.normal(0, 0.3)) * random.normal(size=N_DOCUMENTS)
        relevance.append(_match(texts, themes, need > 0) + 0.06 * texts.quality + noise)
        few, more = _words(random, texts, need)
        title.append(few)
        long.append(more + few)
    return Topics({"title": np.stack(title), "long": np.stack(long)}, np.stack(relevance))


def _need(random: np.random.Generator, popularity: Array) -> tuple[NDArray[np.int_], Array]:
    """A topic's one or two themes, and shares (facet,) of one or two facets of each."""
    need = np.zeros(THEMES * FACETS)
    n_themes = random.choice([1, 2], p=[0.7, 0.3])
    themes = random.choice(THEMES, n_themes, replace=False, p=popularity)
    for theme, share in zip(themes, random.dirichlet(np.full(n_themes, 3.0)), strict=True):
        facets = random.choice(FACETS, random.integers(1, 3), replace=False)
        need[theme * FACETS + facets] = share / facets.size
    return themes, need


def _match(texts: Texts, themes: NDArray[np.int_], needed: NDArray[np.bool_]) -> Array:
    """How well documents (document,) match a need; of two themes both have to be there."""
    exact = texts.mixture @ needed
    if themes.size == 2:
        first, second = (texts.mixture @ (needed * (theme == THEME_OF_FACET)) for theme in themes)
        exact = 2 * np.sqrt(first * second) + 0.3 * exact
    return exact + 0.3 * (texts.mixture @ np.isin(THEME_OF_FACET, themes))


def _words(random: np.random.Generator, texts: Texts, need: Array) -> tuple[Array, Array]:
    """Few words (word,) of a topic and more of them, typical of the need and mostly of one form."""
    chance = need @ texts.concepts
    chance = np.where(chance > 1.5 * texts.background, chance**0.7, 0)
    chance /= chance.sum()
    second_form = random.beta(0.6, 0.6)
    drawn = []
    for number in (random.integers(2, 5), random.integers(6, 13)):
        size = min(number, (chance > 0).sum())
        concept = random.choice(CONCEPTS, size, replace=False, p=chance)
        second = texts.has_forms[concept] & (random.random(size) < second_form)
        words = np.zeros(2 * CONCEPTS)
        words[np.where(second, concept + CONCEPTS, concept)] += 1
        drawn.append(words)
    return drawn[0], drawn[1]


def _ranking(random: np.random.Generator, score: Array, depth: int) -> NDArray[np.int_]:
    """Documents (topic, rank) of highest score, ties in random order."""
    return np.argsort(-score - 1e-9 * random.random(score.shape), axis=1)[:, :depth]


def _pool_depth(ranking: NDArray[np.int_], wanted: int) -> int:
    """Least multiple of 5 at which pools of all runs have the wanted median size, or the last."""
    n_topics, depth = ranking.shape[1:]
    for rank in range(5, depth, 5):
        sizes = [np.unique(ranking[:, topic, :rank]).size for topic in range(n_topics)]
        if np.median(sizes) >= wanted:
            return rank
    return depth


def _n_relevant(random: np.random.Generator, wanted: Specification) -> NDArray[np.int_]:
    median, spread, least, most = wanted.relevant
    drawn = np.exp(random.normal(np.log(median), spread, wanted.n_topics))
    numbers = np.clip(drawn, least, most).round().astype(int)
    numbers[list(wanted.none)] = 0
    return numbers


def _grades(random: np.random.Generator, number: int, shares: tuple[float, ...]) -> NDArray:
    """Grades 3 to 1 of a topic's relevant documents, best first."""
    drawn = random.dirichlet(6 * np.array(shares))
    until = np.cumsum(drawn[::-1])[:2]
    return 3 - np.searchsorted(until, (np.arange(number) + 0.5) / number)


def _runs_frame(runs: list[str], names: NDArray[np.str_]) -> pd.DataFrame:
    """Rows of rankings of documents ``names`` (run, topic, rank)."""
    run, topic, rank = (place.ravel() for place in np.indices(names.shape))
    columns = {
        "run": np.array(runs)[run],
        "topic": (topic + 1).astype(str),
        "document": names.ravel(),
        "score": (names.shape[2] - rank).astype(float),
    }
    return pd.DataFrame(columns)
