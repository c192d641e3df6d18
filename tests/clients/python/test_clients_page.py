"""The Python that docs/CLIENTS.md shows, word for word: tests/readme compares the two."""

import uuid

import redis

from server import Server


def test_a_lock_around_some_work():
    charged = []
    charge = charged.append
    with Server() as server:
        # snippet
        r = redis.Redis(port=server.port)
        owner = str(uuid.uuid4())
        token = r.execute_command("LOCK", "order:42", owner, "PX", 30_000, "WAIT", 1_000, "ONCE")
        if token is not None:
            try:
                charge(token)
            finally:
                r.execute_command("UNLOCK", "order:42", owner, "TOKEN", token)
        # end
        assert charged == [token] and token > 0
        assert r.execute_command("LOCK.INFO", "order:42") is None, "it was released"
        r.close()
