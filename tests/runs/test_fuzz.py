"""Whatever is typed, the answer is a run that can be named, or one sentence; TACL_TEST_FUZZ says how much is tried."""

import os
import string

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tacl_lib.core.tasks import checked_seeds
from tacl_lib.data import load
from tacl_lib.data.web import offline
from tacl_lib.errors import TaclError
from tacl_lib.runs import RunSpec, command, spec_from
from tacl_lib.runs import run as run_spec

CASES = int(os.environ.get("TACL_TEST_FUZZ", "60"))
FIELDS = [name for name in RunSpec.__dataclass_fields__]
fuzz = settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
#: what people and programs hand over by mistake
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-2, 300),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=20),
    st.binary(max_size=5),
    st.sampled_from(["digits", "class", "rotation", "ta_agem", "sgd", "unit", "he", ..., {1}, object, 10**400]),
    st.lists(st.one_of(st.integers(-1, 10**8), st.text(max_size=3), st.none()), max_size=4),
    st.lists(st.integers(1, 400), max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=5), st.one_of(st.floats(), st.text(max_size=5), st.binary()), max_size=3),
)
typed = st.one_of(
    values.map(repr),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
    st.text(string.digits + ".e+-_j()[]{},'\"b ", max_size=12),
    st.sampled_from(["1e999", "nan", "-inf", "(10000000,10000000)", "b'x'", "1j", "{1}", "...", "(" * 999, "9" * 5000]),
)


def one_sentence(error):
    text = str(error)
    assert text.rstrip(), "it says nothing"
    assert "\n" not in text.strip(), text
    assert len(text) < 2500, text


@fuzz
@given(st.dictionaries(st.sampled_from(FIELDS), values, max_size=4))
@example({"learner_settings": {"rate": b"x"}})
@example({"hidden": (10_000_000, 10_000_000)})
@example({"degrees_per_task": float("nan")})
@example({"dataset": "\ud800"})
def test_a_spec_has_a_name_or_is_refused_in_a_sentence(given):
    try:
        spec = RunSpec(**given)
        name, full = spec.name(), spec.full()
    except TaclError as error:
        one_sentence(error)
    else:
        assert len(name) == 16
        assert spec_from(full).name() == name
        assert spec.options((0,))


class Begun(Exception):
    """The work would begin now."""


@pytest.fixture
def no_work(monkeypatch, tmp_path):
    def begun(spec, seeds, **_):
        checked_seeds(seeds)
        raise Begun(spec.name())

    monkeypatch.setattr(command, "run", begun)
    monkeypatch.chdir(tmp_path)


@fuzz
@given(
    st.dictionaries(st.sampled_from([name for name in FIELDS if name != "learner_settings"]), typed, max_size=3),
    st.lists(st.tuples(st.sampled_from(["rate", "clusters", "policy", ""]), typed), max_size=2),
    st.lists(st.one_of(st.integers(-1, 4).map(str), typed), max_size=3),
    st.none() | st.sampled_from(["out", "x" * 300, "/dev/null/out", "~nobody/out"]),
)
@example({"hidden": "(10000000,10000000)"}, [], [], None)
@example({"degrees_per_task": "1e999"}, [], [], None)
@example({}, [("rate", "b'x'")], [], None)
@example({}, [("rate", "{1}")], [], None)
@example({}, [("policy", "../../etc")], ["0"], "out")
@example({}, [], ["99999999999999999999"], "x" * 300)
def test_a_command_line_is_begun_or_refused_in_a_sentence(no_work, options, pairs, seeds, out):
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    words += ["--set", *(f"{name}={value}" for name, value in pairs)] if pairs else []
    words += ["--seeds", *seeds] if seeds else []
    words += [f"--out={out}"] if out else []
    with pytest.raises((TaclError, SystemExit, Begun)) as ended:
        command.main(words)
    if isinstance(ended.value, SystemExit):
        assert ended.value.code == 2  # argparse has printed its own message
    elif isinstance(ended.value, TaclError):
        one_sentence(str(ended.value))


@fuzz
@given(values)
@example(3)
@example((1.5,))
@example("01")
@example((True, 2))
def test_seeds_are_taken_or_refused_in_a_sentence(seeds):
    try:
        found = checked_seeds(seeds)
    except TaclError as error:
        one_sentence(error)
    else:
        assert len(set(found)) == len(found) >= 1
        assert all(type(seed) is int and seed >= 0 for seed in found)
        assert found == tuple(seeds)


@fuzz
@given(
    st.sampled_from(["TACL_DATA", "TACL_CACHE", "TACL_OFFLINE"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0/~"), max_size=40)
    | st.sampled_from(["~nobody/here", "x" * 300, "/proc/none", "/dev/null/cache", "\udcff"]),
)
def test_odd_variables_end_in_a_sentence(tmp_path_factory, variable, value):
    assume(variable != "TACL_CACHE" or value.strip())  # an empty one means the user's own cache, which may hold it
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("room")
        patch.chdir(folder)
        patch.setenv("TACL_CACHE", str(folder / "cache"))
        patch.delenv("TACL_DATA", raising=False)
        patch.setenv(variable, value)
        offline()
        patch.setenv("TACL_OFFLINE", "all")
        with pytest.raises(TaclError) as caught:
            load("svhn", progress=False)
    assert len(str(caught.value)) < 4000  # with a line for each source


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta:x", 7.5, "cpu:-3", ""])
def test_a_device_that_is_not_there_is_refused_in_a_sentence(device):
    with pytest.raises(TaclError, match="is not available here") as caught:
        run_spec(RunSpec(epochs=1, train_limit=20), (0,), device=device, progress=False)
    one_sentence(caught.value)


def test_a_spec_that_is_a_dict_is_refused_in_a_sentence():
    with pytest.raises(TaclError, match="run takes a RunSpec") as caught:
        run_spec({"dataset": "digits"}, (0,))
    one_sentence(caught.value)


def test_layer_widths_may_be_a_list():
    assert RunSpec(hidden=[8]) == RunSpec(hidden=(8,))
