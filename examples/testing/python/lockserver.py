"""A lockserver for tests by pytest: one process for all of them, a server of its own for each.

To be copied: "pytest_plugins = ['lockserver']" stands in your conftest.py, and LOCKSERVER names the program if it is not
in PATH. Needs redis-py.
"""

import contextlib
import os
import subprocess

import pytest
import redis


class TestServer:
    """A server whose time and whose faults are the test's."""

    __test__ = False  # pytest would take it for a test

    def __init__(self, addr):
        self.host, port = addr.rsplit(":", 1)
        self.port = int(port)
        self._control = self.client()

    def client(self, **options):
        return redis.Redis(self.host, self.port, decode_responses=True, **options)

    def freeze(self, unix_ms=None):
        """The clock stands still, where it is or there."""
        self._control.execute_command("TEST.CLOCK", "FREEZE", *([] if unix_ms is None else [unix_ms]))

    def advance(self, seconds):
        """The clock goes forwards, and what falls due has happened when this returns."""
        self._control.execute_command("TEST.CLOCK", "ADVANCE", round(seconds * 1000))

    @contextlib.contextmanager
    def fault(self, *words):
        """Something goes wrong as long as the block runs: server.fault("DROPAFTER", "MATCH", "INCR", "TIMES", 1).

        A fault that has never struck has shown nothing, and fails the test.
        """
        number = self._control.execute_command("TEST.FAULT", "ADD", *words)
        yield
        faults = self._control.execute_command("TEST.FAULT", "LIST")
        faults = [fault if isinstance(fault, dict) else dict(zip(fault[::2], fault[1::2])) for fault in faults]
        struck = next(fault["struck"] for fault in faults if fault["id"] == number)
        self._control.execute_command("TEST.FAULT", "DEL", number)
        assert struck > 0, f"the fault never struck: {words}"

    def chaos(self, program, seeds=100, rate=0.05, kinds=None):
        """Runs program(server) with the faults of one seed after the other, each on a server of its own.

        It fails with the seed and with what struck as soon as the program raises an error. The variable
        LOCKSERVER_CHAOS_SEED repeats one seed.
        """
        only = os.environ.get("LOCKSERVER_CHAOS_SEED")
        for seed in [int(only)] if only else range(1, seeds + 1):
            addr = self._control.execute_command("TEST.SERVER", "NEW")
            server = TestServer(addr)
            try:
                words = ["KINDS", kinds] if kinds else []
                server._control.execute_command("TEST.CHAOS", "SEED", seed, "RATE", rate, *words)
                program(server)
            except Exception as err:
                struck = server._control.execute_command("TEST.CHAOS", "LIST")
                raise AssertionError(f"{err}; again: LOCKSERVER_CHAOS_SEED={seed}; struck: {' '.join(struck)}") from err
            finally:
                server.close()
                self._control.execute_command("TEST.SERVER", "END", addr)

    def close(self):
        self._control.close()


@pytest.fixture(scope="session")
def _lockserver_program():
    # It ends when its standard input does, so also when pytest is killed.
    program = subprocess.Popen(
        [os.environ.get("LOCKSERVER", "lockserver"), "--test-mode", "yes", "--port", "0", "--exit-with-parent", "yes"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with program:
        server = TestServer(program.stdout.readline().removeprefix("ready ").strip())
        yield server
        server.close()
        program.stdin.close()


@pytest.fixture
def lockserver(_lockserver_program):
    """A server for one test."""
    control = _lockserver_program.client()
    addr = control.execute_command("TEST.SERVER", "NEW")
    server = TestServer(addr)
    yield server
    server.close()
    control.execute_command("TEST.SERVER", "END", addr)
    control.close()
