"""The Python that docs/CLIENTS.md shows, word for word, which tests/readme compares; and the names of the scenarios."""

import pathlib
import re
import sqlite3

import redis

import lockserver
from conftest import ROOT
from server import Server


def test_a_lock_around_some_work():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE bills (id INTEGER PRIMARY KEY, fence BIGINT NOT NULL DEFAULT 0)")
    connection.execute("INSERT INTO bills (id) VALUES (42)")
    with Server() as server:
        # snippet
        locks = lockserver.Locks(redis.Redis(port=server.port), name="billing")
        with locks.lock("bill:42", wait=5) as held:
            lockserver.fence(connection, "bills", 42, held.token)  # before the row is read
            held.guard("SET", "bill:42:state", "paid")             # only if the lock is held at that moment
            held.check()                                           # raises LockLost, with the reason
        # end
        assert locks.execute("GET", "bill:42:state") == b"paid" and locks.execute("EXISTS", "bill:42") == 0
        assert connection.execute("SELECT fence FROM bills").fetchone() == (held.token,)
        locks.close()


def test_every_scenario_has_its_test():
    rows = [line.split("|")[1] for line in (ROOT / "clients" / "SCENARIOS.md").read_text().splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    tests = "".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("test_*.py"))
    assert len(names) > 20 and [name for name in names if f"def test_{name}" not in tests] == []
