"""The native commands in redis-cli: hints, completion and help come from the server, which knows them."""

from server import Server
from terminal import Terminal
from conftest import run


def test_hints_and_completion(server):
    with Terminal(server) as terminal:
        terminal.type("LOCK ")
        terminal.expect("key owner [SHARED] [PX milliseconds|EX seconds] [WAIT milliseconds [PRIORITY priority] [NOTIFY]] [ONCE]")
        terminal.clear()
        terminal.type("LOCK door alice ")
        terminal.expect("[PX milliseconds|EX seconds] [WAIT milliseconds [PRIORITY priority] [NOTIFY]]")
        terminal.clear()
        terminal.type("SECK\t")
        terminal.expect("SECKILL")
        terminal.clear()
        terminal.type("SECKILL ")
        terminal.expect("voucher user order")
        terminal.clear()
        assert "UNLOCK key owner [SHARED] [TOKEN token]" in terminal.run("HELP UNLOCK")


def test_waiting(server):
    """One terminal waits for a lock until the other one lets go."""
    with Terminal(server) as alice, Terminal(server) as bob:
        token = int(alice.run("LOCK door alice").split()[1])
        assert bob.run("LOCK door bob") == "(nil)\n"
        bob.type("LOCK door bob WAIT 0\r")
        while "bob" not in alice.run("LOCK.INFO door").split("waiters")[1]:
            pass
        assert alice.run(f"UNLOCK door alice TOKEN {token}") == "(integer) 1\n"
        bob.expect("(integer) ")
        assert int(bob.expect("\n")) > token


def test_replica_snapshot(server):
    """--rdb asks to become a replica. There are none yet, so it has to fail and say so, and not to hang."""
    assert "SYNC" in run("redis-cli", server, "--rdb", str(server.dir / "copy.rdb"), ok=False)
