"""The one exception that the kit raises on purpose."""


class TaclError(Exception):
    """Something a user can mend: the message is one sentence on what is wrong and what to do."""


def unknown_name(kind: str, name: object, valid: object) -> TaclError:
    """An error for a name that is not in a list, which it shows."""
    return TaclError(f"unknown {kind} {name!r}; choose one of: {', '.join(map(str, valid))}.")
