"""A shop's lock, sale and session, in time that the test owns."""

import threading

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def test_a_lock_ends_with_its_lease(lockserver):
    shop = lockserver.client()
    lockserver.freeze()
    first = shop.execute_command("LOCK", "till", "ann", "PX", 30_000)
    got = []

    def wait():
        got.append(lockserver.client().execute_command("LOCK", "till", "ben", "PX", 30_000, "WAIT", 60_000))

    ben = threading.Thread(target=wait)
    ben.start()
    while shop.info("clients")["blocked_clients"] == 0:
        pass
    lockserver.advance(29.999)
    assert not got
    lockserver.advance(0.001)
    ben.join()
    assert got[0] > first, "fencing tokens rise"
    assert shop.execute_command("UNLOCK", "till", "ann") is None, "it is ben's"


def test_an_order_that_is_not_paid_goes_back(lockserver):
    shop = lockserver.client()
    lockserver.freeze()
    shop.execute_command("SECKILL.CREATE", "shoe", "STOCK", 1, "HOLD", 900_000)
    assert shop.execute_command("SECKILL", "shoe", "ann", "order-1") == 0
    assert shop.execute_command("SECKILL", "shoe", "ben", "order-2") == 1, "sold out"
    lockserver.advance(15 * 60)
    assert shop.execute_command("SECKILL", "shoe", "ben", "order-2") == 0
    assert shop.execute_command("SECKILL.CONFIRM", "shoe", "ann", "order-1") == 0, "too late"


def test_a_lost_reply_sells_nothing_twice(lockserver):
    shop = lockserver.client(retry=Retry(NoBackoff(), 1))
    shop.execute_command("SECKILL.CREATE", "shoe", "STOCK", 5, "HOLD", 900_000)
    with lockserver.fault("DROPAFTER", "MATCH", "SECKILL", "TIMES", 1):
        assert shop.execute_command("SECKILL", "shoe", "ann", "order-1") == 0
    assert shop.get("seckill:stock:shoe") == "4"


def test_a_session_lives_as_long_as_it_is_used(lockserver):
    shop = lockserver.client()
    lockserver.freeze()
    shop.hset("session:1", "user", "ann")
    shop.expire("session:1", 1800)
    lockserver.advance(1799)
    shop.expire("session:1", 1800)  # the next request
    lockserver.advance(1799)
    assert shop.hget("session:1", "user") == "ann"
    lockserver.advance(1.001)  # a key lives through the millisecond of its deadline
    assert not shop.exists("session:1")


def test_a_fault_that_never_strikes_fails(lockserver):
    with pytest.raises(AssertionError, match="never struck"), lockserver.fault("CLOSE", "MATCH", "GET"):
        lockserver.client().ping()
    with lockserver.fault("ERROR", "OOM it is full"), pytest.raises(redis.exceptions.OutOfMemoryError):
        lockserver.client().set("a", 1)


def sells(command, sold):
    """A shop with ten buyers that sends again what was not answered."""

    def program(server):
        shop = server.client(retry=Retry(NoBackoff(), 3))
        for buyer in range(10):
            shop.execute_command(*command, *([buyer] if command[0] == "SADD" else []))
        assert int(shop.execute_command(*sold)) == 10, "ten were bought"

    return program


def test_chaos_finds_a_retry_without_an_id(lockserver):
    with pytest.raises(AssertionError, match=r"LOCKSERVER_CHAOS_SEED=\d+; struck: .*incr#\d+:dropafter"):
        lockserver.chaos(sells(["INCR", "sold"], ["GET", "sold"]), kinds="dropafter,dropbefore")
    lockserver.chaos(sells(["SADD", "orders"], ["SCARD", "orders"]), kinds="dropafter,dropbefore")
