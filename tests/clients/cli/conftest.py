"""Fixtures of the tests of redis-cli and redis-benchmark."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from server import IS_REDIS, PATIENCE, Server  # noqa: E402

collect_ignore = ["test_native.py"] if IS_REDIS else []


def run(tool, server, *args, stdin="", ok=True):
    """Runs a tool against a server; returns what it printed. ok: it must exit with 0."""
    done = subprocess.run([tool, "-p", str(server.port), *args], input=stdin, capture_output=True, text=True,
                          timeout=4 * PATIENCE, check=False)
    if ok:
        assert done.returncode == 0, (tool, args, done.stdout, done.stderr)
    return done.stdout + done.stderr


def pytest_report_header():
    versions = [subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout.strip()
                for tool in ("redis-cli", "redis-benchmark")]
    return "; ".join(versions)


@pytest.fixture(scope="module")
def server():
    """A server for the tests of one file, which is empty at first."""
    with Server() as s:
        yield s


@pytest.fixture
def cli(server):
    """Runs redis-cli on the module's server, whose data is gone before: cli("GET", "k")."""
    run("redis-cli", server, "FLUSHALL")
    return lambda *args, **how: run("redis-cli", server, *args, **how)
