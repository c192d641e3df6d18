"""redis-py under Sentinel, and over a raft group, while the master is killed, paused and replaced: tests/clients/README.md says what must
be so."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.sentinel import Sentinel

from fleet import Fleet
from server import PATIENCE, eventually

WORKERS = 3
# The keys of GUARD have a tag in common: redis-py as a client of a cluster sends none whose keys are of several slots.
LEASE_MS = 10_000
PASSING = (redis.ConnectionError, redis.TimeoutError, redis.exceptions.ClusterDownError)
OWNERS = ["keeper", *(f"worker-{i}" for i in range(WORKERS))]


class BySentinel:
    """Clients that ask the Sentinels who leads."""

    def __init__(self, fleet):
        # By itself the library asks a Sentinel that is gone for seconds before it asks the next one: the members of a group
        # are Sentinels, too, and the one that has led is the one that is gone.
        sentinel = Sentinel(fleet.sentinels, sentinel_kwargs={"socket_timeout": 1, "retry": None})
        # A master that is paused or gone without a word is given up after socket_timeout. The retries of the library
        # would go to the same one (redis-py's issue 3874), so the program asks again by itself.
        options = {"decode_responses": True, "socket_timeout": 3, "retry": None}
        self.pool = sentinel.master_for(fleet.name, **options)
        # The connection that vouches for the owners attaches to whoever leads.
        self._attached = sentinel.master_for(fleet.name, redis_connect_func=self._attach, max_connections=1, **options)

    @staticmethod
    def _attach(connection):
        connection.on_connect()
        connection.send_command("LOCK.ATTACH", *OWNERS)
        assert connection.read_response() >= 0

    def live(self):
        self._attached.ping()

    def look(self):
        pass  # a new connection asks the Sentinels again

    def close(self):
        self.pool.close()
        self._attached.close()


class ByCluster:
    """Clients of a cluster of one shard."""

    def __init__(self, fleet):
        nodes = [ClusterNode(*address) for address in fleet.nodes]
        self.pool = RedisCluster(startup_nodes=nodes, decode_responses=True, socket_timeout=3)

    def live(self):  # by one of its connections to whoever leads; without a key it asks to be told where that is
        leader = self.pool.get_primaries()[0]
        try:
            self.pool.get_redis_connection(leader).execute_command("LOCK.ATTACH", *OWNERS)
        except redis.ResponseError:
            self.look()
            raise

    def look(self):
        """Finds out who leads.

        The library asks a node of its choice where the keys of a command are that it does not know, as GUARD's. If that
        node is gone it asks it again and again: only a failure to send the command itself has it look for another one.
        """
        self.pool.nodes_manager.initialize()

    def close(self):
        self.pool.close()


class Trial:
    """A program whose clients find out by themselves who leads."""

    def __init__(self, clients):
        self.clients, self.pool = clients, clients.pool
        self.lock, self.over = threading.Lock(), threading.Event()
        self.written, self.highest, self.inside = [set() for _ in range(WORKERS)], 0, None

    def ask(self, *words):
        """Sends a command until it is answered."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.pool.execute_command(*words)
            except PASSING:
                assert time.monotonic() < end, words
                self.look()
            except redis.ResponseError as e:  # of a master that has just become a replica, or nobody leads
                assert str(e).startswith(("UNBLOCKED", "MASTERDOWN", "CLUSTERDOWN")), e
            time.sleep(0.01)

    def work(self, number):
        """A write, and a critical section."""
        owner, word = f"worker-{number}", f"{number}:{len(self.written[number])}"
        assert self.ask("SADD", "{it}written", word) in (0, 1)
        token = None
        while token is None and not self.over.is_set():
            before = self.highest
            token = self.ask("LOCK", "{it}door", owner, "WAIT", 1000, "ONCE")
        if token is None:
            return
        with self.lock:
            assert self.inside is None, f"{owner} finds {self.inside} behind the door"
            assert token > before, "a token of the past"
            self.inside, self.highest = owner, max(self.highest, token)
        assert self.ask("GUARD", "{it}door", token, "SADD", "{it}written", word) in (0, 1), "the lock is lost"
        with self.lock:
            self.inside = None
        # 0 would be a second hold; nil is the answer of the second UNLOCK if the first one's was lost.
        assert self.ask("UNLOCK", "{it}door", owner, "TOKEN", token) in (1, None)
        self.written[number].add(word)

    def steal(self):
        assert self.ask("LOCK", "held", "thief", "PX", 1000) is None, "a lock is held by two"
        time.sleep(0.02)

    def look(self):
        try:
            self.clients.look()
        except (*PASSING, redis.exceptions.RedisClusterException):
            pass  # nobody knows yet

    def live(self):
        try:
            self.clients.live()
        except (*PASSING, redis.exceptions.RedisClusterException, redis.ResponseError):
            pass
        time.sleep(0.05)

    def goes_on(self):
        """Waits until everybody has written more, and returns how long that took."""
        begun, before = time.monotonic(), [len(words) for words in self.written]
        eventually(lambda: self.over.is_set() or all(len(words) > n + 2 for words, n in zip(self.written, before)), "all go on")
        return time.monotonic() - begun

    def until_over(self, step):
        try:
            while not self.over.is_set():
                step()
        finally:
            self.over.set()  # a failure ends it for all


def test_failovers():
    with Fleet("min-replicas-ack 1", f"lock-watchdog-timeout {LEASE_MS}") as fleet:
        play(fleet, BySentinel(fleet), "kill", "pause", "plan")


@pytest.mark.parametrize("group, clients", [("cluster", ByCluster), ("sentinel", BySentinel)])
def test_group(group, clients):
    with Fleet(f"lock-watchdog-timeout {LEASE_MS}", group=group) as fleet:
        play(fleet, clients(fleet), "kill", "plan")


def play(fleet, clients, *events):
    trial = Trial(clients)
    clients.live()
    token = trial.ask("LOCK", "held", "keeper", "ONCE")
    steps = [lambda number=i: trial.work(number) for i in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS + 2) as threads:
        playing = [threads.submit(trial.until_over, step) for step in (*steps, trial.steal, trial.live)]
        try:
            trial.goes_on()
            for event in events:
                leader = fleet(event)
                print(f"{event}: {leader} leads, and clients go on {trial.goes_on():.2f} s later")
                fleet("mend")
        finally:
            trial.over.set()
        for thread in playing:
            thread.result()
    fleet("same")
    assert set.union(*trial.written) <= trial.pool.smembers("{it}written"), "what was acknowledged is lost"
    assert trial.ask("LOCK", "held", "keeper", "ONCE") == token, "a lock is lost while its owner lives"
    clients.live()
    info = trial.ask("LOCK.INFO", "held")
    info = info if isinstance(info, dict) else dict(zip(info[::2], info[1::2]))
    assert info["attached"], "the owner came back to the new master"
    clients.close()
