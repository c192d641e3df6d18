"""Fixtures for pytest: a lockserver in test mode for each test, and its clock.

They are there when the package is installed. The program is what the environment variable ``LOCKSERVER`` names, or
``lockserver`` in PATH.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Any, Iterator, List, Optional

import pytest
import redis

from ._core import cores
from .aio import AsyncLocks
from .sync import Locks


class Clock:
    """The server's time: leases, deadlines of keys, waits and holds of sales go by it."""

    def __init__(self, control: Any) -> None:
        self._control = control

    def freeze(self, unix: Optional[float] = None) -> float:
        """Stops it, where it is or at a Unix time in seconds. Returns the time, as all methods do."""
        words: List[Any] = [] if unix is None else [round(unix * 1000)]
        return self._ask("FREEZE", *words)

    def advance(self, seconds: float) -> float:
        """Moves it forwards. What falls due has happened when this returns."""
        for words in [words for core in list(cores) for words in core.unconfirmed()]:  # they may be on their way
            self._control.execute_command(*words)
        return self._ask("ADVANCE", round(seconds * 1000))

    def resume(self) -> float:
        """Lets it run again from where it is."""
        return self._ask("RESUME")

    def now(self) -> float:
        """Returns the Unix time that it shows, in seconds."""
        return self._ask("GET")

    def _ask(self, *words: Any) -> float:
        return int(self._control.execute_command("TEST.CLOCK", *words)) / 1000


class Server:
    """A server for one test, with data, time and faults of its own."""

    def __init__(self, address: str) -> None:
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.url = f"redis://{address}"
        self._closing: List[Any] = []
        self.control = self.client()
        self.clock = Clock(self.control)

    def client(self, **options: Any) -> Any:
        """Returns a client of redis-py, which is closed after the test."""
        client = redis.Redis(self.host, self.port, **{"decode_responses": True, **options})
        self._closing.append(client)
        return client

    def locks(self, **options: Any) -> Locks:
        """Returns a :class:`Locks`, which is closed after the test."""
        locks = Locks.from_url(self.url, **options)
        self._closing.insert(0, locks)
        return locks

    def async_locks(self, **options: Any) -> AsyncLocks:
        """Returns an :class:`AsyncLocks`. The test closes it, in its event loop."""
        return AsyncLocks.from_url(self.url, **options)

    @contextlib.contextmanager
    def fault(self, *words: Any) -> Iterator[None]:
        """Something goes wrong as long as the block runs: ``fault("DROPAFTER", "MATCH", "UNLOCK", "TIMES", 1)``.

        A fault that has never struck has shown nothing, and fails the test.
        """
        number = self.control.execute_command("TEST.FAULT", "ADD", *words)
        yield
        faults = [dict(zip(fault[::2], fault[1::2])) if isinstance(fault, list) else fault
                  for fault in self.control.execute_command("TEST.FAULT", "LIST")]
        struck = next(fault["struck"] for fault in faults if fault["id"] == number)
        self.control.execute_command("TEST.FAULT", "DEL", number)
        assert struck > 0, f"the fault never struck: {words}"

    def close(self) -> None:
        """Closes its clients."""
        for client in self._closing:
            client.close()


@pytest.fixture(scope="session")
def lockserver_process() -> Iterator[Server]:
    """The server process, which starts the servers of the tests. It ends with pytest, also if that is killed."""
    program = subprocess.Popen(
        [os.environ.get("LOCKSERVER", "lockserver"), "--test-mode", "yes", "--port", "0", "--exit-with-parent", "yes"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
    with program:
        assert program.stdin is not None and program.stdout is not None
        line = program.stdout.readline()
        assert line.startswith("ready "), f"the lockserver did not start: {line!r}"
        server = Server(line.split()[1])
        yield server
        server.close()
        program.stdin.close()


@pytest.fixture
def lockserver(lockserver_process: Server) -> Iterator[Server]:
    """A server for one test."""
    address = lockserver_process.control.execute_command("TEST.SERVER", "NEW")
    server = Server(address)
    yield server
    server.close()
    lockserver_process.control.execute_command("TEST.SERVER", "END", address)


@pytest.fixture
def clock(lockserver: Server) -> Clock:
    """The clock of the test's server, stopped."""
    lockserver.clock.freeze()
    return lockserver.clock
