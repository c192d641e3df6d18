"""redis-cli as a user with a name, who may do less than the others."""

from conftest import run


def test_users(cli, server):
    assert cli("ACL", "SETUSER", "ann", "reset", "on", ">secret", "~ann:*", "&ann:*", "+@all", "-@dangerous") == "OK\n"

    def ann(*args, password="secret"):
        return run("redis-cli", server, "--user", "ann", "--pass", password, "--no-auth-warning", *args)

    assert ann("ACL", "WHOAMI") == "ann\n" and ann("-3", "ACL", "WHOAMI") == "ann\n"
    assert "WRONGPASS" in ann("PING", password="wrong")
    assert ann("SET", "ann:k", "v") == "OK\n"
    for words in (["GET", "k"], ["FLUSHALL"], ["PUBLISH", "news", "x"], ["EVAL", "return redis.call('get', KEYS[1])", "1", "k"]):
        assert "NOPERM" in ann(*words), words
    url = f"redis://ann:secret@{server.host}:{server.port}"
    assert run("redis-cli", server, "-u", url, "--no-auth-warning", "GET", "ann:k") == "v\n"
    assert cli("ACL", "DELUSER", "ann") == "1\n"
    assert "WRONGPASS" in ann("PING")
