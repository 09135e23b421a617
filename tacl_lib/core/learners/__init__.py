"""The paper's seven learners, one file each, and the register of learners by name."""

from tacl_lib.core.learners.agem import Agem
from tacl_lib.core.learners.base import (
    LEARNERS,
    Learner,
    Step,
    Stored,
    TaskAwareLearner,
    make_learner,
    register_learner,
    settings_of,
)
from tacl_lib.core.learners.bgd import Bgd
from tacl_lib.core.learners.ogd import Ogd
from tacl_lib.core.learners.scheduler import Scheduler
from tacl_lib.core.learners.sgd import Sgd
from tacl_lib.core.learners.sgd_lr_adapt import SgdLrAdapt
from tacl_lib.core.learners.ta_agem import TaAgem
from tacl_lib.core.learners.ta_ogd import TaOgd

__all__ = [
    "LEARNERS",
    "Agem",
    "Bgd",
    "Learner",
    "Ogd",
    "Scheduler",
    "Sgd",
    "SgdLrAdapt",
    "Step",
    "Stored",
    "TaAgem",
    "TaOgd",
    "TaskAwareLearner",
    "make_learner",
    "register_learner",
    "settings_of",
]
