"""A raft group and Sentinels, while the leader is killed and replaced; TLS and users."""

import threading
import time

import pytest
import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.crc import key_slot
from redis.sentinel import Sentinel

import lockserver as package
from conftest import Loop
from fleet import Fleet
from server import PATIENCE, Server, eventually

LEASE_MS = 30_000
WORKERS = 3


class Trial:
    """Workers that take one lock in turn, and a lock that is held all the time."""

    def __init__(self, locks, name):
        self.locks, self.name, self.over = locks, name, threading.Event()
        self.count, self.highest, self.inside, self.lock = [0] * WORKERS, 0, None, threading.Lock()
        self.failures = []

    def work(self, number):
        try:
            held = self.locks.lock(self.name("door"), wait=PATIENCE).acquire()
        except (package.NoConnection, package.LockLost):
            time.sleep(0.01)
            return
        with self.lock:
            assert self.inside is None, "two are behind the door"
            assert held.token > self.highest, "a token of the past"
            self.inside, self.highest = number, held.token
        try:
            held.guard("INCR", self.name("n"))
            self.count[number] += 1
        except (package.NoConnection, package.LockLost):
            pass
        with self.lock:
            self.inside = None
        try:
            held.release()
        except (package.NoConnection, package.LockLost):
            pass

    def run(self, number):
        try:
            while not self.over.is_set():
                self.work(number)
        except BaseException as e:
            self.failures.append(e)
            self.over.set()

    def goes_on(self):
        before = list(self.count)
        eventually(lambda: self.over.is_set() or all(now > then + 2 for now, then in zip(self.count, before)), "all go on")
        assert not self.failures, self.failures


def play(fleet, locks, *events, slot=None, seen=lambda: None):
    """Plays a trial with keys of one slot, or of any. After each event seen looks at what else must hold."""
    name = (lambda key: f"{{{tag(slot)}}}{key}") if slot else str
    trial = Trial(locks, name)
    kept = locks.lock(name("kept"), wait=PATIENCE).acquire()
    threads = [threading.Thread(target=trial.run, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        trial.goes_on()
        for event in events:
            leader, began = fleet(event), time.monotonic()
            trial.goes_on()
            print(f"{event}: {leader} leads, all go on {time.monotonic() - began:.2f} s later")
            seen()
            fleet("mend")
    finally:
        trial.over.set()
        for thread in threads:
            thread.join(2 * PATIENCE)
    assert not trial.failures, trial.failures
    eventually(lambda: locks.attached, "it is attached")
    kept.check()
    assert kept.guard("SET", name("kept-data"), "x") == b"OK"
    kept.release()
    assert locks.execute("EXISTS", name("kept")) == 0


def tag(slots):
    """Returns a hash tag of one of some slots."""
    return next(str(n) for n in range(100_000) if key_slot(str(n).encode()) in slots)


def by_urls(fleet, kind):
    urls = [f"redis://{host}:{port}" for host, port in fleet.nodes]
    return kind.from_url(urls, name="group", timeout=5)


def by_cluster(fleet, kind):
    if kind is package.AsyncLocks:
        from redis.asyncio.cluster import ClusterNode as AsyncNode, RedisCluster as AsyncCluster
        return kind(AsyncCluster(startup_nodes=[AsyncNode(*a) for a in fleet.nodes]), name="group", timeout=5)
    return kind(RedisCluster(startup_nodes=[ClusterNode(*a) for a in fleet.nodes]), name="group", timeout=5)


def by_sentinel(fleet, kind):
    options = {"sentinel_kwargs": {"socket_timeout": 1, "retry": None}}
    if kind is package.AsyncLocks:
        from redis.asyncio.sentinel import Sentinel as AsyncSentinel
        return kind(AsyncSentinel(fleet.sentinels, **options).master_for(fleet.name), name="group", timeout=5)
    return kind(Sentinel(fleet.sentinels, **options).master_for(fleet.name), name="group", timeout=5)


def build(way, fleet, kind):
    """Returns a client of a kind, and what closes it."""
    if kind is package.Locks:
        locks = way(fleet, kind)
        return locks, locks.close
    loop = Loop()

    async def inside():
        return way(fleet, kind)

    locks = loop.run(inside)

    def close():
        locks.close()
        loop.close()

    return locks, close


@pytest.mark.parametrize("kind", [package.Locks, package.AsyncLocks], ids=["threads", "asyncio"])
@pytest.mark.parametrize("group", ["cluster", "sentinel"])
def test_failover_in_a_group(group, kind):
    with Fleet(f"lock-watchdog-timeout {LEASE_MS}", group=group) as fleet:
        ways = [by_urls, by_cluster] if group == "cluster" else [by_sentinel]
        for way in ways:
            locks, close = build(way, fleet, kind)
            try:
                play(fleet, locks, "kill", "plan")
            finally:
                close()
        fleet("same")


@pytest.mark.parametrize("kind", [package.Locks, package.AsyncLocks], ids=["threads", "asyncio"])
def test_failover_of_a_shard(kind):
    """The leader of one of three groups is killed, paused and replaced: the locks of the other groups are kept."""
    with Fleet(f"lock-watchdog-timeout {LEASE_MS}", group="cluster", shards=3) as fleet:
        locks, close = build(by_urls, fleet, kind)
        try:
            others = [locks.lock("{" + tag(slots) + "}kept", wait=PATIENCE).acquire() for slots in (range(6000, 10000), range(12000, 16000))]

            def seen():
                for held in others:
                    held.check()
                    assert held.guard("INCR", held.key + b":n") > 0
            play(fleet, locks, "kill", "pause", "plan", slot=range(5000), seen=seen)
            for held in others:
                held.check()
                held.release()
        finally:
            close()


def test_failover_under_sentinels():
    with Fleet("min-replicas-ack 1", f"lock-watchdog-timeout {LEASE_MS}") as fleet:
        locks, close = build(by_sentinel, fleet, package.Locks)
        try:
            play(fleet, locks, "kill", "plan")
        finally:
            close()


@pytest.mark.parametrize("topology", ["cluster", "sentinel"])
def test_what_only_looks_like_a_group(topology, make):
    with Server("--test-mode", "yes", "--test-topology", topology) as server:
        control = redis.Redis(server.host, server.port, decode_responses=True)
        if topology == "cluster":
            locks = make([f"redis://{server.host}:{server.port + n}" for n in range(3)])
        else:
            if make.kind == "asyncio":
                return  # by_sentinel above has it
            locks = package.Locks(Sentinel([(server.host, server.port)]).master_for("mymaster"))
        kept = locks.lock("kept").acquire()
        for _ in range(3):
            control.execute_command("TEST.FAILOVER")
            locks.lock("k", wait=PATIENCE).acquire().release()
            assert kept.guard("SET", "x", "1") == b"OK"
        kept.release()
        locks.close()
        control.close()


@pytest.mark.parametrize("clients", ["no", "yes"])
def test_tls(clients, make):
    with Server(secure=clients) as server:
        folder = server.certificates
        options = {"ssl_ca_certs": str(folder / "ca.crt")}
        if clients == "yes":
            options.update(ssl_certfile=str(folder / "client.crt"), ssl_keyfile=str(folder / "client.key"))
        where = f"rediss://localhost:{server.port}"
        locks = make(where, **options)
        with locks.lock("k").acquire() as held:
            big = b"x" * 1_000_000
            assert held.guard("SET", "big", big) == b"OK" and held.guard("GET", "big") == big
        refused = make(where, **{**options, "ssl_ca_certs": str(folder / "other.crt")}, timeout=0.5)
        with pytest.raises(package.NoConnection):
            refused.lock("k").acquire()


def test_limits_of_the_user(make):
    with Server() as server:
        with redis.Redis(port=server.port) as r:
            r.execute_command("ACL SETUSER", "ann", "reset", "on", ">secret", "~ann:*", "&ann:*", "+@all", "-@dangerous")
        where = f"redis://ann:{{}}@{server.host}:{server.port}"
        with pytest.raises(package.ServerError, match="invalid username"):
            make(where.format("wrong")).lock("ann:k").acquire()
        locks = make(where.format("secret"))
        with locks.lock("ann:k").acquire() as held:
            assert held.guard("SET", "ann:x", "1") == b"OK"
            with pytest.raises(package.ServerError, match="NOPERM"):
                held.guard("SET", "x", "1")
        with pytest.raises(package.ServerError, match="NOPERM"):
            locks.lock("k").acquire()
