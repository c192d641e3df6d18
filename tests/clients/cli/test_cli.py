"""redis-cli: single commands, formats of replies, scripts, mass insertion and the ways to look at a server."""

import json
import re
import subprocess

import pytest

from server import PATIENCE, Server, eventually
from conftest import run


def test_commands_and_formats(cli):
    assert cli("SET", "k", "v") == "OK\n"
    assert cli("GET", "k") == "v\n"
    assert cli("--no-raw", "GET", "absent") == "(nil)\n"
    assert cli("-x", "SET", "k", stdin="from stdin") == "OK\n"
    assert cli("-X", "tag", "SET", "k", "tag", stdin="by tag") == "OK\n"
    assert cli("GET", "k") == "by tag\n"
    assert cli("RPUSH", "l", "a", 'b"c') == "2\n"
    assert cli("--no-raw", "LRANGE", "l", "0", "-1") == '1) "a"\n2) "b\\"c"\n'
    assert cli("--csv", "LRANGE", "l", "0", "-1") == '"a","b\\"c"\n'
    assert cli("-r", "3", "-i", "0", "INCR", "n") == "1\n2\n3\n"
    assert cli("-n", "5", "DBSIZE") == "0\n"
    assert "WRONGTYPE" in cli("INCR", "l")
    assert "WRONGTYPE" in cli("-e", "INCR", "l", ok=False)
    assert cli(stdin="SET a 1\nINCR a\nGET a\n") == "OK\n2\n2\n"


def test_protocol_3_and_json(cli):
    assert cli("HSET", "h", "f", "v", "g", "w") == "2\n"
    assert cli("-3", "--no-raw", "HGETALL", "h") == '1# "f" => "v"\n2# "g" => "w"\n'
    assert json.loads(cli("-3", "--json", "HGETALL", "h")) == {"f": "v", "g": "w"}
    cli("ZADD", "z", "1.5", "m")
    assert cli("-3", "--no-raw", "ZSCORE", "z", "m") == "(double) 1.5\n"
    assert json.loads(cli("-3", "--json", "ZRANGE", "z", "0", "-1", "WITHSCORES")) == [["m", 1.5]]
    assert json.loads(cli("--json", "CONFIG", "GET", "maxmemory")) == {"maxmemory": "0"}
    cli("SADD", "s", "1")
    assert json.loads(cli("-3", "--json", "SMEMBERS", "s")) == ["1"]
    assert json.loads(cli("-3", "--json", "GET", "absent")) is None
    docs = json.loads(cli("-3", "--json", "COMMAND", "DOCS", "SET"))
    assert docs["set"]["group"] == "string"


def test_authentication():
    with Server("--requirepass", "secret") as server:
        assert "NOAUTH" in run("redis-cli", server, "PING")
        assert run("redis-cli", server, "-a", "secret", "--no-auth-warning", "PING") == "PONG\n"
        assert run("redis-cli", server, "--user", "default", "--pass", "secret", "--no-auth-warning", "PING") == "PONG\n"
        assert "WRONGPASS" in run("redis-cli", server, "-a", "wrong", "--no-auth-warning", "PING")
        url = f"redis://default:secret@{server.host}:{server.port}/3"
        assert run("redis-cli", server, "-u", url, "--no-auth-warning", "CLIENT", "INFO").split(" db=")[1][0] == "3"


def test_scan(cli):
    cli(stdin="".join(f"SET user:{i} {i}\n" for i in range(300)) + "HSET other a b\n")
    assert sorted(cli("--scan", "--pattern", "user:*").split()) == sorted(f"user:{i}" for i in range(300))
    assert len(cli("--scan").split()) == 301
    assert cli("--scan", "--quoted-pattern", '"oth\\x65r"') == "other\n"


def test_eval(cli, tmp_path):
    script = tmp_path / "incr.lua"
    script.write_text("local n = redis.call('INCRBY', KEYS[1], ARGV[1]) return {n, KEYS[2], ARGV[2]}")
    assert cli("--eval", str(script), "n", "k2", ",", "7", "two words") == "7\nk2\ntwo words\n"
    assert cli("EVAL", "return 1 + 1", "0") == "2\n"
    assert json.loads(cli("-3", "--json", "EVAL", "redis.setresp(3) return {map={a=1.5}}", "0")) == {"a": 1}
    assert "user_script:1" in cli("EVAL", "return nosuch()", "0")


def test_pipe(cli, server):
    """Mass insertion: the protocol's own bytes, a million of them, and errors that are counted."""
    def command(*words):
        return f"*{len(words)}\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)

    out = cli("--pipe", stdin="".join(command("SET", f"key:{i}", "x" * 50) for i in range(20_000)))
    assert "errors: 0, replies: 20000" in out
    assert cli("DBSIZE") == "20000\n"
    out = cli("--pipe", stdin="SET a x\r\nINCR a\r\nSET b y\r\n", ok=False)
    assert "errors: 1, replies: 3" in out


@pytest.fixture(scope="module")
def filled(server):
    """Keys of all types, some of them much bigger than the others."""
    lines = [f"SET small:{i} x" for i in range(200)]
    lines += [f"SET str:big {'x' * 5000}", f"RPUSH list:big {' '.join(map(str, range(500)))}",
              f"SADD set:big {' '.join(map(str, range(400)))}", f"HSET hash:big {' '.join(map(str, range(600)))}",
              f"ZADD zset:big {' '.join(map(str, range(200)))}", *["XADD stream:big * a b"] * 50]
    run("redis-cli", server, "FLUSHALL")
    run("redis-cli", server, stdin="\n".join(lines) + "\n")
    return server


@pytest.mark.parametrize("option", ["--bigkeys", "--memkeys"])
def test_big_keys(filled, option):
    out = run("redis-cli", filled, option)
    assert "Sampled 206 keys in the keyspace!" in out
    found = dict(re.findall(r'Biggest +\w+ found \'"([\w:]+)"\' has (\d+ \w+)', out))
    if option == "--bigkeys":
        assert found == {"str:big": "5000 bytes", "list:big": "500 items", "set:big": "400 members", "hash:big": "300 fields",
                         "zset:big": "100 members", "stream:big": "50 entries"}
    else:
        assert set(found) == {"str:big", "list:big", "set:big", "hash:big", "zset:big", "stream:big"}
        assert 5000 < int(found["str:big"].split()[0]) < 20_000


def test_hot_keys(filled):
    assert "maxmemory policy" in run("redis-cli", filled, "--hotkeys", ok=False)
    run("redis-cli", filled, "CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
    run("redis-cli", filled, "-r", "3000", "-i", "0", "GET", "small:7")
    out = run("redis-cli", filled, "--hotkeys")
    counters = dict(re.findall(r'hot key found with counter: (\d+)\tkeyname: "([^"]+)"', out))
    assert max(counters, key=int) and counters[max(counters, key=int)] == "small:7", out
    run("redis-cli", filled, "CONFIG", "SET", "maxmemory-policy", "noeviction")


class Following:
    """A redis-cli that prints until it is told to end."""

    def __init__(self, server, *args):
        # stdbuf: its output is no terminal, and it would keep lines back.
        self.process = subprocess.Popen(["stdbuf", "-oL", "redis-cli", "-p", str(server.port), *args],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def lines(self, n):
        return [self.process.stdout.readline().rstrip("\n") for _ in range(n)]

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def test_stat(server, cli):
    cli("SET", "k", "v")
    stat = Following(server, "--stat", "-i", "0.05")
    head = stat.lines(2)
    assert "keys" in head[1] and "requests" in head[1]
    first, *_, last = [line.split() for line in stat.lines(4)]
    stat.end()
    assert first[0] == "1" and first[1][-1] in "BKMG"
    assert int(last[4]) >= int(first[4]) and last[5].startswith("("), last  # requests, and since the line before


def test_latency(server):
    done = run("redis-cli", server, "--latency", "-i", "1", "--raw")
    least, most, mean, samples = done.split()
    assert 0 <= float(least) <= float(mean) <= float(most) and int(samples) > 5
    history = Following(server, "--latency-history", "-i", "0.2", "--raw")
    try:
        assert len(history.lines(2)[1].split()) >= 4
    finally:
        history.end()


def test_intrinsic_latency():
    """It measures the machine and asks no server."""
    out = subprocess.run(["redis-cli", "-p", "1", "--intrinsic-latency", "1"], capture_output=True, text=True, check=True)
    assert "Max latency so far" in out.stdout


def test_monitor(server, cli):
    monitor = Following(server, "MONITOR")
    assert monitor.lines(1) == ["OK"]
    cli("SET", "secret key", "a\nb")
    line = monitor.lines(1)[0]
    monitor.end()
    assert line.endswith('"SET" "secret key" "a\\nb"'), line
    assert " [0 127.0.0.1:" in line


def test_subscribe(server, cli):
    subscriber = Following(server, "SUBSCRIBE", "news", "sport")
    patterns = Following(server, "-3", "--csv", "PSUBSCRIBE", "n*")
    assert subscriber.lines(6) == ["subscribe", "news", "1", "subscribe", "sport", "2"]
    eventually(lambda: cli("PUBSUB", "NUMPAT") == "1\n", "both subscribe")
    assert cli("PUBLISH", "news", "hello") == "2\n"
    assert subscriber.lines(3) == ["message", "news", "hello"]
    while "hello" not in patterns.lines(1)[0]:
        pass
    subscriber.end()
    patterns.end()


def test_function_library(server, cli, tmp_path):
    library = "#!lua name=lib\nredis.register_function('f', function(k, a) return a[1] end)"
    assert cli("-x", "FUNCTION", "LOAD", "REPLACE", stdin=library) == "lib\n"
    assert cli("FCALL", "f", "0", "x") == "x\n"
    run("redis-cli", server, "FUNCTION", "FLUSH")
