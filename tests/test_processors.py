"""Work in threads, whose answers come in order."""

import threading
import time

import pytest
from threadpoolctl import threadpool_info

from bayeseval.processors import each_on_a_core, in_order, one_blas_thread


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_answers_come_in_the_order_of_the_tasks_whichever_is_done_first(at_once):
    def slow_at_first(task):
        time.sleep(0.02 / (1 + task))
        return task

    tasks = range(9)
    assert list(in_order(slow_at_first, tasks, "tasks", at_once)) == list(tasks)
    assert each_on_a_core(slow_at_first, tasks, "tasks") == list(tasks)


def test_no_more_tasks_are_begun_than_are_to_be_ahead():
    begun = []

    def noted(task):
        begun.append(task)
        return task

    answers = in_order(noted, list(range(50)), "tasks", 2)
    for task in answers:
        time.sleep(0.002)
        assert max(begun) < task + 4
    assert sorted(begun) == list(range(50))  # two threads may begin in either order


def test_tasks_run_side_by_side():
    both = threading.Barrier(2, timeout=20.0)
    assert len(list(in_order(lambda _: both.wait(), [1, 2], "tasks", 2))) == 2


def test_what_a_task_raises_comes_at_its_turn():
    def third_fails(task):
        if task == 2:
            raise ValueError("the third")
        return task

    answers = in_order(third_fails, range(6), "tasks", 2)
    assert [next(answers), next(answers)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(answers)


def test_what_nobody_waits_for_any_more_is_not_begun():
    begun = []

    def noted(task):
        begun.append(task)
        time.sleep(0.05)

    answers = in_order(noted, range(20), "tasks", 1)
    next(answers)
    del answers
    assert len(begun) <= 2


def test_linear_algebra_keeps_to_one_core_and_has_the_others_back_afterwards():
    def threads():
        return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}

    before = threads()
    assert one_blas_thread()(threads)() == {1}
    assert set.union(*in_order(lambda _: threads(), range(3), "tasks", 2)) == {1}
    assert threads() == before
