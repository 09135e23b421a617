"""Views that one can touch: one line in a notebook each, over recorded runs or a live memory."""

from tacl_lib.teaching.widgets.builder import memory_builder
from tacl_lib.teaching.widgets.explorer import forgetting_explorer
from tacl_lib.teaching.widgets.landscape import loss_landscape
from tacl_lib.teaching.widgets.player import memory_player
from tacl_lib.teaching.widgets.projection import projection_playground
from tacl_lib.teaching.widgets.quiz import quiz
from tacl_lib.teaching.widgets.scheduler_lab import scheduler_lab

__all__ = [
    "forgetting_explorer",
    "loss_landscape",
    "memory_builder",
    "memory_player",
    "projection_playground",
    "quiz",
    "scheduler_lab",
]
