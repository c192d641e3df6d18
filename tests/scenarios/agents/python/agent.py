"""The agent of the client package for Python: it does what the runner of tests/scenarios asks, with lockserver.Locks."""

import json
import random
import sys
import threading
import time

from redis.sentinel import Sentinel

import lockserver

ELSEWHERE = ("MOVED ", "CLUSTERDOWN ", "MASTERDOWN ", "READONLY ", "LOADING ")


def now():
    """The time of the monotonic clock, in microseconds."""
    return time.monotonic_ns() // 1000


def failed(error):
    """Returns the answer for an error."""
    answer = {"error": "other", "text": f"{type(error).__name__}: {error}"}
    kinds = (
        (lockserver.LockLost, "lost"), (lockserver.LockReleased, "released"), (lockserver.Closed, "closed"),
        (lockserver.NotAcquired, "not_acquired"), (lockserver.DeadlineExceeded, "deadline"),
        (lockserver.Cancelled, "cancelled"), (lockserver.Deadlock, "deadlock"), (lockserver.NoConnection, "no_connection"),
    )
    for kind, name in kinds:
        if isinstance(error, kind):
            answer["error"] = name
            break
    if isinstance(error, lockserver.LockLost):
        answer["reason"] = error.reason
    if isinstance(error, lockserver.ServerError) and str(error).startswith(ELSEWHERE):
        answer["error"] = "no_connection"
    return answer


class Losses(lockserver.Observer):
    """Writes what the client says is lost."""

    def __init__(self, agent):
        self._agent = agent

    def lost(self, key, held, loss):
        self._agent.tell("lost", loss.key.decode(), loss.token, loss.reason)


class Agent:
    def __init__(self):
        self._writing, self._counting = threading.Lock(), threading.Lock()
        self._named, self._tasks, self._cancels = {}, {}, {}
        self._workers, self._resting = [], threading.Event()
        self._sections = self._no_answer = self._stalled = 0
        self._locks = None

    def write(self, line):
        text = json.dumps(line) + "\n"
        with self._writing:
            sys.stdout.write(text)
            sys.stdout.flush()

    def tell(self, event, key, token, reason=""):
        self.write({"event": event, "at": now(), "key": key, "token": token, "reason": reason})

    def watch_timer(self):
        """Measures by how much this program's timers are late."""
        while True:
            began = now()
            time.sleep(0.02)
            self._stalled = max(self._stalled, now() - began - 20_000)

    def answer(self, request):
        try:
            answer = getattr(self, "do_" + request["do"])(request) or {}
        except Exception as e:
            answer = failed(e)
        self.write({"id": request["id"], "at": now(), **answer})

    def do_connect(self, q):
        options = {"name": "python", "timeout": q["timeout_ms"] / 1000, "observer": Losses(self)}
        if q["kind"] == "sentinel":
            addresses = [(host, int(port)) for host, port in (a.split(":") for a in q["addrs"])]
            sentinel = Sentinel(addresses, sentinel_kwargs={"socket_timeout": 1, "retry": None})
            self._locks = lockserver.Locks(sentinel.master_for(q["master"]), **options)
        else:
            self._locks = lockserver.Locks.from_url([f"redis://{address}" for address in q["addrs"]], **options)
        self._locks.connect()

    @staticmethod
    def _options(q):
        wait = q.get("wait_ms", 0)
        return {"wait": None if wait < 0 else wait / 1000, "lease": q["lease_ms"] / 1000 if q.get("lease_ms") else None}

    def do_acquire(self, q):
        options = self._options(q)
        options["cancel"] = self._cancels[q["as"]] = lockserver.Cancel()
        if q.get("deadline_ms"):
            options["deadline"] = time.monotonic() + q["deadline_ms"] / 1000
        by = self._tasks.setdefault(q["task"], self._locks.task()) if q.get("task") else self._locks
        held = by.lock(q["key"], **options).acquire()
        self.tell("in", q["key"], held.token)
        self._named[q["as"]] = held
        return {"token": held.token}

    def do_cancel(self, q):
        self._cancels[q["as"]].cancel()

    def do_release(self, q):
        held = self._named[q["as"]]
        self.tell("out", held.key.decode(), held.token)
        held.release()

    def do_guard(self, q):
        self._named[q["as"]].guard(*q["words"])

    def do_check(self, q):
        self._named[q["as"]].check()

    def do_work(self, q):
        self._resting.clear()
        self._sections = self._no_answer = 0
        self._workers = [threading.Thread(target=self._work, args=(q,), daemon=True) for _ in range(q["workers"])]
        for worker in self._workers:
            worker.start()

    def do_count(self, q):
        return {"sections": self._sections, "no_answer": self._no_answer}

    def do_rest(self, q):
        self._resting.set()
        for worker in self._workers:
            worker.join()
        return self.do_count(q)

    def do_stalled(self, q):
        stalled, self._stalled = self._stalled, 0
        return {"stalled": stalled}

    def do_close(self, q):
        self._locks.close()

    def _work(self, q):
        options = self._options(q)
        while not self._resting.is_set():
            key = random.choice(q["keys"])
            try:
                held = self._locks.lock(key, **options).acquire()
            except Exception as e:
                self._unanswered("acquire", e)
                continue
            if not q.get("quiet"):
                self.tell("in", key, held.token)
                try:
                    held.guard("SET", f"written:{key}", held.token)
                except Exception as e:
                    self._unanswered("guard", e)
                self.tell("out", key, held.token)
            try:
                held.release()
            except Exception as e:
                self._unanswered("release", e)
            with self._counting:
                self._sections += 1

    def _unanswered(self, what, error):
        """Counts an error that a broken connection explains, and reports any other. A loss is an event."""
        found = failed(error)
        if found["error"] in ("no_connection", "lost"):
            with self._counting:
                self._no_answer += 1
            time.sleep(0.005)
        else:
            self.tell("failure", "", 0, f"{what}: {found['error']}: {found['text']}")
            time.sleep(0.1)


def main():
    agent = Agent()
    threading.Thread(target=agent.watch_timer, daemon=True).start()
    for line in sys.stdin:
        threading.Thread(target=agent.answer, args=(json.loads(line),), daemon=True).start()


main()
