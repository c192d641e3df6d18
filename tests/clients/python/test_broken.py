"""Locks through redis-py's pool and with its retries, while connections break: tests/clients/README.md says how."""

import random
import socket
import struct
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from server import PATIENCE, Server, eventually

BREAKS = 500  # for each version of the protocol
WORKERS = 8
DOORS = 3
LEASE_MS = 15_000
OWNERS = ["keeper", "victim", *(f"worker-{i}" for i in range(WORKERS))]

NOW, ASKING, ANSWERED = range(3)


class Link:
    """A connection: a client's to the way, and the way's to the server."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.moment = None


class Way:
    """A way to a server whose connections a test breaks: a proxy."""

    def __init__(self, port, at=0):
        """at: where it listens; 0: at a free port."""
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", at), backlog=100)
        self.port = self._listener.getsockname()[1]
        self._lock, self._links = threading.Lock(), []
        self.broken = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            link = Link(client, socket.create_connection(self._target))
            for s in (link.client, link.server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._links.append(link)
            threading.Thread(target=self._carry, args=(link, link.client, link.server, ASKING), daemon=True).start()
            threading.Thread(target=self._carry, args=(link, link.server, link.client, ANSWERED), daemon=True).start()

    def _carry(self, link, source, target, moment):
        breaks = False
        try:
            while not breaks:
                piece = source.recv(1 << 14)
                if not piece:
                    break
                breaks = link.moment == moment
                # A first part of it still arrives, maybe all of it.
                target.sendall(piece[:random.randint(0, len(piece))] if breaks else piece)
        except OSError:
            pass
        self._end(link, breaks)

    def _end(self, link, broken):
        with self._lock:
            if link not in self._links:
                return
            self._links.remove(link)
            self.broken += broken
        reset = broken and random.random() < 0.5
        for s in (link.client, link.server):
            try:
                if reset:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads
            except OSError:
                pass
            s.close()

    def _any(self):
        with self._lock:
            return random.choice(self._links) if self._links else None

    def break_one(self, moment):
        link = self._any()
        if link:
            link.moment = moment
            if moment == NOW:
                self._end(link, True)

    def kill(self, operator):
        link = self._any()
        try:
            addr = link and "%s:%d" % link.server.getsockname()
        except OSError:
            return
        if addr and operator.execute_command("CLIENT", "KILL", "ADDR", addr) == 1:
            self.broken += 1

    def close(self):
        self._listener.close()
        while self._links:
            self._end(self._links[0], False)


class Trial:
    """A program that takes locks through a pool, and has one connection that vouches for their owners."""

    def __init__(self, server, protocol):
        self.to_pool, self.to_live = Way(server.port), Way(server.port)
        options = {"decode_responses": True, "protocol": protocol, "socket_timeout": 2 * PATIENCE}
        self.operator = redis.Redis(port=server.port, **options)
        self.pool = redis.Redis(port=self.to_pool.port, retry=Retry(ExponentialBackoff(cap=0.05, base=0.001), 5), **options)
        self.attached = redis.Redis(port=self.to_live.port, single_connection_client=True, redis_connect_func=self._attach,
                                    retry=Retry(ExponentialBackoff(cap=0.05, base=0.001), 5), **options)
        self.listener = self.operator.pubsub(ignore_subscribe_messages=True)
        self.listener.subscribe(*(f"__lock__:{owner}" for owner in OWNERS))
        assert self.listener.get_message(timeout=PATIENCE) is None  # the first confirmation
        self.still = threading.RLock()  # whoever has it keeps the attached connection from breaking
        self.lock = threading.Lock()
        self.inside, self.tokens, self.sections, self.losses = {}, Counter(), Counter(), 0
        self.over, self.end = threading.Event(), time.monotonic() + 2 * PATIENCE

    @staticmethod
    def _attach(connection):
        connection.on_connect()
        connection.send_command("LOCK.ATTACH", *OWNERS)
        assert connection.read_response() >= 0

    def live(self):
        """Returns once the attached connection is there; the caller keeps it so."""
        def answers():
            try:
                return self.attached.ping()
            except redis.ConnectionError:
                return False
        with self.still:
            eventually(answers, "it is attached")

    def ask(self, *words):
        """Sends a command through the pool until it is answered."""
        while True:
            try:
                return self.pool.execute_command(*words)
            except redis.ConnectionError:
                assert time.monotonic() < self.end, words

    def work(self, owner):
        """A critical section."""
        door = f"door-{random.randrange(DOORS)}"
        token = self.ask("LOCK", door, owner, "WAIT", PATIENCE * 1000, "ONCE")
        with self.lock:
            assert not self.inside.get(door), f"{owner} finds {self.inside[door]} behind {door}"
            assert token > self.tokens[door]
            self.inside[door], self.tokens[door] = owner, token
        assert self.ask("GUARD", door, token, "SET", f"written:{door}", token) in ("OK", True)
        with self.lock:
            self.inside[door] = None
        # 0 would be a second hold; nil is the answer of the second UNLOCK if the first one's was lost.
        assert self.ask("UNLOCK", door, owner, "TOKEN", token) in (1, None)
        self.sections[owner] += 1

    def lose(self, reason):
        """Has the victim lose a lock, and waits until that was told, and nothing else."""
        with self.still:
            self.live()
            token = self.ask("LOCK", "victim", "victim", "ONCE")
            if reason == "forced":
                self.operator.execute_command("LOCK.FORCE", "victim")
            elif reason == "deleted":
                self.operator.delete("victim")
            elif reason == "overwritten":
                self.operator.set("victim", "no lock")
            else:
                self.operator.execute_command("RENEW", "victim", "victim", "PX", 1)
            assert self.told() == f"lock-lost victim {token} {reason}"
            if reason == "overwritten":
                self.operator.delete("victim")
        self.losses += 1

    def told(self, patience=PATIENCE):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            message = self.listener.get_message(timeout=patience)
            if message:
                return message["data"]
        return None

    def break_one(self):
        """Breaks a connection of the pool, or now and then the attached one."""
        n = random.randrange(20)
        if n < 2:
            with self.still:
                self.to_live.break_one(NOW) if n == 0 else self.to_live.kill(self.operator)
        elif n < 5:
            self.to_pool.kill(self.operator)
        else:
            self.to_pool.break_one(random.choice((NOW, ASKING, ANSWERED)))

    def broken(self):
        return self.to_pool.broken + self.to_live.broken

    def close(self):
        for c in (self.listener, self.pool, self.attached, self.operator, self.to_pool, self.to_live):
            c.close()


def test_broken_connections(protocol):
    with Server("--lock-watchdog-timeout", str(LEASE_MS)) as server:
        trial = Trial(server, protocol)
        try:
            play(trial)
        finally:
            trial.close()


def play(trial):
    trial.live()
    long = trial.ask("LOCK", "long", "keeper", "ONCE")

    def until_over(step):
        try:
            while not trial.over.is_set():
                step()
        finally:
            trial.over.set()  # a failure ends it for all

    def live():
        trial.live()
        time.sleep(0.005)

    def lose():
        trial.lose(("forced", "deleted", "overwritten", "expired")[trial.losses % 4])

    steps = [lambda owner=f"worker-{i}": trial.work(owner) for i in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS + 2) as threads:
        playing = [threads.submit(until_over, step) for step in (*steps, live, lose)]
        while trial.broken() < BREAKS and not trial.over.wait(random.uniform(0, 0.02)):
            trial.break_one()
        trial.over.set()
        for thread in playing:
            thread.result()
    print(f"{trial.broken()} connections broke: {trial.sections.total()} critical sections, {trial.losses} losses")
    assert len(trial.sections) == WORKERS and trial.losses > 0
    trial.live()
    assert trial.told(0.1) is None, "a loss that is none, or told twice"
    assert trial.operator.execute_command("UNLOCK", "long", "keeper", "TOKEN", long) == 1, "it was never lost"
    eventually(lambda: trial.operator.execute_command("LOCK.LIST") == [], "no lock stays behind")
