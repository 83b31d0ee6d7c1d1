"""Compiled kernels of the pools that follow the judgments.

Imported on first use only, because it needs numba.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def move_to_front_walk(position, can_be_judged, relevant, known, n_documents):
    """Documents in the order in which move-to-front meets them, those known before left out.

    What a document does to the priority of a queue is the same whether it is judged now or was
    judged before, so the walk depends on the grades alone and can be taken up again at any point.

    ``position`` (queue, rank) is the document at each rank, -1 for none. Of documents (document,),
    those that cannot be judged are passed over, and those known before cost nothing; at most
    ``n_documents`` new ones are found.
    """
    n_queues, depth = position.shape
    priority = np.zeros(n_queues, np.int64)  # 0 is the maximum
    examined = np.zeros(n_queues, np.int64)
    met = known.copy()
    order = np.empty(n_documents, np.int64)
    found = 0
    current = -1
    while found < n_documents:
        # without a queue in hand: that of highest priority, of equals the least examined
        if current < 0:
            for queue in range(n_queues):
                if examined[queue] == depth:
                    continue
                if (
                    current < 0
                    or priority[queue] > priority[current]
                    or (
                        priority[queue] == priority[current] and examined[queue] < examined[current]
                    )
                ):
                    current = queue
            if current < 0:
                break
        # its next document: found if new; relevant keeps the queue, another one sends it back
        document = position[current, examined[current]]
        examined[current] += 1
        if document >= 0 and can_be_judged[document]:
            if not met[document]:
                met[document] = True
                order[found] = document
                found += 1
            if relevant[document]:
                priority[current] = 0
                goes_on = examined[current] < depth
            else:
                priority[current] -= 1
                goes_on = False
        else:  # nothing was learned: the next rank of the same queue
            goes_on = examined[current] < depth
        if not goes_on:
            current = -1
    return order[:found]


@njit(cache=True, nogil=True)
def hedge_walk(
    position, value, missed, can_be_judged, relevant, known, log_beta, n_documents, learn
):
    """Documents in the order in which hedge chooses them, for one topic.

    ``position`` (run, rank) is the document at each rank, -1 for none. Sizes of losses are
    ``value`` (rank,) and, of a document that the run does not retrieve, ``missed`` (run,), no more
    than any value. Of documents (document,), ``can_be_judged`` are the candidates, ``relevant`` are
    judged so, and those ``known`` before make the weights to start from; ``log_beta`` is the log of
    the rate. At most ``n_documents`` are chosen, whose grades the weights follow where ``learn``
    says so.
    """
    n_runs, depth = position.shape
    # loss of every document in every run, were it not relevant, at its rank or for lack of one
    size = np.empty((can_be_judged.size, n_runs))
    for run in range(n_runs):
        size[:, run] = missed[run]
        for rank in range(depth):
            if position[run, rank] >= 0:
                size[position[run, rank], run] = value[rank]
    # losses from the judgments known before: a relevant document is a gain
    loss = np.zeros(n_runs)
    for document in range(known.size):
        if known[document]:
            _learn(loss, size[document], relevant[document])
    is_open = can_be_judged & ~known
    order = np.empty(n_documents, np.int64)
    weight = np.empty(n_runs)
    score = np.empty(can_be_judged.size)
    for found in range(n_documents):
        # runs weigh beta^loss; a document scores the mixture of its losses by these weights
        if found == 0 or learn:
            least = loss.min()
            for run in range(n_runs):
                weight[run] = np.exp(log_beta * (loss[run] - least))
            # thousands of runs below 1e-18 of the heaviest do not change a score above 1e-3
            _mixture(position, value, missed, weight, 1e-18, score)
        best = _last_of_the_best(score, is_open)
        if best >= 0 and score[best] < 1e-3:  # the leaders have nothing left: all runs count
            _mixture(position, value, missed, weight, 0.0, score)
            best = _last_of_the_best(score, is_open)
        if best < 0:
            return order[:found]
        # the best is judged, and every run pays or gains by where it had the document
        order[found] = best
        is_open[best] = False
        if learn:
            _learn(loss, size[best], relevant[best])
    return order


@njit(cache=True, nogil=True)
def _learn(loss, size, relevant):
    """Add to every run's ``loss`` what a document of this ``size`` (run,) costs or gains it."""
    for run in range(loss.size):
        loss[run] += -0.5 * size[run] if relevant else 0.5 * size[run]


@njit(cache=True, nogil=True)
def _mixture(position, value, missed, weight, least, score):
    """Fill ``score`` with what the runs heavier than ``least`` make of every document."""
    for document in range(score.size):
        score[document] = 0.0
    for run in range(position.shape[0]):
        if weight[run] > least:
            for rank in range(position.shape[1]):
                if position[run, rank] >= 0:
                    score[position[run, rank]] += weight[run] * (value[rank] - missed[run])


@njit(cache=True, nogil=True)
def _last_of_the_best(score, is_open):
    """The open document with the highest score, up to rounding; the last of equals, or -1."""
    best = -1
    for document in range(score.size):
        if is_open[document] and (best < 0 or score[document] >= score[best] * (1.0 - 1e-12)):
            best = document
    return best
