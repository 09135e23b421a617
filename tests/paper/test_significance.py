"""The paper's test of significance against scipy."""

import math
import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacl_lib.paper.significance import not_worse

NAN = math.nan

runs = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=2, max_size=6)


@given(st.lists(runs, min_size=1, max_size=5), st.booleans(), st.sampled_from([0.9, 0.99]))
@settings(deadline=None, max_examples=100)
def test_not_worse_against_scipy(values, higher_is_better, confidence):
    values = [[*v, v[0] + 0.01] for v in values]  # some spread in each method
    means = [np.mean(v) for v in values]
    best = values[int(np.argmax(means) if higher_is_better else np.argmin(means))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [
            np.mean(v) == np.mean(best) or stats.ttest_ind(v, best, equal_var=False).pvalue >= 1 - confidence
            for v in values
        ]
        assert not_worse(values, higher_is_better, confidence) == expected


def test_clear_and_unclear_differences():
    best, close, far = [0.90, 0.92, 0.91], [0.89, 0.93, 0.90], [0.50, 0.52, 0.51]
    assert not_worse([far, best, close]) == [False, True, True]


def test_lower_is_better():
    best, far = [0.10, 0.12, 0.11], [0.50, 0.52, 0.51]
    assert not_worse([far, best], higher_is_better=False) == [False, True]
    assert not_worse([far, best]) == [True, False]


def test_confidence_decides():
    """p lies between 0.01 and 0.1 here, so that 90% and 99% disagree."""
    left, right = [0.80, 0.82, 0.84], [0.85, 0.87, 0.89]
    assert 0.01 < stats.ttest_ind(left, right, equal_var=False).pvalue < 0.1
    assert not_worse([left, right], confidence=0.99) == [True, True]
    assert not_worse([left, right], confidence=0.9) == [False, True]


def test_unequal_spread_is_welch_and_not_student():
    """A case in which the pooled test rejects and Welch's does not."""
    left, right = [0.5, 0.9], [0.905, 0.906, 0.904, 0.905, 0.906, 0.904, 0.905, 0.905]
    assert stats.ttest_ind(left, right).pvalue < 0.05 < stats.ttest_ind(left, right, equal_var=False).pvalue
    assert not_worse([left, right], confidence=0.95) == [True, True]


def test_identical_methods_are_all_bold():
    assert not_worse([[0.5, 0.6], [0.5, 0.6], [0.5, 0.6]]) == [True, True, True]


def test_one_method_without_spread_is_tested_without_a_warning():
    """By hand: t = 0.3 / 0.01 with one degree of freedom, p = 0.021; at 95% they differ, at 99% they do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not_worse([[0.8, 0.8], [0.49, 0.51]], confidence=0.95) == [True, False]
        assert not_worse([[0.8, 0.8], [0.49, 0.51]]) == [True, True]


def test_without_spread_any_difference_counts():
    """scipy would say NaN."""
    assert not_worse([[0.5, 0.5], [0.6, 0.6]]) == [False, True]
    assert not_worse([[0.6, 0.6], [0.6, 0.6]]) == [True, True]


def test_without_spread_equal_values_do_not_differ_by_rounding():
    """The mean of 0.1, 0.1, 0.1 is 0.10000000000000002: the number of runs must not decide."""
    assert not_worse([[0.1, 0.1], [0.1, 0.1, 0.1]]) == [True, True]
    assert not_worse([[0.1, 0.1], [0.1, 0.1, 0.1]], higher_is_better=False) == [True, True]


def test_one_run_decides_nothing():
    assert not_worse([[0.2], [0.9]]) == [True, True]
    assert not_worse([[0.2], [0.9, 0.91, 0.92]]) == [True, True]


def test_a_method_without_a_result_is_never_bold():
    """A diverged run gives NaN; it must neither win nor hide the others."""
    assert not_worse([[0.2, 0.21, 0.2], [NAN, 0.9, 0.9], [0.8, 0.81, 0.8]]) == [False, False, True]
    assert not_worse([[NAN, NAN], [NAN]]) == [False, False]


def test_a_single_method():
    assert not_worse([[0.1, 0.2]]) == [True]
    assert all(type(bold) is bool for bold in not_worse([[0.1, 0.2], [0.1, 0.3]]))
