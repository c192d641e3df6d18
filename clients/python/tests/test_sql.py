"""The fence for SQL, on SQLite always, and with DATABASES=all on PostgreSQL and MariaDB (make clients-python-sql)."""

import contextlib
import os
import sqlite3
import threading

import pytest

import databases
import lockserver as package

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
