"""redis-cli as a person uses it: hints, completion, help, transactions, subscriptions, a server that comes back."""

import pytest

from server import Server
from terminal import Terminal


@pytest.fixture
def terminal(server):
    with Terminal(server) as t:
        yield t


def test_replies(terminal):
    assert terminal.run("SET k 'two words'") == "OK\n"
    assert terminal.run("GET k") == '"two words"\n'
    assert terminal.run("GET absent") == "(nil)\n"
    assert terminal.run("RPUSH list a b") == "(integer) 2\n"
    assert terminal.run("INCR list").startswith("(error) WRONGTYPE ")
    assert terminal.run("EVAL 'return {1, {2, ARGV[1]}}' 0 x") == '1) (integer) 1\n2) 1) (integer) 2\n   2) "x"\n'
    assert terminal.run("DEL list k") == "(integer) 2\n"


def test_hints(terminal):
    """The grammar of a command is shown while it is typed, as the server describes it."""
    terminal.type("GETRANGE ")
    terminal.expect("key start end")
    terminal.clear()
    terminal.type("CLIENT SETNAME ")
    terminal.expect("connection-name")
    terminal.clear()


def test_completion(terminal):
    terminal.type("GETRA\t")
    terminal.expect("GETRANGE")
    terminal.clear()
    terminal.type("XGROUP CREATEC\t")
    terminal.expect("XGROUP CREATECONSUMER")
    terminal.clear()


def test_help(terminal):
    shown = terminal.run("HELP GETRANGE")
    assert "GETRANGE key start end" in shown
    assert "since: 2.4.0" in shown and "group: string" in shown
    assert "GETRANGE" in terminal.run("HELP @string")


def test_transaction_and_databases(terminal):
    start = terminal.prompt
    terminal.type("MULTI\r")
    terminal.expect("OK")
    terminal.prompt = start[:-2] + "(TX)> "
    terminal.expect(terminal.prompt)
    assert terminal.run("INCR n") == "QUEUED\n"
    terminal.type("EXEC\r")
    terminal.expect("1) (integer) 1")
    terminal.prompt = start
    terminal.expect(start)
    terminal.prompt = start[:-2] + "[7]> "
    assert terminal.run("SELECT 7") == "OK\n"
    assert terminal.run("DBSIZE") == "(integer) 0\n"


def test_protocol_3_and_pushes(server):
    """In protocol 3 a message is shown above the line that is being typed."""
    with Terminal(server) as first, Terminal(server) as second:
        assert "1# \"server\"" in first.run("HELLO 3")
        first.type("SUBSCRIBE news\r")
        first.expect("1) \"subscribe\"")
        assert second.run("PUBLISH news hello") == "(integer) 1\n"
        first.expect('"hello"')


def test_reconnects():
    with Server() as server, Terminal(server) as terminal:
        assert terminal.run("SET k v") == "OK\n"
        server.restart()
        terminal.type("GET k\r")
        terminal.expect("not connected> ")  # it has lost the connection by the time it is used
        assert terminal.run("GET k").endswith('"v"\n')
