"""The paper's test of significance, which decides what its tables print bold."""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

CONFIDENCE = 0.99  #: the paper's


def not_worse(
    values: Sequence[Sequence[float]], higher_is_better: bool = True, confidence: float = CONFIDENCE
) -> list[bool]:
    """Which methods are bold: the best, and all that do not differ significantly from it.

    values: each method's results over runs. Two methods differ if Welch's t-test rejects equal means at the given
    confidence. If neither has any spread, any difference counts; a single run decides nothing.
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
        return False  # a single run has no spread
    if np.ptp(left) == 0 and np.ptp(right) == 0:
        return bool(left[0] != right[0])
    with warnings.catch_warnings():  # scipy warns if one of the two has no spread; Welch's test allows that
        warnings.simplefilter("ignore", RuntimeWarning)
        return bool(stats.ttest_ind(left, right, equal_var=False).pvalue < 1 - confidence)
