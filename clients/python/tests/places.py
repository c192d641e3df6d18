"""The databases of the tests, and how each library of Python reaches them."""

import contextlib
import sqlite3

import databases
from test_sql import DATABASES


class Place:
    """A database, and how each library reaches it."""

    def __init__(self, name, connect, django, url, asynchronous):
        self.name, self.connect, self.django, self.url, self.asynchronous = name, connect, django, url, asynchronous

    def run(self, *statements):
        """Carries out statements, and returns the rows of the last one."""
        with contextlib.closing(self.connect()) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            rows = cursor.fetchall() if statements[-1].startswith("SELECT") else None
            connection.commit()
            return rows

    @property
    def fences(self):
        return [fence for fence, in self.run("SELECT fence FROM prices ORDER BY id")]

    @property
    def entries(self):
        return [entry for entry, in self.run("SELECT entry FROM lockserver_entries ORDER BY entry")]


@contextlib.contextmanager
def places(folder):
    """Starts the databases, and yields their places by name."""
    with contextlib.ExitStack() as stack:
        path = str(folder / "db")
        found = {"sqlite": Place("sqlite", lambda: sqlite3.connect(path), {"ENGINE": "django.db.backends.sqlite3", "NAME": path},
                                 f"sqlite:///{path}", [f"sqlite+aiosqlite:///{path}"])}
        if databases.postgres in DATABASES:
            connect = stack.enter_context(databases.postgres())
            rest = f"://postgres@/postgres?host={connect.folder}"
            settings = {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": "postgres", "HOST": connect.folder}
            found["postgres"] = Place("postgres", connect, settings, "postgresql+psycopg" + rest,
                                      ["postgresql+psycopg" + rest, "postgresql+asyncpg" + rest])
        if databases.mariadb in DATABASES:
            import pymysql
            pymysql.install_as_MySQLdb()  # which Django imports
            connect = stack.enter_context(databases.mariadb())
            rest = f"://root@localhost/mysql?unix_socket={connect.folder}/socket"
            settings = {"ENGINE": "django.db.backends.mysql", "NAME": "mysql", "USER": "root", "HOST": f"{connect.folder}/socket"}
            found["mariadb"] = Place("mariadb", connect, settings, "mysql+pymysql" + rest, ["mysql+aiomysql" + rest, "mysql+asyncmy" + rest, "mariadb+aiomysql" + rest])
        yield found
