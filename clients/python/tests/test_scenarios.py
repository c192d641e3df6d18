"""The scenarios of clients/SCENARIOS.md in which connections, servers and processes fail."""

import asyncio
import mmap
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter

import pytest
import redis

import lockserver as package
from conftest import as_map, free, waiting
from server import PATIENCE, Server, eventually, stop
from sharded import SHARDS, Process, operator, ports_of, url, way_to
from test_broken import ANSWERED, ASKING, NOW

BREAKS = int(os.environ.get("BREAKS", "500"))  # for each kind of client
WORKERS, DOORS = 8, 3


class Trial:
    """Workers in critical sections, a lock that is held all the time, and one that is taken away again and again."""

    def __init__(self, locks, operator, way):
        self.locks, self.operator, self.way = locks, operator, way
        self.guard, self.inside, self.tokens = threading.Lock(), {}, Counter()
        self.sections, self.losses = Counter(), Counter()
        self.over, self.failures = threading.Event(), []
        self.calm = threading.RLock()  # its holder keeps connections from breaking

    def work(self, number):
        door = f"door-{random.randrange(DOORS)}"
        try:
            held = self.locks.lock(door, wait=PATIENCE).acquire()
        except package.NoConnection:  # all that was tried within the timeout broke
            return
        with self.guard:
            assert not self.inside.get(door), f"two are behind {door}"
            assert held.token > self.tokens[door], "a token of the past"
            self.inside[door], self.tokens[door] = number, held.token
        try:
            held.guard("SET", f"{{{door}}}written", held.token)
        except package.NoConnection:
            pass  # it may have been done
        with self.guard:
            self.inside[door] = None
        try:
            held.release()
        except package.NoConnection:
            pass  # it is owed
        self.sections[number] += 1

    def lose(self, number):
        reason = ("forced", "deleted", "overwritten", "expired")[number % 4]
        with self.calm:
            held = self.locks.lock("victim", wait=PATIENCE, lease=30 if reason == "expired" else None).acquire()
            eventually(lambda: self.locks.attached, "it is attached")
            told = []
            held.on_lost(told.append)
            if reason == "forced":
                self.operator.execute_command("LOCK.FORCE", "victim")
            elif reason == "deleted":
                self.operator.delete("victim")
            elif reason == "overwritten":
                self.operator.set("victim", "no lock")
            else:
                self.operator.execute_command("RENEW", "victim", held.owner, "PX", 1)
            eventually(lambda: told, "the loss is reported")
            if reason == "overwritten":
                self.operator.delete("victim")
            assert len(told) == 1
            # A connection that broke just before is noticed only now. Its message is lost, so the reason is not known.
            assert told[0].reason in (reason, "stale")
            with pytest.raises(package.LockLost):
                held.release()
        self.losses[told[0].reason] += 1
        time.sleep(0.005)  # most of the time connections may break

    def until_over(self, step, *args):
        count = 0
        try:
            while not self.over.is_set():
                step(*(args or (count,)))
                count += 1
        except BaseException as e:
            self.failures.append(e)
        finally:
            self.over.set()

    def break_one(self):
        with self.calm:
            if random.randrange(4) == 0:
                self.way.kill(self.operator)
            else:
                self.way.break_one(random.choice((NOW, ASKING, ANSWERED)))


@pytest.fixture
def server():
    with Process("--lock-watchdog-timeout", "15000") as s:
        yield s


def test_broken_connections(make, server):
    control = operator(server)
    way = way_to(server, control)
    locks = make(url(server, way.ports), timeout=PATIENCE)
    trial = Trial(locks, control, way)
    kept = locks.lock("kept").acquire()
    lost = []
    kept.on_lost(lost.append)
    threads = [threading.Thread(target=trial.until_over, args=(trial.work, number)) for number in range(WORKERS)]
    threads.append(threading.Thread(target=trial.until_over, args=(trial.lose,)))
    for thread in threads:
        thread.start()
    end, tried = time.monotonic() + 2 * PATIENCE, 0
    while way.broken < BREAKS and not trial.over.wait(random.uniform(0, 0.02)):
        assert time.monotonic() < end, f"{way.broken} connections broke"
        trial.break_one()
        tried += 1
        if tried % 8 == 0:  # on a slow machine each connection may break before it is of use
            eventually(lambda: locks.attached or trial.over.is_set(), "it is attached")
    trial.over.set()
    for thread in threads:
        thread.join(2 * PATIENCE)
    print(f"{way.broken} connections broke: {sum(trial.sections.values())} critical sections, losses {dict(trial.losses)}")
    assert not trial.failures, trial.failures
    assert len(trial.sections) == WORKERS and sum(trial.losses.values()) > 2 * trial.losses["stale"]
    assert not lost, "a loss that is none"
    eventually(lambda: locks.attached, "it is attached")
    assert as_map(control.execute_command("LOCK.INFO", "kept"))["token"] == kept.token
    kept.release()
    eventually(lambda: control.execute_command("LOCK.LIST") == [], "no lock stays behind")
    locks.close()
    way.close()
    control.close()


def test_kill_and_restart(make, background):
    with Process("--appendonly", "yes", "--appendfsync", "always") as server:
        locks, waiter = make(url(server)), make(url(server), name="waiter")
        held = locks.lock("k").acquire()
        fixed = locks.lock("f", lease=600).acquire()
        call = background(lambda: waiter.lock("k", wait=PATIENCE).acquire())
        waiting(operator(server))
        server.kill()
        server._run()
        eventually(lambda: locks.attached and waiter.attached, "it is attached again")
        held.check()
        assert held.guard("SET", "{k}x", "1") == b"OK" and fixed.guard("SET", "{f}x", "2") == b"OK"
        token = held.token
        held.release()
        fixed.release()
        assert call().token > token


def test_kill_without_data(make, server):
    locks = make(url(server))
    held = locks.lock("k").acquire()
    server.replace()
    eventually(lambda: held.lost, "the loss is known")
    assert held.lost.reason == "stale"
    with pytest.raises(package.LockLost):
        held.guard("SET", "{k}x", "1")


def test_server_gone(make, background):
    with Process("--lock-watchdog-timeout", "3000") as server:
        locks = make(url(server), timeout=3)
        held, told = locks.lock("k").acquire(), []
        held.on_lost(lambda loss: told.append((loss.reason, time.monotonic())))
        call = background(lambda: locks.lock("k").acquire())
        waiting(operator(server))
        killed = time.monotonic()
        server.kill()
        taken = [socket.socket() for _ in ports_of(server)]  # no other program gets the ports
        for bound, port in zip(taken, ports_of(server)):
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((server.host, port))
        eventually(lambda: told, "the loss is reported")
        reason, at = told[0]
        assert reason == "unreachable"
        # The lease has ended 3 s after the server renewed it for the last time, at the earliest 2 s after it died.
        assert at - killed < 2.0 + 8.0, "it is far too late"
        with pytest.raises(package.NoConnection):
            call()
        began = time.monotonic()
        with pytest.raises(package.NoConnection):
            locks.lock("other").acquire()
        with pytest.raises(package.NoConnection):
            locks.execute("PING")
        with pytest.raises(package.LockLost):
            held.release()
        assert time.monotonic() - began < PATIENCE
        for bound in taken:
            bound.close()


def test_server_stopped(make, background):
    with Process("--lock-watchdog-timeout", "3000") as server:
        locks = make(url(server), timeout=3)
        held = locks.lock("k").acquire()
        stop(server._process)
        try:
            eventually(lambda: held.lost, "the loss is known")
            assert held.lost.reason == "unreachable"
            with pytest.raises(package.NoConnection):
                locks.lock("other").acquire()
            with pytest.raises(package.LockLost):
                held.guard("SET", "{k}x", "1")
        finally:
            os.kill(server._process.pid, signal.SIGCONT)
        r = operator(server)
        free(r, "k")
        locks.lock("k", wait=PATIENCE).acquire().release()
        eventually(lambda: r.execute_command("LOCK.LIST") == [], "no lock stays behind")


def test_close_is_bounded_when_the_server_is_stopped(make):
    with Process() as server:
        locks = make(url(server), timeout=2)
        locks.lock("k").acquire()
        stop(server._process)
        try:
            locks.close()
        finally:
            os.kill(server._process.pid, signal.SIGCONT)


STOPPED = """
    import os, sys, time, lockserver
    locks = lockserver.Locks.from_url(sys.argv[2:] if sys.argv[3:] else sys.argv[2])
    held = locks.lock("k", lease=float(sys.argv[1]) or None).acquire()
    print("held", flush=True)
    sys.stdin.readline()  # the test has stopped this process, and it goes on
    try:
        held.guard("SET", "{k}x", "stopped")
        print("written")
    except lockserver.LockLost as e:
        print(e.reason)
    try:
        held.release()
        print("released")
    except lockserver.LockLost as e:
        print(e.reason)
"""


@pytest.mark.parametrize("lease", [1.0, 0.0], ids=["fixed", "renewed"])
def test_client_stopped(lease):
    with Process("--lock-watchdog-timeout", "2000") as server:
        urls = url(server) if SHARDS > 1 else [url(server)]
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(STOPPED), str(lease), *urls],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        assert process.stdout.readline() == "held\n"
        stop(process)
        with package.Locks.from_url(url(server)) as locks:
            if lease:
                held = locks.lock("k", wait=PATIENCE).acquire()
                held.guard("SET", "{k}x", "successor")
            else:
                with operator(server) as r:
                    began = r.time()[0]  # for twice the lease: the connection lives, so the server renews it
                    eventually(lambda: r.time()[0] > began + 4, "time has passed")
            os.kill(process.pid, signal.SIGCONT)
            said, _ = process.communicate("\n", timeout=PATIENCE)
            if lease:
                assert said.split() in (["expired", "expired"], ["stale", "stale"])
                assert locks.execute("GET", "{k}x") == b"successor"
                held.release()
            else:
                assert said.split() == ["written", "released"]


def test_ten_thousand_waiters():
    """They wait over two connections, and each has its turn, in order."""
    count = int(os.environ.get("WAITERS", "10000"))

    async def trial(server):
        r = operator(server)
        async with package.AsyncLocks.from_url(url(server), name="crowd", timeout=PATIENCE) as locks:
            first = await locks.lock("k").acquire()
            order = []

            async def wait(number):
                async with locks.lock("k", wait=10 * PATIENCE):
                    order.append(number)

            tasks = [asyncio.ensure_future(wait(number)) for number in range(count)]
            while int(r.info("locks")["lock_waiters_notify"]) < count:
                await asyncio.sleep(0.05)
            assert len([c for c in r.client_list() if c["name"] == "crowd"]) <= 2 * SHARDS
            await first.release()
            began = time.monotonic()
            await asyncio.gather(*tasks)
            print(f"{count} waiters were served in {time.monotonic() - began:.1f} s")
            assert order == list(range(count))

    with Process() as server:
        asyncio.run(trial(server))


CLIENTS = 16


def processor(pid):
    """The seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Rate:
    """How often in a second a lock went from one holder to another, and what each of these cost."""

    def __init__(self, server, hand_offs, clients):
        """hand_offs: a function that returns how many there were. clients: the processes of the clients."""
        self._server, self._hand_offs, self._clients = server._process.pid, hand_offs, clients
        self._began, self._before, self._ours, self._theirs = self._look()

    def _look(self):
        return time.monotonic(), self._hand_offs(), sum(map(processor, self._clients)), processor(self._server)

    def end(self):
        """Takes the figures. It returns itself."""
        ended, after, ours, theirs = self._look()
        count = max(1, after - self._before)
        self.rate = count / (ended - self._began)
        self._client, self._servers = (ours - self._ours) / count, (theirs - self._theirs) / count
        return self

    def __str__(self):
        return f"{self.rate:.0f} ({self._client * 1e6:.0f} µs of the client's processor time each, {self._servers * 1e6:.0f} µs of the server's)"


def changes(holders):
    """Returns a function that counts how often the holder was another than the one before."""
    return lambda: sum(a != b for a, b in zip(holders, holders[1:]))


def hand_offs(server, take, seconds):
    """How a lock goes from one of 16 threads to another. take(number) returns a context manager."""
    over, holders = threading.Event(), []

    def work(number):
        lock = take(number)
        while not over.is_set():
            with lock:
                holders.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    rate = Rate(server, changes(holders), [os.getpid()])
    time.sleep(seconds)
    over.set()
    rate.end()
    for thread in threads:
        thread.join(PATIENCE)
    return rate


async def hand_offs_of_tasks(server, seconds):
    """The same among 16 tasks of one event loop."""
    over, holders = [], []
    async with package.AsyncLocks.from_url(url(server)) as locks:
        async def work(number):
            lock = locks.lock("tasks", lease=60)
            while not over:
                async with lock:
                    holders.append(number)

        tasks = [asyncio.ensure_future(work(number)) for number in range(CLIENTS)]
        rate = Rate(server, changes(holders), [os.getpid()])
        await asyncio.sleep(seconds)
        over.append(True)
        rate.end()
        await asyncio.gather(*tasks)
    return rate


# The file has three numbers: whether it is over, the last holder, and how often the holder was another one.
PROCESS = """
    import mmap, socket, sys, redis, lockserver
    from lockserver._resp import encode

    class Bare:
        # The least that a program of Python has to do: bytes that were made before, and one socket that blocks.
        def __init__(self, port, owner):
            self.socket = socket.create_connection(("127.0.0.1", port))
            self.ask = encode(["LOCK", "bare", owner, "PX", 60000, "WAIT", 0, "NOTIFY", "ONCE"])
            self.give_back = encode(["UNLOCK", "bare", owner])
            for words in ["HELLO", 3], ["LOCK.ATTACH", owner]:
                self.socket.sendall(encode(words))
                self.socket.recv(9999)

        def __enter__(self):
            self.socket.send(self.ask)
            data = self.socket.recv(9999)
            while data.startswith(b"+QUEUED") and not (b"lock-granted" in data and data.endswith(b"\\r\\n")):
                data += self.socket.recv(9999)

        def __exit__(self, *_):
            self.socket.send(self.give_back)
            self.socket.recv(9999)

    kind, url, number, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    with open(path, "r+b") as f:
        shared = memoryview(mmap.mmap(f.fileno(), 0)).cast("q")
    if kind == "redis-py":
        lock = redis.Redis.from_url(url).lock("polled by processes", timeout=60)
    elif kind == "bare":
        lock = Bare(redis.connection.parse_url(url)["port"], f"bare:{number}")
    else:
        lock = lockserver.Locks.from_url(url).lock("processes", lease=60)
    print("ready", flush=True)
    sys.stdin.readline()
    while not shared[0]:
        with lock:
            if shared[1] != number:
                shared[1] = number
                shared[2] += 1
"""


def hand_offs_of_processes(server, kind, path, seconds):
    """The same among 16 processes of one thread each."""
    path.write_bytes(bytes(24))
    with path.open("r+b") as f, mmap.mmap(f.fileno(), 0) as mapped, memoryview(mapped) as view, view.cast("q") as shared:
        processes = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(PROCESS), kind, url(server), str(number), str(path)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
                     for number in range(1, CLIENTS + 1)]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        eventually(lambda: shared[2] > CLIENTS, "they have begun")
        rate = Rate(server, lambda: shared[2], [process.pid for process in processes])
        time.sleep(seconds)
        rate.end()
        shared[0] = 1
        for process in processes:
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
    return rate


class Form:
    """One way in which 16 callers take a lock, and what it did in each round."""

    def __init__(self, name, run, beside=None):
        """run: returns a Rate. beside: the form of redis-py that is the same."""
        self.name, self.run, self.beside, self.rounds = name, run, beside or self, []

    @property
    def median(self):
        """The round in the middle."""
        return sorted(self.rounds, key=lambda round: round.rate)[len(self.rounds) // 2]

    def __str__(self):
        rates = [round.rate for round in self.rounds]
        times = self.median.rate / self.beside.median.rate
        return f"{self.name}: {self.median}, {min(rates):.0f} to {max(rates):.0f}; {times:.0f} times redis-py's rate"


def test_hand_off(tmp_path):
    """Prints the rates of all forms, the medians of rounds in turn, and fails unless ours are faster.

    It measures time, so it is no part of the suite: make clients-python-bench runs it on a machine that does nothing else.

    redis-py's rate depends on chance: a waiter gets the lock if it is free in the moment in which it looks.
    """
    seconds, rounds = float(os.environ.get("SECONDS", "3")), int(os.environ.get("ROUNDS", "1"))
    with Server() as server:
        clients = [redis.Redis(port=server.port) for _ in range(CLIENTS)]
        one, *many = [package.Locks.from_url(url(server)) for _ in range(1 + CLIENTS)]

        def processes(kind):
            return lambda: hand_offs_of_processes(server, kind, tmp_path / "shared", seconds)

        polling = Form("threads of redis-py", lambda: hand_offs(
            server, lambda number: clients[number].lock("polled", timeout=60), seconds))
        polling_processes = Form("processes of redis-py", processes("redis-py"))
        ours = [
            Form("threads with one Locks", lambda: hand_offs(
                server, lambda number: one.lock("ours", lease=60), seconds), polling),
            Form("threads with 16 Locks", lambda: hand_offs(
                server, lambda number: many[number].lock("apart", lease=60), seconds), polling),
            Form("tasks with one AsyncLocks", lambda: asyncio.run(hand_offs_of_tasks(server, seconds)), polling),
            Form("processes with a Locks each", processes("lockserver"), polling_processes),
        ]
        bare = Form("processes with bare sockets", processes("bare"), polling_processes)
        forms = [polling, *ours[:3], polling_processes, ours[3], bare]
        for _ in range(rounds):
            for form in forms:
                form.rounds.append(form.run())
        for client in (*clients, one, *many):
            client.close()
    print(f"hand-offs each second of {CLIENTS} clients, medians of {rounds} rounds of {seconds:g} s:")
    for form in forms:
        print(f"  {form}")
    assert all(form.median.rate > form.beside.median.rate for form in ours)
