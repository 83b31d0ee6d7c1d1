"""Compiled kernel of rank_logistic: many small logistic regressions, each calibrated.

Imported on first use only, because it needs numba.
"""

import numpy as np
from numba import njit

_REORDERED_SUMS = {"reassoc", "contract", "arcp", "nsz"}  # lets sums use vector instructions
_LARGEST_LOGIT = 300.0


@njit(cache=True, nogil=True, fastmath=_REORDERED_SUMS)
def fitted_line(x, relevance, ridge):
    """Intercept and slope of a logistic regression on one variable, slope penalised by ridge.

    Newton's method with steps halved until the penalised likelihood does not fall. Relevance must
    not be all 0 or all 1.
    """
    prevalence = relevance.mean()
    best_intercept, best_slope = np.log(prevalence / (1.0 - prevalence)), 0.0
    intercept, slope = best_intercept, best_slope
    step_intercept, step_slope = 0.0, 0.0
    best = np.inf
    for _ in range(100):
        # penalised negative log-likelihood with its first and second derivatives, in one pass
        loss = 0.5 * ridge * slope * slope
        gradient_0, gradient_1 = 0.0, -ridge * slope
        hessian_00, hessian_01, hessian_11 = 0.0, 0.0, ridge
        for i in range(x.size):
            logit = intercept + slope * x[i]
            small = np.exp(-abs(logit))
            loss += np.log1p(small) + max(logit, 0.0) - relevance[i] * logit
            predicted = 1.0 / (1.0 + small) if logit >= 0 else small / (1.0 + small)
            weight = small / ((1.0 + small) * (1.0 + small))
            gradient_0 += relevance[i] - predicted
            gradient_1 += (relevance[i] - predicted) * x[i]
            hessian_00 += weight
            hessian_01 += weight * x[i]
            hessian_11 += weight * x[i] * x[i]
        # a worse point: go back and try half the step; a better one: take it, and Newton's step
        if loss > best + 1e-12 * (1.0 + abs(best)):
            step_intercept, step_slope = 0.5 * step_intercept, 0.5 * step_slope
        else:
            best, best_intercept, best_slope = loss, intercept, slope
            determinant = hessian_00 * hessian_11 - hessian_01 * hessian_01
            if determinant < 1e-290:
                break
            step_intercept = (hessian_11 * gradient_0 - hessian_01 * gradient_1) / determinant
            step_slope = (hessian_00 * gradient_1 - hessian_01 * gradient_0) / determinant
        if max(abs(step_intercept), abs(step_slope)) < 1e-9 * (1.0 + abs(best_slope)):
            break
        intercept, slope = best_intercept + step_intercept, best_slope + step_slope
    return best_intercept, best_slope


@njit(cache=True, nogil=True, fastmath=_REORDERED_SUMS)
def calibration_factor(odds_against, first, last, target):
    """exp(-p) of section 3's offset p, with sum of 1 / (1 + exp(-p) odds_against) = target.

    The sum leaves out the held-out documents ``first:last``; target lies strictly between 0 and
    the number of the others. Newton's method inside a bracket that halves when a step leaves it.
    """
    low, high = -_LARGEST_LOGIT - 40.0, _LARGEST_LOGIT + 40.0
    offset = 0.0
    for _ in range(200):
        # number predicted outside the held-out documents, and its derivative by the offset
        factor = np.exp(-offset)
        total, slope = 0.0, 0.0
        for i in range(first):
            predicted = 1.0 / (1.0 + factor * odds_against[i])
            total += predicted
            slope += predicted * (1.0 - predicted)
        for i in range(last, odds_against.size):
            predicted = 1.0 / (1.0 + factor * odds_against[i])
            total += predicted
            slope += predicted * (1.0 - predicted)
        excess = total - target
        if abs(excess) < 1e-11 * target:
            break
        # the number grows with the offset: the root lies below a point of excess, above a lack
        if excess > 0:
            high = offset
        else:
            low = offset
        # Newton's step, or the middle of the bracket where the step leaves it
        following = offset - excess / max(slope, 1e-290)
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == offset:
            break
        offset = following
    return np.exp(-offset)


@njit(cache=True, nogil=True)
def held_out_predictions(
    x, topic_start, group_start, first_group, selected, relevance, probability, ridge, predicted
):
    """Fill ``predicted`` (replicate, pair) with M, group by group.

    Pairs are sorted by group, groups by topic: group g holds ``group_start[g]:group_start[g + 1]``
    and topic t the groups ``first_group[t]:first_group[t + 1]``.
    """
    for replicate in range(selected.shape[0]):
        for topic in range(topic_start.size - 1):
            # topics have nothing in common
            _topic_predictions(
                x,
                topic_start[topic],
                group_start[first_group[topic] : first_group[topic + 1] + 1],
                selected[replicate],
                relevance[replicate],
                probability,
                ridge,
                predicted[replicate],
            )


@njit(cache=True, nogil=True)
def _topic_predictions(x, start, bounds, selected, relevance, probability, ridge, predicted):
    """M of one topic in one replicate: a fit and an offset for every group held out."""
    n_pairs = bounds[-1] - start if bounds.size > 1 else 0
    odds_against = np.empty(n_pairs)
    own_x, own_relevance = np.empty(n_pairs), np.empty(n_pairs)
    for group in range(bounds.size - 1):
        # what the other groups' sample says: their documents, and the estimated number relevant
        first, last = bounds[group], bounds[group + 1]
        training, target = 0, 0.0
        for i in range(start, start + n_pairs):
            if selected[i] and (i < first or i >= last):
                own_x[training], own_relevance[training] = x[i], relevance[i]
                target += relevance[i] / probability[i]
                training += 1
        # none or all relevant has no finite offset: M is 0 or 1
        n_outside = n_pairs - (last - first)
        if target <= 0.0:
            for i in range(first, last):
                predicted[i] = 0.0
        elif target >= n_outside * (1.0 - 1e-12):
            for i in range(first, last):
                predicted[i] = 1.0
        else:
            # section 3: logistic regression, the offset that meets the target, M of the group
            intercept, slope, centre = _training_fit(
                own_x[:training], own_relevance[:training], ridge
            )
            for i in range(n_pairs):
                logit = intercept + slope * (x[start + i] - centre)
                odds_against[i] = np.exp(-min(max(logit, -_LARGEST_LOGIT), _LARGEST_LOGIT))
            factor = calibration_factor(odds_against, first - start, last - start, target)
            for i in range(first, last):
                predicted[i] = 1.0 / (1.0 + factor * odds_against[i - start])


@njit(cache=True, nogil=True)
def _training_fit(x, relevance, ridge):
    """Fit on centred x; flat where the training documents are all relevant or all not."""
    centre = x.mean()
    prevalence = relevance.mean()
    if prevalence <= 0.0 or prevalence >= 1.0:
        return 0.0, 0.0, centre
    intercept, slope = fitted_line(x - centre, relevance, ridge)
    return intercept, slope, centre
