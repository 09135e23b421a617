"""The paper's metrics on paper and pencil."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacl_lib.core.metrics import average_accuracy, first_task_accuracy, forgetting, summary

NAN = math.nan

#: Two tasks, two epochs each; the second task is not tested before it is seen.
ACCURACY = np.array([[0.6, NAN], [0.8, NAN], [0.5, 0.7], [0.3, 0.9]])
SEEN = np.array([[True, False], [True, False], [True, True], [True, True]])


def test_average_accuracy_by_hand():
    np.testing.assert_allclose(average_accuracy(ACCURACY, SEEN), [0.6, 0.8, 0.6, 0.6])


def test_average_accuracy_leaves_out_tasks_not_trained_on():
    """Also when they were tested: 'over all tasks trained on thus far'."""
    tested_on_all = np.where(np.isnan(ACCURACY), 0.1, ACCURACY)
    np.testing.assert_array_equal(average_accuracy(tested_on_all, SEEN), average_accuracy(ACCURACY, SEEN))


def test_average_accuracy_of_a_diverged_run_is_unknown():
    """A seen task without a number must not count as zero."""
    accuracy = np.array([[0.6, NAN], [NAN, NAN]])
    result = average_accuracy(accuracy, np.array([[True, False], [True, True]]))
    assert result[0] == 0.6
    assert np.isnan(result[1])


def test_forgetting_by_hand():
    np.testing.assert_allclose(forgetting(np.array([0.6, 0.8, 0.5, 0.3, 0.9])), [0, 0, 0.3, 0.5, 0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_forgetting_against_the_definition(values, rows):
    """F_l = max over i ≤ l of A_i, minus A_l: as two loops, for one task and for several at once."""
    expected = []
    for last in range(len(values)):
        largest = values[0]
        for i in range(last + 1):
            largest = max(largest, values[i])
        expected.append(largest - values[last])
    assert forgetting(np.array(values)).tolist() == expected
    assert forgetting(np.array([values] * rows)).tolist() == [expected] * rows


def test_first_task_accuracy():
    assert first_task_accuracy(ACCURACY).tolist() == [0.6, 0.8, 0.5, 0.3]


def test_summary_by_hand():
    assert summary(ACCURACY, SEEN) == pytest.approx(
        {"average_accuracy": 0.65, "first_task_accuracy": 0.55, "forgetting": 0.2}
    )
