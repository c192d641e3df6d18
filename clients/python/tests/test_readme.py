"""The Python that the project's README shows, word for word, which tests/readme compares."""

import lockserver
from server import Server


def test_a_lock_around_some_work():
    charged = []
    charge = charged.append
    with Server() as server:
        url = f"redis://{server.host}:{server.port}"
        # snippet
        locks = lockserver.Locks.from_url(url)  # one for the program
        with locks.lock("order:42", wait=5) as lock:
            charge(lock.token)
            lock.check()  # raises LockLost, with the reason
        # end
        assert charged == [lock.token] and lock.token > 0
        assert locks.execute("EXISTS", "order:42") == 0, "it was released"
        locks.close()
