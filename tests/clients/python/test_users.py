"""redis-py as a user with a name, who may do less than the others."""

import pytest
import redis

from conftest import ONCE


def test_users(connect):
    connect().execute_command("ACL SETUSER", "ann", "reset", "on", ">secret", "~ann:*", "&ann:*", "+@all", "-@dangerous")
    with pytest.raises(redis.AuthenticationError):
        connect(username="ann", password="wrong", **ONCE).ping()
    ann = connect(username="ann", password="secret", **ONCE)
    assert ann.acl_whoami() == "ann" and ann.set("ann:k", "v")
    for forbidden in (lambda: ann.get("k"), lambda: ann.publish("news", "x"), ann.flushall,
                      lambda: ann.eval("return redis.call('get', KEYS[1])", 1, "k")):
        with pytest.raises(redis.exceptions.NoPermissionError):
            forbidden()
    with ann.pipeline() as p:
        p.set("ann:k", "w").set("k", "w")
        with pytest.raises(redis.exceptions.NoPermissionError):
            p.execute()
    assert ann.get("ann:k") == "v"
    plain = connect(single_connection_client=True)
    assert plain.acl_whoami() == "default" and plain.auth("secret", username="ann") and plain.acl_whoami() == "ann"
    assert connect().acl_deluser("ann") == 1
    with pytest.raises(redis.AuthenticationError):
        ann.get("ann:k")  # its connection was closed, and it cannot come back
