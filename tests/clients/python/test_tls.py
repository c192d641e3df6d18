"""redis-py over TLS, to a server that asks clients for a certificate and to one that does not."""

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from server import PATIENCE, Server, eventually


@pytest.fixture(scope="module", params=["no", "yes"], ids="tls-auth-clients {}".format)
def secure(request):
    with Server(secure=request.param) as s:
        yield s


def client(server, protocol, certificate="client", **options):
    """A client that trusts the server's authority; it shows a certificate if the server asks for one."""
    folder = server.certificates
    if server.secure == "yes" and certificate:
        options = {"ssl_certfile": folder / f"{certificate}.crt", "ssl_keyfile": folder / f"{certificate}.key", **options}
    return redis.Redis(host="localhost", port=server.port, protocol=protocol, decode_responses=True, socket_timeout=PATIENCE,
                       ssl=True, **{"ssl_ca_certs": folder / "ca.crt", **options})


def test_tls(secure, protocol):
    with client(secure, protocol, retry=Retry(ConstantBackoff(0.02), 500)) as r:
        r.flushall()
        with r.lock("door", timeout=60):
            assert not r.lock("door").acquire(blocking=False)
        double = r.register_script("return redis.call('incrby', KEYS[1], ARGV[1]) * 2")
        assert double(keys=["n"], args=[21]) == 42
        r.set("big", "x" * 1_000_000)
        assert len(r.get("big")) == 1_000_000
        with r.pubsub() as p:
            p.subscribe("news")
            assert p.get_message(timeout=PATIENCE)["type"] == "subscribe"
            assert r.publish("news", "hello") == 1
            assert p.get_message(timeout=PATIENCE)["data"] == "hello"
        r.xgroup_create("orders", "workers", id="0", mkstream=True)
        id_ = r.xadd("orders", {"order": 1})
        assert id_ in str(r.xreadgroup("workers", "ann", {"orders": ">"}, block=PATIENCE * 500))
        assert r.xack("orders", "workers", id_) == 1
        secure.replace()
        assert r.set("k", "v") and r.get("k") == "v", "connected again"


def refused(**how):
    with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
        with client(**how, retry=None) as r:
            r.ping()


def test_who_is_refused(secure, protocol):
    refused(server=secure, protocol=protocol, ssl_ca_certs=secure.certificates / "other.crt")  # the client refuses
    if secure.secure == "yes":
        refused(server=secure, protocol=protocol, certificate=None)
        refused(server=secure, protocol=protocol, certificate="stranger")
    with client(secure, protocol) as r:
        eventually(r.ping, "others are served")
