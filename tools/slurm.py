"""A reproduction on a SLURM cluster, as an example to adapt:  python tools/slurm.py --profile paper

Needs ``pip install dask-jobqueue`` and a folder that all nodes see. It asks SLURM for workers, one for each stack
of seeds at a time, and hands their scheduler's address to the reproduction. A job that SLURM ends loses nothing but
the steps since its last checkpoint: another worker goes on with it.
"""

import sys

from dask_jobqueue import SLURMCluster

from tacl_lib.report.reproduce import main

cluster = SLURMCluster(
    queue="normal",  # your partition
    cores=1,
    processes=1,
    memory="8GB",
    walltime="04:00:00",
    job_extra_directives=[],  # e.g. ["--gres=gpu:1"]: a worker uses the GPU that it is given
    job_script_prologue=["export OMP_NUM_THREADS=1", "source .venv/bin/activate"],
)
cluster.adapt(minimum=1, maximum=30)
main([*sys.argv[1:], "--cluster", cluster.scheduler_address])
