"""A reproduction on a SLURM cluster, as an example to adapt:  python tools/slurm.py --profile paper

Needs ``pip install dask-jobqueue`` and a folder that all nodes see. It asks SLURM for workers, one for each stack
of seeds at a time, and hands their scheduler's address to the reproduction. A job that SLURM ends loses nothing but
the steps since its last checkpoint: another worker goes on with it, and when Dask gives up on a job, it is submitted
again. Scheduler and workers talk through TLS with a key that is made for this reproduction; workers read it from
``~/.dask-jobqueue-keys``, which nobody else may enter. Dask's pages know no key, so none is served.
"""

import math
import sys
from pathlib import Path

import dask
from dask_jobqueue import SLURMCluster
from distributed import Security

from tacl_lib.report.reproduce import main
from tacl_lib.runs import default_device
from tacl_lib.runs.cluster import handed_on
from tacl_lib.runs.forecast import seconds_of
from tacl_lib.runs.grid import all_jobs
from tacl_lib.runs.profiles import PROFILES

paper = PROFILES["paper"]
# Measured on the machine that asks, so leave room for slower nodes.
longest = max(seconds_of(all_jobs(paper, paper.datasets), default_device(), print).values())
keys = Path.home() / ".dask-jobqueue-keys"
keys.mkdir(mode=0o700, exist_ok=True)
security = Security.temporary()
dask.config.set({"distributed.scheduler.http.routes": []})
cluster = SLURMCluster(
    queue="normal",  # your partition
    cores=1,
    processes=1,
    memory="8GB",
    walltime=f"{math.ceil(2 * longest / 3600) + 1}:00:00",  # the longest job, on a node of half the speed
    worker_extra_args=["--lifetime", f"{math.ceil(2 * longest / 60) + 30}m", "--lifetime-stagger", "10m"],
    scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    job_extra_directives=[],  # e.g. ["--gres=gpu:1"]: a worker uses the GPU that it is given
    job_script_prologue=[
        "export OMP_NUM_THREADS=1 DASK_DISTRIBUTED__WORKER__HTTP__ROUTES=[]",
        "source .venv/bin/activate",
    ],
    protocol="tls://",
    security=security,
    shared_temp_directory=str(keys),
)
cluster.adapt(minimum=1, maximum=30)
with handed_on(security):
    main([*sys.argv[1:], "--cluster", cluster.scheduler_address])
