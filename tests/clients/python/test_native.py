"""The native commands through redis-py, which has no methods for them."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import redis

import sale
from conftest import EARLIER, ONCE
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


def test_a_wait_that_is_longer_than_the_timeout(server):
    """redis-py gives up after socket_timeout, closes the connection and sends the LOCK again, as often as retry says."""
    if not EARLIER:
        plain = redis.Redis(port=server.port)
        assert plain.connection_pool.connection_kwargs["socket_timeout"] == 5
        plain.close()
    sent = []  # what each connection brought to a server that never answers a LOCK

    def listen(connection):
        with connection:
            while words := connection.recv(4096):
                sent.append(words)

    def accept():
        while True:
            try:
                connection, _ = silent.accept()
            except OSError:
                return
            threading.Thread(target=listen, args=(connection,), daemon=True).start()

    options = {} if EARLIER else {"protocol": 2, "redis_connect_func": lambda c: c._parser.on_connect(c)}  # it says nothing first
    with socket.create_server(("127.0.0.1", 0)) as silent:
        threading.Thread(target=accept, daemon=True).start()
        r = redis.Redis(port=silent.getsockname()[1], socket_timeout=0.2, **options)
        try:
            r.execute_command("LOCK", "gate", "alice", "WAIT", 20_000, "ONCE")
            raise AssertionError("nobody answers")
        except redis.TimeoutError:
            pass
        r.close()
        calls = 1 if EARLIER else 11
        eventually(lambda: len(sent) >= calls, "all that was sent has come")
        assert len(sent) == calls

    holder = redis.Redis(port=server.port, decode_responses=True)
    holder.execute_command("LOCK", "gate", "bob", "PX", 60_000)
    late = redis.Redis(port=server.port, socket_timeout=0.2, **options)
    try:
        late.execute_command("LOCK", "gate", "alice", "WAIT", 0, "ONCE")
        raise AssertionError("bob has the lock")
    except redis.TimeoutError:
        pass
    eventually(lambda: not holder.execute_command("LOCK.WAITERS"), "the closed connection has left the queue")
    assert holder.execute_command("UNLOCK", "gate", "bob") == 1
    assert holder.execute_command("LOCK.INFO", "gate") is None, "nobody has it"
    late.close()
    holder.close()
