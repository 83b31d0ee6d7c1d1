"""Collections with known truth from the urn model, and the one that the package ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayeseval.collection import assemble
from bayeseval.collection.choices import check_choice, check_whole_numbers, generator

UNJUDGED, NOTHING = -1, 65535  # in the integers of the shipped file


def urn_collection(
    odds: ArrayLike,
    *,
    n_topics: int | None = None,
    n_documents: ArrayLike = 1000,
    n_relevant: ArrayLike | None = None,
    prevalence: float | None = None,
    difficulty_sd: float = 0.0,
    shared: float = 0.5,
    team: ArrayLike | None = None,
    team_shared: float = 0.0,
    depth: int = 100,
    grade_proportions: ArrayLike = (1.0,),
    keep: str = "all",
    random_seed: int | None,
) -> xr.DataTree:
    r"""Collection whose runs draw their rankings from an urn, with every pair judged.

    For a topic with N documents, M of them relevant, a run draws documents without replacement;
    a non-relevant document has w times the weight of a relevant one. After c_b relevant and c_w
    non-relevant draws the next document is relevant with probability (equation 12)

    .. math:: P(b \mid c_b, c_w) = \frac{M - c_b}{(M - c_b) + w (N - M - c_w)}

    Successive draws proportional to weight are a sort by log weight + Gumbel noise. Runs share
    documents because their noises are correlated: the noise is a fixed increasing function of a
    standard normal z, and

    .. math:: z = \rho\, a_d + \tau\, b_{team,d} + \sqrt{1 - \rho^2 - \tau^2}\, \epsilon_{run,d}

    with a, b and epsilon independent standard normal. Each run by itself follows the urn exactly.

    Parameters
    ----------
    odds : array_like (run,) or (run, topic)
        w, above 0: 1 ranks at random, smaller is better.
    n_topics : int, optional
        Number of topics; may be left out where another parameter has one value per topic.
    n_documents : int or array_like (topic,)
        N.
    n_relevant : int or array_like (topic,), optional
        M. Give this or `prevalence`.
    prevalence : float, optional
        q: M is Binomial(N, q), one draw per topic (section 3.2).
    difficulty_sd : float
        Standard deviation of a normal topic effect on log w, common to all runs.
    shared, team_shared : float
        rho and tau; rho**2 + tau**2 at most 1.
    team : array_like of str (run,), optional
        Team of each run; by default each run is a team of its own.
    depth : int
        Number of ranks kept.
    grade_proportions : array_like (grade,)
        Proportions of the grades 1, 2, ... among relevant documents, independent of the ranking.
    keep : {"all", "retrieved"}
        Pairs of a topic: all N documents, or those retrieved and all relevant ones.
    random_seed : int or None
        Seed; the same seed gives the same collection.

    Returns
    -------
    DataTree
        Collection with topics 1, 2, ..., runs run001, run002, ..., a grade for every pair; the root
        has `odds` (run, topic) and `n_documents` (topic) in addition.

    Raises
    ------
    ValueError
        If a parameter is outside its range, or sizes disagree.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, equations 9 to 12,
    doi:10.1145/3015022.3015029.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.02, 0.1], n_topics=3, n_relevant=50, random_seed=1
    ... )
    >>> dict(collection["rankings/ranking"].sizes)
    {'run': 2, 'topic': 3, 'rank': 100}
    >>> int((collection["judgments"]["grade"] > 0).sum())
    150
    """
    weight, documents = _sizes(odds, n_topics, n_documents, n_relevant)
    n_runs, topic_count = weight.shape
    named = [f"team{run + 1:03d}" for run in range(n_runs)] if team is None else team
    teams = np.asarray(named).astype(str)
    if teams.shape != (n_runs,):
        raise ValueError(f"team must name one team per run: {n_runs}, not shape {teams.shape}.")
    if shared < 0 or team_shared < 0 or shared**2 + team_shared**2 > 1:
        raise ValueError(
            "shared and team_shared must be at least 0 and their squares add up to at most 1, "
            f"not {shared} and {team_shared}."
        )
    proportions = np.atleast_1d(np.asarray(grade_proportions, dtype=float))
    if (proportions < 0).any() or not np.isclose(proportions.sum(), 1.0):
        raise ValueError(f"grade_proportions must add up to 1, not {proportions.sum():g}.")
    proportions = proportions / proportions.sum()
    check_choice("keep", keep, ("all", "retrieved"))
    check_whole_numbers(1, depth=depth)
    common, *topic_rngs = generator(random_seed).spawn(topic_count + 1)
    weight = weight * np.exp(common.normal(0.0, difficulty_sd, topic_count))
    relevant = _relevant(common, documents, n_relevant, prevalence)
    team_index = np.unique(teams, return_inverse=True)[1]
    parts = [
        _topic(rng, weight[:, t], int(documents[t]), int(relevant[t]), team_index,
               shared=shared, team_shared=team_shared, depth=depth,
               grade_proportions=proportions, keep=keep)
        for t, rng in enumerate(topic_rngs)
    ]  # fmt: skip
    return _assembled(parts, weight, documents, teams)


def demo_collection() -> xr.DataTree:
    """Simulated TREC-8-like collection that the package ships: 129 runs, 50 topics.

    The rankings come from the urn model of `urn_collection`. Numbers of relevant and of judged
    documents per topic and each run's mean average precision are near those published for TREC-8.
    As at TREC, the documents in the depth-100 pool of the contributing runs are judged and the
    others are not: the truth of an experiment is the plain measure with unjudged documents counted
    as non-relevant.

    Returns
    -------
    DataTree
        The collection.

    Raises
    ------
    ValueError
        If the installation does not have the file.

    References
    ----------
    Voorhees and Harman, Overview of the Eighth Text REtrieval Conference (TREC-8), NIST SP 500-246.

    Examples
    --------
    >>> import bayeseval as be
    >>> dict(be.simulate.demo_collection()["rankings/ranking"].sizes)
    {'run': 129, 'topic': 50, 'rank': 100}
    """
    package = Path(__file__).parents[1]  # the file is in the package, or in data/ of a checkout
    paths = [folder / "data" / "trec8_like.nc" for folder in (package, package.parent)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise ValueError(f"{paths[0]} does not exist: the installation is not whole.")
    with xr.open_dataset(path, engine="h5netcdf", mask_and_scale=False) as dataset:
        return unpacked(dataset.load())


def _topic(
    rng, odds, n_documents, n_relevant, team, *, shared, team_shared, depth, grade_proportions, keep
):
    """Document numbers, grades and rankings (positions in the numbers) of one topic."""
    noise_rng, label_rng = rng.spawn(2)
    key = urn_noise(noise_rng, team, n_documents, shared, team_shared)
    key[:, n_relevant:] += np.log(odds)[:, None]  # the first n_relevant columns are relevant
    ranking = top_documents(key, depth)
    grade = np.zeros(n_documents, dtype=np.float32)
    grade[:n_relevant] = 1 + label_rng.choice(
        grade_proportions.size, size=n_relevant, p=grade_proportions
    )
    number = label_rng.permutation(n_documents)  # labels must not tell who is relevant
    kept = grade > 0
    kept[ranking[ranking >= 0]] = True
    kept |= keep == "all"
    columns = np.flatnonzero(kept)
    columns = columns[np.argsort(number[columns])]
    position = np.full(n_documents + 1, -1)  # the last entry serves the ranks with -1
    position[columns] = np.arange(columns.size)
    return number[columns], grade[columns], position[ranking]


def _assembled(parts, odds, documents, teams) -> xr.DataTree:
    sizes = np.array([number.size for number, _, _ in parts])
    starts = np.cumsum(sizes) - sizes
    topics = [str(t + 1) for t in range(sizes.size)]
    width = len(str(int(documents.max()) - 1))
    label = [
        f"{topic}-{n:0{width}d}"
        for topic, (number, _, _) in zip(topics, parts, strict=True)
        for n in number
    ]
    ranking = np.stack(
        [np.where(r >= 0, r + start, -1) for (_, _, r), start in zip(parts, starts, strict=True)],
        axis=1,
    )
    tree = assemble(
        topics=topics,
        runs=[f"run{r + 1:03d}" for r in range(len(teams))],
        document=np.array(label, dtype=object),
        pair_topic=np.repeat(np.arange(sizes.size), sizes).astype(np.int32),
        ranking=ranking.astype(np.int32),
        grade=np.concatenate([grade for _, grade, _ in parts]),
        pooled=np.ones(sizes.sum(), dtype=bool),
        team=teams,
    )
    return tree.assign(
        odds=xr.Variable(("run", "topic"), odds), n_documents=xr.Variable("topic", documents)
    )


def _sizes(odds, n_topics, n_documents, n_relevant) -> tuple[np.ndarray, np.ndarray]:
    """Odds (run, topic) and numbers of documents (topic,), checked."""
    odds = np.asarray(odds, dtype=float)
    if odds.ndim not in (1, 2) or not (np.isfinite(odds) & (odds > 0)).all():
        raise ValueError("odds must be numbers above 0, one per run or one per run and topic.")
    known = [odds.shape[1]] if odds.ndim == 2 else []
    known += [n_topics] if n_topics is not None else []
    known += [np.size(v) for v in (n_documents, n_relevant) if np.size(v) > 1]
    if not known or len(set(known)) > 1:
        raise ValueError(f"the number of topics must be given, once or alike; found {known}.")
    check_whole_numbers(1, n_topics=known[0])
    if odds.ndim == 1:
        odds = np.repeat(odds[:, None], known[0], axis=1)
    documents = np.broadcast_to(n_documents, known[0]).astype(np.int64)
    wrong = np.flatnonzero((documents < 1) | (documents != n_documents))
    if wrong.size:
        found = np.broadcast_to(n_documents, known[0])[wrong[0]]
        raise ValueError(f"n_documents must be whole numbers, 1 or more, not {found}.")
    return odds, documents


def _relevant(rng, documents: np.ndarray, n_relevant, prevalence) -> np.ndarray:
    """Number of relevant documents (topic,): as given, or drawn."""
    if (n_relevant is None) == (prevalence is None):
        raise ValueError("give n_relevant or prevalence, one of the two.")
    if n_relevant is None:
        if not 0 <= prevalence <= 1:
            raise ValueError(f"prevalence must lie in [0, 1], not {prevalence}.")
        return rng.binomial(documents, prevalence)
    relevant = np.broadcast_to(n_relevant, documents.size).astype(np.int64)
    wrong = (relevant < 0) | (relevant > documents)
    if wrong.any():
        t = int(np.argmax(wrong))
        raise ValueError(
            f"n_relevant must lie between 0 and n_documents; topic {t + 1} has {relevant[t]} "
            f"of {documents[t]}."
        )
    return relevant


def urn_noise(
    rng: np.random.Generator, team: np.ndarray, n_documents: int, shared: float, team_shared: float
) -> np.ndarray:
    """Gumbel noise (run, document), independent over documents, correlated over runs.

    Drawn document by document, so that the first columns do not depend on `n_documents`.

    ``team`` (run,) holds positions of teams; ``shared`` and ``team_shared`` are rho and tau of
    :func:`bayeseval.simulate.urn_collection`.
    """
    from scipy.special import log_ndtr

    n_teams = int(team.max()) + 1
    normal = rng.standard_normal((n_documents, 1 + n_teams + team.size)).T
    common, by_team, own = normal[0], normal[1 : 1 + n_teams], normal[1 + n_teams :]
    rest = np.sqrt(max(0.0, 1.0 - shared**2 - team_shared**2))
    mixed = shared * common + team_shared * by_team[team] + rest * own
    return -np.log(-log_ndtr(mixed))  # the Gumbel quantile of Phi(z), accurate in both tails


def top_documents(key: np.ndarray, depth: int) -> np.ndarray:
    """Columns (run, rank) of the largest keys of each row, largest first, -1 past the last one."""
    ranking = np.full((key.shape[0], depth), -1, dtype=np.int64)
    ranking[:, : key.shape[1]] = np.argsort(-key, axis=1)[:, :depth]
    return ranking


def unpacked(dataset: xr.Dataset) -> xr.DataTree:
    """Collection from the small integers of the file; the judged pairs are the pool."""
    n_pairs = dataset["n_pairs"].values
    starts = np.cumsum(n_pairs) - n_pairs
    pair_topic = np.repeat(np.arange(n_pairs.size), n_pairs)
    topics = dataset["topic"].values.astype(str)
    width = int(dataset.attrs["label_width"])
    numbers = np.char.zfill(dataset["number"].values.astype(str), width)
    local = dataset["ranking"].values.astype(np.int32)
    grade = dataset["grade"].values.astype(np.float32)
    return assemble(
        topics=topics,
        runs=dataset["run"].values.astype(str),
        document=np.char.add(np.char.add(topics, "-")[pair_topic], numbers),
        pair_topic=pair_topic,
        ranking=np.where(local == NOTHING, -1, local + starts[:, None]),
        grade=np.where(grade == UNJUDGED, np.nan, grade),
        contributed=dataset["contributed"].values.astype(bool),
        team=dataset["team"].values.astype(str),
    )
