"""redis-benchmark: its full default run and the options that change what it sends. Rates are printed, not judged."""

import csv
import re

from conftest import run

# The tests of a run without -t, as redis-benchmark 7.0 names them.
DEFAULT = ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "LPUSH", "RPUSH", "LPOP", "RPOP", "SADD", "HSET", "SPOP", "ZADD",
           "ZPOPMIN", "LPUSH (needed to benchmark LRANGE)", "LRANGE_100 (first 100 elements)", "LRANGE_300 (first 300 elements)",
           "LRANGE_500 (first 500 elements)", "LRANGE_600 (first 600 elements)", "MSET (10 keys)"]


def rates(out):
    """Requests a second of each test of a run with --csv, by name."""
    assert "ERR" not in out and "rror" not in out, out
    head, *rows = csv.reader(line for line in out.splitlines() if line.startswith('"'))
    assert head[:2] == ["test", "rps"]
    return {row[0]: float(row[1]) for row in rows}


def check(server, *args, want):
    got = rates(run("redis-benchmark", server, "--csv", *args))
    assert list(got) == want
    assert all(rate > 0 for rate in got.values()), got
    print(" ".join(args) or "default run", {name: round(rate) for name, rate in got.items()})


def test_default_run(server):
    check(server, "-n", "1000", want=DEFAULT)


def test_pipelined_keyspace(server):
    check(server, "-n", "5000", "-P", "16", "-r", "1000", "-d", "100", want=DEFAULT)


def test_threads(server):
    check(server, "-n", "2000", "--threads", "2", "-c", "20", "-t", "set,get,incr,mset", want=["SET", "GET", "INCR", "MSET (10 keys)"])


def test_protocol_3(server):
    check(server, "-n", "1000", "-3", "-t", "ping,hset,zadd,zpopmin,lrange", want=[
        name for name in DEFAULT if name.split("_")[0] in ("PING", "HSET", "ZADD", "ZPOPMIN", "LRANGE") or name.startswith("LPUSH (")])


def test_tracking(server):
    check(server, "-n", "1000", "-t", "get,set", "-r", "100", "--enable-tracking", "-3", want=["SET", "GET"])


def test_new_connection_each_time(server):
    check(server, "-n", "500", "-k", "0", "-t", "ping_mbulk,get", want=["PING_MBULK", "GET"])


def test_own_command(server):
    out = run("redis-benchmark", server, "-n", "500", "-q", "EVAL", "return redis.call('incr', KEYS[1])", "1", "counter")
    assert re.search(r"[\d.]+ requests per second", out.split("\r")[-1]) and "rror" not in out, out
    assert run("redis-cli", server, "GET", "counter") == "500\n"


def test_latency_report(server):
    out = run("redis-benchmark", server, "-n", "500", "-t", "get")
    assert "latency summary (msec)" in out and "throughput summary" in out
