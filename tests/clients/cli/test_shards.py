"""redis-cli -c, --cluster and redis-benchmark --cluster over three shards in one process."""

import pytest

from conftest import run
from server import IS_REDIS, Server

pytestmark = pytest.mark.skipif(IS_REDIS, reason="shards are lockserver's")


@pytest.fixture(scope="module")
def shards():
    with Server("--shards", "3") as s:
        yield s


def test_it_follows_the_keys(shards):
    for i in range(30):
        token = int(run("redis-cli", shards, "-c", "LOCK", f"door-{i}", "ann", "PX", "600000"))
        assert token > 0
        assert run("redis-cli", shards, "-c", "LOCK", f"door-{i}", "ben") == "\n"
        assert run("redis-cli", shards, "-c", "UNLOCK", f"door-{i}", "ann", "TOKEN", str(token)) == "1\n"
        voucher = "{" + f"door-{i}" + "}"
        assert run("redis-cli", shards, "-c", "SECKILL.CREATE", voucher, "STOCK", "1", "STREAM", f"orders:{voucher}") == "OK\n"
        assert run("redis-cli", shards, "-c", "SECKILL", voucher, "ann", "1") == "0\n"
    told = run("redis-cli", shards, stdin="\n".join(f"GET door-{i}" for i in range(30)))
    assert "MOVED" in told


def test_a_session_goes_from_shard_to_shard(shards):
    said = run("redis-cli", shards, "-c", stdin="\n".join(f"SET value-{i} {i}\nGET value-{i}" for i in range(30)) + "\n")
    assert [line for line in said.splitlines() if line.isdigit()] == [str(i) for i in range(30)]


def test_its_manager_finds_all_slots(shards):
    at = f"127.0.0.1:{shards.port}"
    checked = run("redis-cli", shards, "--cluster", "check", at)
    assert "All 16384 slots covered" in checked
    assert "All nodes agree about slots configuration" in checked
    assert "keys in 3 masters" in run("redis-cli", shards, "--cluster", "info", at)
    called = run("redis-cli", shards, "--cluster", "call", at, "LOCK.LIST")
    assert called.count("127.0.0.1:") == 3


def test_the_benchmark_loads_all_shards(shards):
    run("redis-cli", shards, "FLUSHALL")
    said = run("redis-benchmark", shards, "--cluster", "-n", "3000", "-c", "6", "-r", "1000", "-t", "set", "-q")
    assert "3 master nodes" in said
    called = run("redis-cli", shards, "--cluster", "call", f"127.0.0.1:{shards.port}", "DBSIZE")
    sizes = [line.rsplit(" ", 1)[1] for line in called.splitlines() if line.startswith("127.0.0.1:")]
    assert len(sizes) == 3
    assert "0" not in sizes
