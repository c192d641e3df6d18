"""PostgreSQL and MariaDB for a test: processes of Debian's packages, with folders of their own.

As a program it starts both for another one, with their addresses in POSTGRES and MYSQL: databases.py command words...
"""

import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "clients", "python"))

from server import eventually  # noqa: E402


def _program(*patterns):
    for pattern in patterns:
        found = sorted(glob.glob(pattern)) or [shutil.which(pattern)]
        if found[-1]:
            return found[-1]
    raise FileNotFoundError(f"{patterns[0]} is missing: install postgresql, mariadb-server-core and mariadb-client-core")


@contextlib.contextmanager
def _folder(user):
    with tempfile.TemporaryDirectory(prefix="fence-") as folder:
        if user:
            shutil.chown(folder, user)
        yield folder


@contextlib.contextmanager
def _running(words, log):
    with open(log, "w") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _connected(connect, process, log):
    """Returns a first connection as soon as there is one."""

    def attempt():
        assert process.poll() is None, open(log).read()
        try:
            return connect()
        except Exception:
            return None

    return eventually(attempt, "the database is ready")


@contextlib.contextmanager
def postgres():
    """Yields what connects to a PostgreSQL. It does not run as root, so root runs it as the user postgres."""
    import psycopg
    initdb, server = _program("/usr/lib/postgresql/*/bin/initdb", "initdb"), _program("/usr/lib/postgresql/*/bin/postgres", "postgres")
    user = "postgres" if os.getuid() == 0 else None
    become = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"] if user else []
    with _folder(user) as folder:
        subprocess.run([*become, initdb, "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "--no-sync"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        words = [*become, server, "-D", f"{folder}/data", "-k", folder, "-c", "listen_addresses="]
        with _running(words, f"{folder}/log") as process:
            def connect():
                return psycopg.connect(host=folder, user="postgres", dbname="postgres")

            connect.url = f"postgresql://postgres@/postgres?host={folder}"
            connect.folder = folder
            _connected(connect, process, f"{folder}/log").close()
            yield connect


@contextlib.contextmanager
def mariadb():
    """Yields what connects to a MariaDB."""
    import pymysql
    install, server = _program("mariadb-install-db"), _program("mariadbd", "/usr/sbin/mariadbd")
    with _folder(None) as folder:
        options = ["--no-defaults", f"--datadir={folder}/data", *(["--user=root"] if os.getuid() == 0 else [])]
        subprocess.run([install, *options, "--auth-root-authentication-method=normal", "--skip-test-db"], check=True,
                       stdout=subprocess.DEVNULL)
        words = [server, *options, f"--socket={folder}/socket", "--skip-networking", f"--pid-file={folder}/pid"]
        with _running(words, f"{folder}/log") as process:
            def connect():
                return pymysql.connect(unix_socket=f"{folder}/socket", user="root", database="mysql")

            connect.url = f"mysql://root@localhost/mysql?socketPath={urllib.parse.quote(folder)}/socket"
            connect.folder = folder
            _connected(connect, process, f"{folder}/log").close()
            yield connect


def main(words):
    """Runs a command with both databases, and returns its status."""
    with postgres() as one, mariadb() as other:
        return subprocess.run(words, env={**os.environ, "POSTGRES": one.url, "MYSQL": other.url}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
