"""The specification of a run: all settings, those of the paper and those it leaves open, in one frozen record."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields

from tacl_lib import names
from tacl_lib.core.learners import LEARNERS, settings_of
from tacl_lib.core.streams import COUNTED, LAST_TASKS
from tacl_lib.core.tasks import FILLS, INTERPOLATIONS, SCALINGS, VALIDATIONS, customary_scaling
from tacl_lib.engine.layers import INITIALISATIONS
from tacl_lib.engine.networks import MLP, network_names, settings_of_network
from tacl_lib.errors import TaclError, shortened, unknown_name

DEFAULT_SEEDS = (0, 1, 2, 3, 4)  #: the paper has five runs
#: Settings added after the first runs were stored: a description without one means this value.
ABSENT_MEANS = {"fill": "black", "counted": "mixed", "network": "mlp", "network_settings": {}}
#: The same for learners' settings.
ABSENT_MEANS_OF_LEARNERS = {"ogd": {"ridge": 1e-6}, "ta_agem": {"space": "x"}, "sgd_lr_adapt": {"smoothing": 0.0}}
#: the fields that `RunSpec.options` handles by itself
_HANDLED = ("dataset", "split", "experiment", "learner", "learner_settings", "network", "network_settings")


@dataclass(frozen=True)
class RunSpec:
    """A learner on a stream of tasks. The defaults are the paper's settings; those it leaves open are marked."""

    dataset: str = "digits"
    split: str = "class"  #: permutation, rotation or class
    experiment: str = "disjoint"  #: disjoint or continuous
    learner: str = "ta_agem"
    learner_settings: dict = field(default_factory=dict, hash=False)  #: those that differ from the learner's defaults
    hidden: tuple[int, ...] = (200, 200)  #: of the network mlp
    batch_size: int = 10
    epochs: int = 20  #: per task (disjoint) or per pair of tasks (continuous)
    task_count: int = 10  #: for permutation and rotation
    degrees_per_task: float = 20.0
    scaling: str = "customary"  #: open in the paper: customary, unit, standard or symmetric
    initialisation: str = "torch"  #: open: torch, glorot or he; of the network mlp
    validation: str = "parts"  #: open: parts or whole
    interpolation: str = "bilinear"  #: open: bilinear or nearest
    fill: str = "zero"  #: open: empty corners after a rotation are zero after scaling, or black
    last_task: str = "whole"  #: open, continuous stream only: mixed, pure or whole
    counted: str = "own"  #: open, continuous stream only: a task counts once it is mixed in, or from its own epochs on
    train_limit: int | None = None  #: maximum of training samples per task; None is the paper's setting
    test_limit: int | None = None
    network: str = MLP  #: mlp is the paper's; cnn, resnet, or one registered by `register_network`
    network_settings: dict = field(default_factory=dict, hash=False)  #: those that differ from the network's defaults

    def __post_init__(self):
        if isinstance(self.hidden, list):
            object.__setattr__(self, "hidden", tuple(self.hidden))
        for name, value in vars(self).items():
            kind, valid = _KINDS.get(name, _WORD)
            if not valid(value):
                raise TaclError(f"{name} must be {kind}, not {shortened(value)}.")
            if name in _CHOICES and value not in _CHOICES[name]:
                raise unknown_name(name, value, _CHOICES[name])
        if self.learner not in LEARNERS:
            raise unknown_name("learner", self.learner, LEARNERS)

    def full(self) -> dict:
        """All settings as plain values, including the learner's."""
        own = settings_of(self.learner) if self.learner in LEARNERS else {}
        # 20 and 20.0 degrees are the same setting and must have the same name; so are a learner's rates of 1 and 1.0.
        settings = asdict(self) | {"degrees_per_task": float(self.degrees_per_task)}
        given = {name: _alike(value, own.get(name)) for name, value in self.learner_settings.items()}
        always = ABSENT_MEANS_OF_LEARNERS.get(self.learner, {})
        chosen = {name: value for name, value in (own | given).items() if always.get(name, _OTHER) != value}
        settings |= {"learner_settings": chosen}
        known = settings_of_network(self.network) if self.network in network_names() else {}
        shape = {name: _alike(value, known.get(name)) for name, value in self.network_settings.items()}
        settings |= {"network_settings": known | shape}
        # Settings without effect must not change a run's name.
        if self.network != MLP:
            settings |= {"hidden": RunSpec.hidden, "initialisation": RunSpec.initialisation}
        if self.experiment == "disjoint":
            settings |= {"last_task": "mixed", "counted": "mixed"}
        if self.scaling == "customary":
            settings |= {"scaling": customary_scaling(self.dataset)}
        if self.split != "rotation":
            settings |= {"interpolation": "bilinear"}
        if self.split != "rotation" or settings["scaling"] == "unit":
            settings |= {"fill": "black"}
        # Nor must settings that were added later, at the value that had always been in use.
        for name, always in ABSENT_MEANS.items():
            if settings[name] == always:
                del settings[name]
        return json.loads(json.dumps(settings))  # tuples become lists, as in a file

    def options(self, seeds: Sequence[int]) -> str:
        """The options for ``tacl run`` that repeat these runs: every setting that differs from its default."""
        own, usual = self.full(), RunSpec(self.dataset, self.split, self.experiment, self.learner).full()
        words = [f"--dataset {self.dataset} --split {self.split}"]
        words += [f"--experiment {self.experiment}"] * (self.experiment != RunSpec.experiment)
        words += [f"--learner {self.learner}"]
        words += [f"--network {self.network}"] * (self.network != MLP)
        for name in (item.name for item in fields(self) if item.name not in _HANDLED):
            value, default = (settings.get(name, ABSENT_MEANS.get(name)) for settings in (own, usual))
            if value != default:
                text = ",".join(map(str, value)) or "'()'" if isinstance(value, list) else value
                words.append(f"--{name.replace('_', '-')} {text}")
        if tuple(seeds) != DEFAULT_SEEDS:
            words.append(f"--seeds {' '.join(map(str, seeds))}")
        settings = usual["learner_settings"]
        changed = [f"{name}={value}" for name, value in own["learner_settings"].items() if value != settings.get(name)]
        shape = [f"{name}={value}" for name, value in self.network_settings.items()]
        given = [*(["--set-network", *shape] if shape else []), *(["--set", *changed] if changed else [])]
        return " ".join([*words, *given])

    def name(self) -> str:
        """A hash of all settings: two specs have the same name if they describe the same run.

        Which copy of a dataset was used is not a setting: records name it, and tables do where it matters.
        """
        version = LEARNERS[self.learner].version if self.learner in LEARNERS else 1
        text = json.dumps(self.full() | {"result_version": version}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


_OTHER = object()  #: unequal to every setting


def _alike(value: object, default: object) -> object:
    """A whole number as a float, if the default is a float."""
    return float(value) if isinstance(default, float) and type(value) is int else value


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST


def _plain(value: object) -> bool:
    """Whether a setting can be stored: a word, a number, True, False, None, or a list of these."""
    if isinstance(value, (list, tuple)):
        return all(map(_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) <= LARGEST)


def _settings(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(k, str) and _plain(v) for k, v in value.items())


def _widths(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_whole, value)) and sum(value) <= MOST_UNITS


def _degrees(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST  # NaN is not


LARGEST = 2**31 - 1  #: the largest whole number allowed
MOST_UNITS = 100_000  #: in all hidden layers together
_CHOICES = {
    "split": names.SPLITS,
    "experiment": names.EXPERIMENTS,
    "scaling": SCALINGS,
    "initialisation": INITIALISATIONS,
    "validation": VALIDATIONS,
    "interpolation": INTERPOLATIONS,
    "fill": FILLS,
    "last_task": LAST_TASKS,
    "counted": COUNTED,
}
_COUNT = (f"a whole number from 1 to {LARGEST}", _whole)
_LIMIT = (f"a whole number from 1 to {LARGEST}, or None", lambda value: value is None or _whole(value))
_WORD = ("a word", lambda value: isinstance(value, str))
_SETTINGS = ("a dict of names and words, finite numbers, True, False or None", _settings)
_KINDS = {
    "learner_settings": _SETTINGS,
    "network_settings": _SETTINGS,
    "hidden": (f"a tuple of layer widths such as (200, 200), {MOST_UNITS:,} units at most", _widths),
    "batch_size": _COUNT,
    "epochs": _COUNT,
    "task_count": _COUNT,
    "degrees_per_task": ("a finite number", _degrees),
    "train_limit": _LIMIT,
    "test_limit": _LIMIT,
}


def spec_from(settings: dict) -> RunSpec:
    """The spec described by `RunSpec.full`, e.g. from a stored record."""
    known = {f.name for f in fields(RunSpec)}
    settings = ABSENT_MEANS | settings
    # Settings without effect take their defaults.
    if settings.get("experiment") == "disjoint":
        known -= {"last_task", "counted"}
    if settings.get("split") != "rotation":
        known -= {"fill"}
    if settings["network"] != MLP:
        known -= {"hidden", "initialisation"}
    given = {name: value for name, value in settings.items() if name in known}
    # Runs of a learner that is not known here, e.g. a plugin's, can still be read.
    made = RunSpec(**given | {"hidden": tuple(given.get("hidden", (200, 200))), "learner": RunSpec.learner})
    object.__setattr__(made, "learner", given.get("learner", RunSpec.learner))
    return made
