"""Which methods the paper's tables print bold: its test of significance."""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

CONFIDENCE = 0.99  #: of the paper


def not_worse(
    values: Sequence[Sequence[float]], higher_is_better: bool = True, confidence: float = CONFIDENCE
) -> list[bool]:
    """Which methods the paper's tables print bold: the best one, and those not significantly different from it.

    values: for each method its results over runs. Two methods differ if Welch's t-test rejects equal means
    at the given confidence. Where neither has any spread, any difference counts; a single run decides nothing.
    """
    means = np.array([np.mean(runs) for runs in values])
    if np.isnan(means).all():
        return [False] * len(means)
    best = int(np.nanargmax(means if higher_is_better else -means))
    return [
        not np.isnan(means[index])
        and (index == best or means[index] == means[best] or not _differ(runs, values[best], confidence))
        for index, runs in enumerate(values)
    ]


def _differ(left: Sequence[float], right: Sequence[float], confidence: float) -> bool:
    if min(len(left), len(right)) < 2:
        return False  # one run says nothing about spread
    if np.ptp(left) == 0 and np.ptp(right) == 0:
        return bool(left[0] != right[0])
    with warnings.catch_warnings():  # scipy warns where one of the two has no spread; Welch's test allows that
        warnings.simplefilter("ignore", RuntimeWarning)
        return bool(stats.ttest_ind(left, right, equal_var=False).pvalue < 1 - confidence)
