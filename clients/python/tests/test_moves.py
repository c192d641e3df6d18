"""Slots that move from one shard to another: what is held there and waited for goes along, and no loss is told."""

import contextlib

import pytest
import redis

import lockserver as package
from conftest import as_map
from moving import Moving, key_of
from server import PATIENCE, Server, eventually


@pytest.fixture
def server():
    with Server("--lock-watchdog-timeout", "6000") as server:
        server.control = redis.Redis("127.0.0.1", server.port, decode_responses=True)
        yield server
        server.control.close()


@pytest.fixture
def shards(server):
    with contextlib.closing(Moving(server.port)) as shards:
        yield shards


class Told(package.Observer):
    """What an observer hears of losses."""

    def __init__(self):
        self.losses = []

    def lost(self, *args):
        self.losses.append(args)


def renewed(control, key):
    """Waits until the server has renewed the lease of a lock."""
    def left():
        return int(as_map(control.execute_command("LOCK.INFO", key))["ttl"])

    least = [left()]

    def rises():
        least[0], before = min(least[0], left()), least[0]
        return left() > before
    eventually(rises, f"the lease of {key} is renewed")


@pytest.mark.parametrize("used", ["used before", "not used before"])
def test_a_slot_moves(server, shards, make, background, used):
    """All kinds of holds and waits of one slot, and a lock of another slot that stays."""
    control, told = server.control, Told()
    locks = make(shards.urls, observer=told)
    moved = key_of("moved", 0)
    kept = locks.lock(key_of("kept", 0, [moved])).acquire()
    if used == "used before":
        locks.lock(key_of("far", 1)).acquire().release()
    held = locks.lock(moved).acquire()
    fixed = locks.lock(f"{{{moved}}}fixed", lease=3600).acquire()
    both = locks.lock_all([f"{{{moved}}}a", f"{{{moved}}}b"]).acquire()
    permit = locks.semaphore(f"{{{moved}}}permits", 3).acquire()
    control.execute_command("LOCK", f"{{{moved}}}taken", "another")
    control.execute_command("LIMIT.TAKE", f"{{{moved}}}rate", 1, 1, 3600000)
    waits = background(lambda: locks.lock(f"{{{moved}}}taken", wait=PATIENCE).acquire())
    latch = locks.latch(f"{{{moved}}}latch")
    latch.set(1)
    opened = background(lambda: latch.wait(PATIENCE))
    eventually(lambda: len(control.execute_command("LOCK.WAITERS")) == 2, "two wait")
    for to in (1, 0, 1):
        shards.redirected.clear()
        shards.move(moved)
        eventually(lambda: shards.attached(to) == 1, "it is attached there")
        eventually(lambda: shards.attached(0) == 1, "it is attached where it has other locks")
        for lock in (held, fixed):
            assert lock.guard("EXISTS", f"{{{moved}}}none") == 0
        for lock in (held, fixed, permit, both, kept):
            lock.check()
        assert kept.guard("EXISTS", kept.key) == 1
        assert {key for _, key in shards.redirected if moved not in key} == set()
    again = locks.lock(f"{{{moved}}}again")
    again.acquire().release()
    control.execute_command("UNLOCK", f"{{{moved}}}taken", "another")
    waits().release()
    latch.down()
    opened()
    shards.redirected.clear()
    kept.release()
    shards.shut(0)
    for key in (moved, f"{{{moved}}}a", f"{{{moved}}}permits"):
        renewed(control, key)
    again.acquire().release()
    for lock in (held, fixed, permit, both):
        lock.check()
        lock.release()
    assert shards.redirected == [] and told.losses == []
    assert control.execute_command("LOCK.LIST") == []


def test_a_slot_that_no_shard_serves_yet(server, shards, make, background):
    """The two shards redirect to each other for a while."""
    control, told = server.control, Told()
    locks = make(shards.urls, observer=told)
    moved = key_of("moved", 0)
    kept = locks.lock(key_of("kept", 0, [moved])).acquire()
    held = locks.lock(moved).acquire()
    control.execute_command("LOCK", f"{{{moved}}}taken", "another")
    waits = background(lambda: locks.lock(f"{{{moved}}}taken", wait=PATIENCE).acquire())
    eventually(lambda: len(control.execute_command("LOCK.WAITERS")) == 1, "it waits")
    shards.hide(moved, True)
    shards.move(moved)
    eventually(lambda: len(shards.redirected) >= 12, "it goes to and fro")
    assert kept.guard("EXISTS", kept.key) == 1
    shards.hide(moved, False)
    control.execute_command("UNLOCK", f"{{{moved}}}taken", "another")
    waits().release()
    held.check()
    renewed(control, moved)
    held.release()
    kept.release()
    assert told.losses == []
    assert control.execute_command("LOCK.LIST") == []


@pytest.mark.parametrize("unserved", [b"", b"-CLUSTERDOWN Hash slot not served\r\n"])
def test_calls_go_on_until_their_slot_is_served(server, shards, make, background, unserved):
    """They ask now and then, as the locks and waits in it do. The connections stay, and no loss is told."""
    told = Told()
    locks = make(shards.urls, observer=told, timeout=PATIENCE)
    moved = key_of("moved", 0)
    held = [locks.lock(moved).acquire(), locks.lock(f"{{{moved}}}fixed", lease=3600).acquire(), locks.lock(key_of("far", 1)).acquire()]
    latch, got = locks.latch(f"{{{moved}}}latch"), []
    latch.set(3)
    calls = {
        "GUARD": lambda: held[0].guard("EXISTS", moved),
        "LOCK.INFO": lambda: locks.info(moved),
        "LATCH.DOWN": latch.down,
        "LOCK": lambda: got.append(locks.lock(f"{{{moved}}}next").acquire()),
        "UNLOCK": lambda: got[0].release(),
    }
    for name, call in calls.items():
        before = shards.ways()
        shards.bounce(moved, unserved, name, 15)
        call()
        assert shards.counted == ""
        assert len(shards.redirected) < 150, name  # of the call, and of two or three locks
        assert set(before) <= set(shards.ways()), name
        for lock in held:
            lock.check()
    for lock in held:
        lock.release()
    assert told.losses == []
    assert server.control.execute_command("LOCK.LIST") == []
