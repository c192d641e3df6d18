"""The fence for SQL, on SQLite always, and with DATABASES=all on PostgreSQL and MariaDB (make clients-python-sql)."""

import contextlib
import os
import sqlite3
import threading

import pytest

import databases
import lockserver as package

#: The tables of docs/CLIENTS.md.
ENTRIES = ("CREATE TABLE lockserver_entries (stream {0}(255) NOT NULL, worker {0}(255) NOT NULL, entry {0}(64) NOT NULL,"
           " PRIMARY KEY (stream, worker, entry))")
TABLE = "CREATE TABLE prices (id INTEGER PRIMARY KEY, price INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)"


@contextlib.contextmanager
def sqlite():
    """Yields what connects to an SQLite."""
    yield lambda: sqlite3.connect(":memory:")


DATABASES = [sqlite]
if os.environ.get("DATABASES") == "all":
    DATABASES = [sqlite, databases.postgres, databases.mariadb]


@pytest.fixture(scope="module", params=DATABASES, ids=lambda database: database.__name__)
def database(request):
    with request.param() as connect:
        yield connect


@pytest.fixture
def connection(database):
    c = database()
    cursor = c.cursor()
    cursor.execute("DROP TABLE IF EXISTS prices")
    cursor.execute(TABLE)
    cursor.execute("INSERT INTO prices (id, price) VALUES (1, 100), (2, 100)")
    c.commit()
    yield c
    c.rollback()
    cursor.execute("DROP TABLE prices")
    c.commit()
    c.close()


LOW, HIGH = 1795226281904471, 1795226281904472


def test_fence(connection):
    package.fence(connection, "prices", 1, LOW)
    package.fence(connection, "prices", 1, LOW)  # the same holder, again
    package.fence(connection, "prices", 1, HIGH)  # a later holder reads
    connection.commit()
    with pytest.raises(package.StaleFence, match=str(HIGH)):
        package.fence(connection, "prices", 1, LOW)  # the former one comes back
    connection.rollback()
    package.fence(connection, "prices", 1, HIGH)
    package.fence(connection, "prices", 2, LOW)
    with pytest.raises(LookupError):
        package.fence(connection, "prices", 3, LOW)
    for names in ({"table": "prices; DROP TABLE prices"}, {"key": "id = 1 OR id"}, {"column": "fence--"}):
        with pytest.raises(ValueError):
            package.fence(connection, **{"table": "prices", "row": 1, "token": HIGH, **names})
    cursor = connection.cursor()
    cursor.execute("SELECT fence FROM prices ORDER BY id")
    assert [row[0] for row in cursor.fetchall()] == [HIGH, LOW]


def test_a_paused_holder_cannot_write_over_what_its_successor_has_read(connection, lockserver, clock):
    locks = lockserver.locks()
    paused = locks.lock("price:1", lease=10).acquire()
    package.fence(connection, "prices", 1, paused.token)
    connection.commit()
    clock.advance(10)
    with locks.lock("price:1", wait=10) as held:
        package.fence(connection, "prices", 1, held.token)
        connection.commit()  # it has read 100
        with pytest.raises(package.StaleFence):
            package.fence(connection, "prices", 1, paused.token)  # so the former holder does not write 110
        connection.rollback()


def is_mariadb(connection):
    return type(connection).__module__.startswith("pymysql")


@contextlib.contextmanager
def table(connection, definition):
    """Makes the table lockserver_entries, for as long as the block."""
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS lockserver_entries")
    cursor.execute(definition)
    connection.commit()
    yield cursor
    connection.rollback()
    cursor.execute("DROP TABLE lockserver_entries")
    connection.commit()


def once(connection, stream="orders", group="billing", entry="1-0"):
    return package.Entry(stream, group, entry, {}, 1).once(connection)


def test_once(connection):
    with table(connection, ENTRIES.format("VARBINARY" if is_mariadb(connection) else "VARCHAR")) as cursor:
        assert once(connection)
        connection.rollback()
        assert once(connection), "what was rolled back is not applied"
        connection.commit()
        assert not once(connection)
        for other in ({"stream": "Orders"}, {"stream": "orders "}, {"group": "Billing"}, {"entry": "1-1"}, {"stream": "ä" * 127}):
            assert once(connection, **other) and not once(connection, **other), other
        for name in ("s" * 255 + "1", "s" * 255 + "2", "ä" * 128):
            for word in ("stream", "group", "entry"):
                with pytest.raises(ValueError, match="256 bytes"):
                    once(connection, **{word: name})
        with pytest.raises(ValueError, match="65 bytes"):
            once(connection, entry="1" * 65)
        cursor.execute("SELECT count(*) FROM lockserver_entries")
        assert cursor.fetchone()[0] == 6


def test_once_without_the_key(connection):
    """Without the key of the three columns an entry would be applied each time that it comes. MariaDB cannot see that."""
    if not is_mariadb(connection):
        with table(connection, ENTRIES.format("VARCHAR").replace(", PRIMARY KEY (stream, worker, entry)", "")):
            with pytest.raises(Exception, match="ON CONFLICT"):
                once(connection)


@pytest.mark.parametrize("change, first, second", [
    (("(255)", "(8)"), {"stream": "orders:a"}, {"stream": "orders:ab"}),  # INSERT IGNORE cuts what is too long
    (("VARBINARY", "VARCHAR"), {"stream": "orders"}, {"stream": "Orders"}),
    (("VARBINARY", "VARCHAR"), {"group": "billing"}, {"group": "billing "}),
    (("PRIMARY", "UNIQUE (stream), PRIMARY"), {}, {"entry": "1-1"}),  # and it hides what another key of the table forbids
], ids=["short", "case", "blank", "key"])
def test_once_in_a_table_that_takes_two_names_for_one(connection, change, first, second):
    if is_mariadb(connection):
        with table(connection, ENTRIES.format("VARBINARY").replace(*change)):
            assert once(connection, **first) and not once(connection, **first)
            with pytest.raises(package.Error, match="VARBINARY"):
                once(connection, **second)


def test_a_row_of_two_transactions(database, connection):
    """A holder that was paused in a transaction sees the rows as they were: its token is the highest there, and not any more."""
    if isinstance(connection, sqlite3.Connection):
        return  # it has one transaction at a time
    package.fence(connection, "prices", 1, LOW)
    connection.commit()
    paused = database()
    try:
        cursor = paused.cursor()
        cursor.execute(f"SET {'SESSION ' if is_mariadb(paused) else ''}TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT fence FROM prices WHERE id = 1")
        assert cursor.fetchone()[0] == LOW
        package.fence(connection, "prices", 1, HIGH)
        connection.commit()
        with pytest.raises(package.StaleFence if is_mariadb(paused) else Exception, match=str(HIGH) if is_mariadb(paused) else "concurrent"):
            package.fence(paused, "prices", 1, LOW)
    finally:
        paused.close()


def test_an_entry_of_two_transactions(database, connection):
    """A worker that was paused in a transaction does not see that another one has applied the entry, and hears so all the same."""
    if isinstance(connection, sqlite3.Connection):
        return
    with table(connection, ENTRIES.format("VARBINARY" if is_mariadb(connection) else "VARCHAR")):
        paused = database()
        try:
            cursor = paused.cursor()
            cursor.execute(f"SET {'SESSION ' if is_mariadb(paused) else ''}TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM lockserver_entries")
            assert cursor.fetchone()[0] == 0
            assert once(connection)
            connection.commit()
            if is_mariadb(paused):
                assert not once(paused)
            else:
                with pytest.raises(Exception, match="concurrent"):
                    once(paused)
        finally:
            paused.close()


def test_several_rows(connection):
    package.fence(connection, "prices", 1, LOW, key="id")
    with pytest.raises(ValueError, match="no key"):
        package.fence(connection, "prices", 100, HIGH, key="price")


def test_one_of_many_threads(tmp_path):
    """Threads fence one row of a file with tokens of their own: it ends with the highest."""
    path = str(tmp_path / "db")
    with sqlite3.connect(path) as c:
        c.execute(TABLE)
        c.execute("INSERT INTO prices (id, price) VALUES (1, 100)")
    refused = []

    def raise_fence(token):
        with sqlite3.connect(path, timeout=60) as c:
            try:
                package.fence(c, "prices", 1, token)
            except package.StaleFence:
                refused.append(token)

    threads = [threading.Thread(target=raise_fence, args=(token,)) for token in range(1, 21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with sqlite3.connect(path) as c:
        assert c.execute("SELECT fence FROM prices").fetchone() == (20,) and 20 not in refused
