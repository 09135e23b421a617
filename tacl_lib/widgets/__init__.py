"""Views that one can touch: one line in a notebook each, over recorded runs or a live memory."""

__all__: list[str] = []
