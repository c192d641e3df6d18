"""redis-cli and redis-benchmark over TLS, to a server that asks clients for a certificate and to one that does not."""

import pytest

from conftest import run
from server import Server


@pytest.fixture(scope="module", params=["no", "yes"], ids="tls-auth-clients {}".format)
def secure(request):
    with Server(secure=request.param) as s:
        yield s


def tls(server, certificate="client", authority="ca"):
    """The options with which a tool speaks to a server; it shows a certificate if the server asks for one."""
    folder = server.certificates
    options = ["-h", "localhost", "--tls", "--cacert", str(folder / f"{authority}.crt")]
    if server.secure == "yes" and certificate:
        options += ["--cert", str(folder / f"{certificate}.crt"), "--key", str(folder / f"{certificate}.key")]
    return options


def test_cli(secure):
    def cli(*args, **how):
        return run("redis-cli", secure, *tls(secure), *args, **how)

    assert cli("SET", "lock", "me", "NX", "PX", "60000") == "OK\n"
    assert cli("SET", "lock", "you", "NX", "PX", "60000") == "\n"
    assert cli("EVAL", "return redis.call('del', KEYS[1])", "1", "lock") == "1\n"
    id_ = cli("XADD", "orders", "*", "order", "1").strip()
    assert cli("XRANGE", "orders", "-", "+") == f"{id_}\norder\n1\n"
    assert cli("-3", "--json", "HELLO").startswith("{")
    assert cli("-x", "SET", "big", stdin="x" * 1_000_000) == "OK\n"
    assert cli("STRLEN", "big") == "1000000\n"
    out = cli("--pipe", stdin="".join(f"SET key:{i} {i}\r\n" for i in range(5000)))
    assert "errors: 0, replies: 5000" in out
    assert len(cli("--scan", "--pattern", "key:*").split()) == 5000


def test_benchmark(secure):
    out = run("redis-benchmark", secure, *tls(secure), "-t", "set,get,lpush", "-n", "5000", "-c", "20", "-P", "8", "-q")
    assert out.count("requests per second") == 3, out


def test_who_is_refused(secure):
    others = [tls(secure, authority="other")]  # here the client refuses
    if secure.secure == "yes":
        others += [tls(secure, certificate=None), tls(secure, certificate="stranger")]
    for options in others:
        assert "PONG" not in run("redis-cli", secure, *options, "PING", ok=False)
    assert "PONG" not in run("redis-cli", secure, "-h", "localhost", "PING", ok=False), "without TLS"
    assert run("redis-cli", secure, *tls(secure), "PING") == "PONG\n"
