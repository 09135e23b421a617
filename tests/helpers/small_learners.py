"""Small settings of every learner, with rates at which they learn something in a few steps."""

from tacl_lib.core.learners import LEARNERS

#: a new learner of the kit must be added here
SMALL = {
    "sgd": {"rate": 0.1},
    "sgd_lr_adapt": {"rate": 0.1},
    "agem": {"rate": 0.1, "samples_per_task": 6, "reference_batch": 4},
    "ta_agem": {"rate": 0.1, "clusters": 3, "cluster_size": 2, "reference_batch": 4},
    "ogd": {"rate": 0.1, "samples_per_task": 4},
    "ta_ogd": {"rate": 0.1, "clusters": 4, "cluster_size": 3},
    "bgd": {"passes": 3, "std_init": 0.1},
}
#: the learners of the kit; tests may have registered others
OF_THE_KIT = sorted(name for name, kind in LEARNERS.items() if kind.__module__.startswith("tacl_lib."))
