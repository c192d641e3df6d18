"""The Python that docs/CLIENTS.md shows, word for word, which tests/readme compares."""

import sqlite3

import redis

import lockserver
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
