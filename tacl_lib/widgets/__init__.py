"""Views that one can touch: one line in a notebook each, over recorded runs or a live memory."""

from tacl_lib.widgets.builder import memory_builder
from tacl_lib.widgets.player import memory_player

__all__ = ["memory_builder", "memory_player"]
