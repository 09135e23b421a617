"""The one command `tacl`: every subcommand answers, and a wrong one is told in a sentence."""

import re
import signal
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tacl_lib import __main__ as tacl

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", tacl.COMMANDS)
def test_every_command_has_a_main_and_says_its_name(name, capsys):
    with pytest.raises(SystemExit) as caught:
        import_module(tacl.COMMANDS[name].module).main(["--help"])
    assert caught.value.code == 0
    assert re.search(r"usage: tacl \w+", capsys.readouterr().out)


def test_alone_it_lists_its_commands(capsys):
    tacl.main([])
    listing = capsys.readouterr().out
    assert all(re.search(rf"^  {name}\s+\S", listing, re.M) for name in tacl.COMMANDS)


def test_an_unknown_command_lists_the_known_ones():
    with pytest.raises(SystemExit, match=r"tacl: unknown command 'rnu'; choose one of: new, .*run, .*\.$"):
        tacl.main(["rnu"])


def test_options_alone_are_a_run(monkeypatch):
    given = []
    monkeypatch.setattr("tacl_lib.runs.command.main", given.append)
    tacl.main(["--dataset", "digits"])
    tacl.main(["run", "--dataset", "digits"])
    assert given == [["--dataset", "digits"]] * 2


def test_what_a_command_fails_with_is_the_exit_code(monkeypatch):
    monkeypatch.setattr("tacl_lib.data.command.main", lambda arguments: 1)
    with pytest.raises(SystemExit) as caught:
        tacl.main(["data"])
    assert caught.value.code == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_told_to_stop_says_so(number, monkeypatch):
    monkeypatch.setattr("tacl_lib.paper.verify.main", lambda arguments: signal.raise_signal(number))
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit, match=r"^verify: stopped\.$"):
            tacl.main(["verify"])
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_fresh_copy_needs_a_name():
    with pytest.raises(SystemExit, match=r"^fresh: say which notebook, e\.g\. tacl fresh 02_agem"):
        tacl.main(["fresh"])
