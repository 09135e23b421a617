"""Who may talk to the workers: this run, and nobody else."""

import contextlib
import http.client
import ipaddress
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings
from pathlib import Path

import dask
import distributed
import psutil
import pytest
import torch
from small_runs import PLAIN, SEEDS
from sockets import listening

from tacl_lib.errors import TaclError
from tacl_lib.runs import cluster
from tacl_lib.runs.execution import execute
from tacl_lib.runs.forecast import seconds_of
from tacl_lib.runs.grid import Job, all_jobs
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store

ROOT = Path(__file__).parents[2]
PATIENCE = 120


@pytest.fixture(scope="module")
def ports(address, tmp_path_factory):
    """All that listened while a job ran."""
    folder = tmp_path_factory.mktemp("results")
    thread = threading.Thread(target=execute, args=([Job(PLAIN, SEEDS)], folder, address, False))
    thread.start()
    found = set()
    while thread.is_alive():
        found |= listening()
        thread.join(0.05)
    assert not Store(folder).missing(PLAIN, SEEDS)
    return found


def test_all_that_listens_while_jobs_run_listens_on_loopback(ports, address):
    assert len(ports) >= 6  # scheduler, two nannies, two workers, and their pages
    assert int(address.rpartition(":")[2]) in {port for _, port in ports}
    assert {host for host, _ in ports} == {"127.0.0.1"}


def test_without_a_key_each_port_is_closed_or_empty(ports):
    """Another user of the machine can reach loopback."""
    for _, port in ports:
        assert serves_nothing(port) or refuses_tls(port), port


def refuses_tls(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a TLS server there ends the connection of a client that has no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        plain = socket.create_connection((host, port), timeout=PATIENCE)
        with plain, context.wrap_socket(plain) as encrypted:
            return encrypted.recv(1) == b""
    except ssl.SSLError as error:
        return "CERTIFICATE_REQUIRED" in str(error)
    except ConnectionResetError:
        return True


def serves_nothing(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a web server there has none of the pages that Dask's have."""
    for page in ("", "health", "metrics", "info/main/workers.html", "json/identity.json", "proxy/1/127.0.0.1/"):
        try:
            urllib.request.urlopen(f"http://{host}:{port}/{page}", timeout=PATIENCE)
            return False
        except urllib.error.HTTPError as answer:
            if answer.code != 404:
                return False
        except (OSError, http.client.HTTPException):  # no web server
            return False
    return True


def test_workers_and_nannies_refuse_another_key_and_no_key(address):
    with distributed.Client(address) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    addresses = [address, *workers, *(about["nanny"] for about in workers.values())]
    assert len(addresses) == 5
    assert {each.split(":")[0] for each in addresses} == {"tls"}
    stranger = distributed.Security.temporary()
    for each in addresses:
        with pytest.raises(OSError, match="certificate"):
            distributed.Client(each, security=stranger, timeout="60s")


def test_the_key_is_in_no_file_and_gone_afterwards(address, tmp_path, monkeypatch):
    before = dict(os.environ), dask.config.get("distributed.comm.tls.client.key")
    monkeypatch.setattr(cluster, "_cores", lambda: 0)  # a scheduler alone: workers need seconds to start
    with cluster.workers() as own:
        inside = dask.config.get("distributed.comm.tls.client.key")
        assert own != address
        assert inside != before[1]
        assert os.environ["DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"] == inside
        assert inside.startswith("-----BEGIN PRIVATE KEY-----")
    assert (dict(os.environ), dask.config.get("distributed.comm.tls.client.key")) == before


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("tcp://192.0.2.1:8786", 1),
        ("node7:8786", 1),
        ("tcp://[2001:db8::1]:8786", 1),
        ("tls://192.0.2.1:8786", 0),
        ("tcp://127.0.0.1:8786", 0),
        ("tcp://[::1]:8786", 0),
        ("localhost:8786", 0),
    ],
)
def test_a_scheduler_without_tls_elsewhere_is_warned_of_once(given, expected, monkeypatch):
    monkeypatch.delenv(cluster._WARNED, raising=False)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # whatever is set now is undone
    monkeypatch.setattr(cluster, "connected", contextlib.nullcontext)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            with cluster.workers(given) as address:
                assert address == given
    os.environ.pop(cluster._WARNED, None)
    assert len(caught) == expected
    assert all("is not encrypted" in str(warning.message) and given in str(warning.message) for warning in caught)


@pytest.mark.slow
def test_a_worker_that_is_slow_to_come_back_is_waited_for(monkeypatch):
    monkeypatch.setattr(cluster, "_cores", lambda: 1)
    impatient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 ms"})  # any start is slow beside this
    with impatient, cluster.workers() as address, distributed.Client(address) as client:
        first = client.submit(os.getpid).result()
        os.kill(first, signal.SIGKILL)
        assert client.submit(os.getpid, pure=False).result(timeout=PATIENCE) != first


@pytest.mark.slow
def test_workers_that_are_killed_while_they_start_are_started_again(monkeypatch):
    monkeypatch.setattr(cluster, "_cores", lambda: 1)
    killed, over, me = [], threading.Event(), psutil.Process()
    before = set(me.children(recursive=True))

    def kill():
        while len(killed) < 2 and not over.wait(0.1):
            for child in set(me.children(recursive=True)) - before - set(killed):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any("spawn_main" in word for word in child.cmdline()):
                        killed.append(child)
                        child.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        with cluster.workers() as address, distributed.Client(address) as client:
            assert client.submit(os.getpid).result() not in {child.pid for child in killed}
    finally:
        over.set()
        thread.join()
    assert len(killed) == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the example is for a shell")
def test_the_example_of_a_cluster_with_tls_works(tmp_path):
    """The README's commands, with this machine as all of the cluster."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"<!-- example: tls -->\n```sh\n(.*?)```", readme, re.DOTALL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = (
        "from tacl_lib.runs import RunSpec; from tacl_lib.runs.grid import Job; "
        "from tacl_lib.runs.execution import execute; "
        f"execute([Job(RunSpec('digits', epochs=1, hidden=(8,), train_limit=20), (0,))], '{tmp_path}/results', "
        f"'tls://127.0.0.1:{port}', progress=False)"
    )
    assert "make reproduce PROFILE=paper CLUSTER=tls://head:8786" in example
    script = example.replace("make reproduce PROFILE=paper CLUSTER=tls://head:8786", f'{sys.executable} -c "{job}"')
    script = script.replace("head", "127.0.0.1").replace("8786", str(port))
    script = script.replace("dask scheduler", f"{sys.executable} -m dask scheduler --host 127.0.0.1 --no-dashboard")
    script = script.replace("dask worker", f"{sys.executable} -m dask worker --host 127.0.0.1 --no-dashboard")
    script += f'\n{sys.executable} -c "{job.replace("/results", "/again")}"'
    script = f"set -e\ntrap 'kill $(jobs -p)' EXIT\n{script}\n"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "not encrypted" not in done.stderr
    assert len(list((tmp_path / "results").glob("*.parquet"))) == 2
    assert (tmp_path / "tls.key").stat().st_mode & 0o077 == 0


SBATCH = """#!/bin/sh
echo $$ >> jobs
cp "$1" script
setsid sh script > log 2>&1 &
echo $! > pid
echo Submitted batch job 7
"""
SCANCEL = '#!/bin/sh\nkill -- -"$(cat pid)"\n'


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the example is for a shell")
def test_the_example_for_slurm_works_and_serves_no_pages(tmp_path):
    """SLURM is two scripts here, and this machine is its only node."""
    for name, script in {"bin/sbatch": SBATCH, "bin/scancel": SCANCEL, ".venv/bin/activate": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environment |= {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, ROOT / "tools" / "slurm.py", "--profile", "smoke", "--methods", "sgd", "--seeds", "0"]
    command += [f"--{name}={tmp_path / name}" for name in ("results", "build", "figures")]
    with (tmp_path / "said").open("w") as said:
        started = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=said, stderr=said)
    keys, asked, end = tmp_path / ".dask-jobqueue-keys", set(), time.monotonic() + 1200
    try:
        while started.poll() is None:
            assert time.monotonic() < end, (tmp_path / "said").read_text()
            found = set()
            with contextlib.suppress(psutil.Error, FileNotFoundError, ValueError):  # not begun yet, or over
                found = listening(psutil.Process(started.pid))
                found |= listening(psutil.Process(int((tmp_path / "pid").read_text())))
                assert keys.stat().st_mode & 0o077 == 0
            for host, port in found - asked:
                if not ipaddress.ip_address(
                    host
                ).is_loopback:  # there kernels of notebooks listen, with keys of their own
                    there = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
                    assert serves_nothing(port, there) or refuses_tls(port, there.strip("[]")), (host, port)
                    asked.add((host, port))
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(1)
    finally:
        started.kill()
        subprocess.run([tmp_path / "bin" / "scancel"], cwd=tmp_path, capture_output=True)
    assert started.returncode == 0, (tmp_path / "said").read_text()
    assert len(asked) >= 3  # scheduler, nanny and worker at least
    assert len(list((tmp_path / "results").glob("*.parquet"))) == 6  # three splits, twice
    assert not list(keys.iterdir())
    script = (tmp_path / "script").read_text()
    hours, minutes = (
        int(re.search(pattern, script)[1]) for pattern in (r"#SBATCH -t (\d+):00:00", r"--lifetime (\d+)m")
    )
    assert 60 * hours > minutes + 10  # a worker leaves before SLURM ends it
    dear = [job for job in all_jobs(PROFILES["paper"], ["svhn"], ["bgd"]) if job.spec.split == "class"][:1]
    (longest,) = seconds_of(dear, torch.device("cpu"), str).values()
    assert 60 * minutes > longest  # the script leaves twice as much; no two measurements agree


def test_a_key_that_does_not_fit_is_one_sentence(address):
    wrong = distributed.Security.temporary()
    with (
        dask.config.set({"distributed.comm.tls.client.key": wrong.tls_client_key}),
        dask.config.set({"distributed.comm.tls.client.cert": wrong.tls_client_cert}),
        pytest.raises(TaclError, match=r"no Dask scheduler answers at .*TLS settings") as caught,
    ):
        execute([Job(PLAIN, SEEDS)], "nowhere", cluster=address, progress=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("gpus", "cores", "wanted", "expected"),
    [
        (0, 3, None, 3),
        (0, 3, "7", 3),
        (1, 6, None, 6),
        (2, 6, None, 6),
        (1, 64, None, 8),
        (2, 1, None, 2),
        (2, 6, "5", 10),
    ],
)
def test_several_processes_share_a_gpu(gpus, cores, wanted, expected, monkeypatch):
    monkeypatch.setattr(cluster.torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(cluster, "_cores", lambda: cores)
    monkeypatch.delenv("TACL_JOBS_PER_GPU", raising=False)
    if wanted:
        monkeypatch.setenv("TACL_JOBS_PER_GPU", wanted)
    found = cluster.local_workers()
    assert len(found) == expected
    assert all(environment["OMP_NUM_THREADS"] == "1" for environment in found)
    of_each = [[e.get("CUDA_VISIBLE_DEVICES") for e in found].count(str(gpu)) for gpu in range(gpus)]
    assert of_each == [expected // gpus] * gpus if gpus else all("CUDA_VISIBLE_DEVICES" not in e for e in found)


@pytest.mark.parametrize("wanted", ["0", "-1", "many", "65"])
def test_a_silly_number_of_processes_for_a_gpu_is_refused(wanted, monkeypatch):
    monkeypatch.setattr(cluster.torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("TACL_JOBS_PER_GPU", wanted)
    with pytest.raises(TaclError, match="TACL_JOBS_PER_GPU must be a whole number from 1 to 64"):
        cluster.local_workers()


def test_workers_keep_the_memory_that_the_next_step_needs():
    """Dask's own setting makes them return it to the system all the time."""
    with cluster.workers(None) as address, cluster.connected(address) as client:
        settings = client.run(lambda: __import__("os").environ.get("MALLOC_TRIM_THRESHOLD_"))
    assert len(settings) == len(cluster.local_workers())
    assert set(settings.values()) == {None}
