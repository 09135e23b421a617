"""What runs inside: a submission's cells, and then its functions, as often as the marker asks.

This file is copied into a place that holds nothing else of the kit: no checks, no solutions, no tests. It is given
inputs and returns what the student's function makes of them; it never learns what was expected.
"""

import ast
import contextlib
import io
import json
import os
import sys
import types
import warnings

import limits
import wire

#: nobody; a process that root has started becomes this before it runs anything
NOBODY = 65534
LONGEST_PRINT = 4000


def main() -> None:
    channel = Channel()
    confine(json.loads(os.environ["MARKING_LIMITS"]))
    session = Session(channel)
    channel.send({"ready": True})
    while (message := channel.receive()) is not None:
        channel.send(session.answer(message))


def confine(allowed: dict[str, int]) -> None:
    """No rights of root, and no more memory, time, files and processes than are allowed."""
    if hasattr(os, "getuid") and os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    with contextlib.suppress(ImportError):
        import resource

        for name, amount in allowed.items():
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, name), (amount, amount))


class Channel:
    """Lines of JSON over the pipes that were standard input and output; prints go elsewhere."""

    def __init__(self) -> None:
        self._in, self._out = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)

    def send(self, message: dict) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def receive(self) -> dict | None:
        line = self._in.readline()
        return json.loads(line) if line else None


class Session:
    """A namespace in which cells are run, as a notebook's kernel does."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.module = types.ModuleType("__main__")
        sys.modules["__main__"] = self.module
        checks = sys.modules["tacl_lib.teaching.checks"] = _Nothing("tacl_lib.teaching.checks")
        teaching = sys.modules["tacl_lib.teaching"] = types.ModuleType("tacl_lib.teaching")
        kit = sys.modules["tacl_lib"] = types.ModuleType("tacl_lib")
        kit.teaching, teaching.checks = teaching, checks

    def answer(self, message: dict) -> dict:
        if "run" in message:
            return self._run(message["run"])
        if "describe" in message:
            return self._describe(message["describe"])
        return self._call(message["call"], message["arguments"], message["seconds"])

    def _run(self, source: str) -> dict:
        printed = io.StringIO()
        error = None
        try:
            with _quietly(printed):
                exec(compile(ast.parse(_without_magic(source)), "<cell>", "exec"), vars(self.module))
        except BaseException as raised:  # also SystemExit and KeyboardInterrupt: the next cell must run
            error = [type(raised).__name__, str(raised)[:500], _line_of(raised)]
        return {"error": error, "printed": printed.getvalue()[:LONGEST_PRINT]}

    def _describe(self, name: str) -> dict:
        """How the function can be called: name and kind of its parameters, and whether they have a default."""
        import inspect

        if not hasattr(self.module, name):
            return {"missing": True}
        value = getattr(self.module, name)
        if not callable(value):
            return {"value": wire.encoded(value)}
        try:
            found = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            return {"parameters": [["given", int(inspect.Parameter.VAR_POSITIONAL), False]]}
        return {"parameters": [[p.name, int(p.kind), p.default is not p.empty] for p in found]}

    def _call(self, name: str, arguments: list, seconds: float) -> dict:
        try:
            given = [wire.decoded(argument, self._function) for argument in arguments]
            with _quietly(io.StringIO()), limits.time_limit(seconds):
                value = getattr(self.module, name)(*given)
                # Inside, because what looks like an array may do anything when it is looked at.
                return {"value": wire.encoded(value), "changed": self._changed(given, arguments)}
        except BaseException as raised:
            return {"error": [type(raised).__name__, str(raised)[:500]]}

    def _changed(self, given: list, arguments: list) -> int | None:
        """The number of the first argument that is not what it was."""
        for number, (now, before) in enumerate(zip(given, arguments, strict=True)):
            if json.dumps(wire.encoded(now)) != json.dumps(before):
                return number
        return None

    def _function(self, key: str):
        """Stands for a function of the marker's that is among the arguments."""

        def function(*given):
            self.channel.send({"ask": key, "arguments": [wire.encoded(argument) for argument in given]})
            reply = self.channel.receive()
            if "error" in reply:
                raise RuntimeError(reply["error"])
            return wire.decoded(reply["answer"], self._function)

        function.wire_key = key
        return function


class _Nothing(types.ModuleType):
    """Stands for the kit, so that a cell that runs a check goes on; there is nothing behind it."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_, **__) -> None:
    return None


_nothing.expect = _nothing.agrees = _nothing.beats = _nothing.chooses = _nothing
_nothing.variant = _nothing.salted = lambda *_: _nothing


@contextlib.contextmanager
def _quietly(printed: io.StringIO):
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _without_magic(source: str) -> str:
    """IPython's own lines are left out, where they are what keeps a cell from being Python."""
    try:
        ast.parse(source)
    except SyntaxError:
        lines = source.split("\n")
        kept = ["pass" if line.startswith(("%", "!", "?")) else line for line in lines]
        return "\n".join("" if line == "pass" else line for line in kept)
    return source


def _line_of(raised: BaseException) -> int | None:
    if isinstance(raised, SyntaxError):
        return raised.lineno
    lines, trace = [], raised.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<cell>":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return lines[0] if lines else None


if __name__ == "__main__":
    main()
