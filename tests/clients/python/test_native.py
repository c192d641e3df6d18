"""The native commands through redis-py, which has no methods for them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import redis

import sale
from conftest import ONCE
from server import Server, eventually


def test_lock(connect):
    """A critical section that several enter through LOCK and WAIT, one at a time, with rising tokens."""
    r = connect(**ONCE)
    inside, tokens = threading.Lock(), []

    def work(i):
        for _ in range(10):
            token = r.execute_command("LOCK", "door", f"worker-{i}", "PX", 20_000, "WAIT", 0)
            assert inside.acquire(blocking=False), "two inside"
            tokens.append(token)
            inside.release()
            assert r.execute_command("UNLOCK", "door", f"worker-{i}", "TOKEN", token) == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(tokens) == 80 and tokens == sorted(set(tokens))
    assert r.execute_command("UNLOCK", "door", "nobody") is None


def test_seckill(r):
    sale.play(r, lambda *words: r.execute_command("SECKILL", *words))


def test_fenced_write(r):
    token = r.execute_command("LOCK", "door", "alice", "PX", 60_000)
    assert r.execute_command("GUARD", "door", token, "SET", "data", "1") in ("OK", True)
    assert r.execute_command("LOCK.FORCE", "door") == 1
    r.execute_command("LOCK", "door", "bob", "PX", 60_000)
    try:
        r.execute_command("GUARD", "door", token, "SET", "data", "2")
        raise AssertionError("a stale token was accepted")
    except redis.ResponseError as e:
        assert "STALETOKEN" in str(e)
    assert r.get("data") == "1"


def test_the_watchdog_follows_the_connection():
    with Server("--lock-watchdog-timeout", "2000") as server:
        holder = redis.Redis(port=server.port, single_connection_client=True)
        r = redis.Redis(port=server.port)
        assert holder.execute_command("LOCK", "door", "alice") > 0
        for _ in range(5):  # more than two leases
            assert r.execute_command("LOCK", "door", "bob", "WAIT", 1000) is None
        holder.connection_pool.disconnect()
        eventually(lambda: r.execute_command("LOCK", "door", "bob", "WAIT", 1000), "the lease ends")
        r.close()
