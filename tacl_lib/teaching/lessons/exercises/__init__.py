"""The exercises of the lessons, by the name of the function that each asks for."""

from tacl_lib.teaching.lessons.exercise import Exercise
from tacl_lib.teaching.lessons.exercises import agem, forgetting, memory, ogd, task_agnostic

#: in the order of the lessons
EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for module in (forgetting, agem, ogd, memory, task_agnostic)
    for exercise in module.EXERCISES
}
