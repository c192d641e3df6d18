"""The shop with a server in test mode, with workers of which one is killed, and with a group that loses its leader."""

import os
import pathlib
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

import lockserver as package
from shop import create_app
from tables import Base, Bill

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "clients" / "python"))

from fleet import Fleet  # noqa: E402
from server import PATIENCE, eventually  # noqa: E402

BILLS = 12


@pytest.fixture
def path(tmp_path):
    """A database with some bills."""
    path = tmp_path / "shop.db"
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        session.add_all([Bill(id=number) for number in range(1, BILLS + 1)])
    engine.dispose()
    return path


def read(path, column):
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        found = [value for value, in connection.execute(sqlalchemy.text(f"SELECT {column} FROM bills ORDER BY id"))]
    engine.dispose()
    return found


def pay(client, number):
    return client.post(f"/bills/{number}/payments")


def test_a_bill_is_paid_once(lockserver, path):
    with TestClient(create_app(lockserver.url, f"sqlite+aiosqlite:///{path}?timeout={PATIENCE}", wait=PATIENCE)) as client:
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: pay(client, 1), range(20)))
        assert [answer.status_code for answer in answers] == [200] * 20
        assert sorted(answer.json()["outcome"] for answer in answers) == ["paid"] + ["paid already"] * 19
        assert read(path, "payments") == [1] + [0] * (BILLS - 1)
        assert pay(client, BILLS + 1).status_code == 404


def test_errors_are_statuses(lockserver, path):
    with TestClient(create_app(lockserver.url, f"sqlite+aiosqlite:///{path}", wait=0)) as client:
        other = lockserver.locks()
        with other.lock("bill:1"):
            assert pay(client, 1).status_code == 409
        with other.lock("later") as held:  # a later holder has used the row
            engine = sqlalchemy.create_engine(f"sqlite:///{path}")
            with engine.begin() as connection:
                package.fence(connection, "bills", 2, held.token + 1_000_000)
            engine.dispose()
        assert pay(client, 2).status_code == 503
        assert read(path, "payments") == [0] * BILLS


#: The jobs, of which one process ends before its first commit, as by the system's memory killer.
DYING = """
import os
from sqlalchemy import event
from jobs import engine, jobs, locks

@event.listens_for(engine, "commit")
def die(_):
    if locks.execute("SET", "died", 1, "NX"):
        os.kill(os.getpid(), 9)
"""


def test_a_bill_is_printed_once(lockserver, path, tmp_path):
    """Each task is sent three times, to two workers, and a process of a worker is killed inside of its transaction."""
    folder = pathlib.Path(__file__).parent
    environment = {**os.environ, "LOCKS": lockserver.url, "JOBS_DATABASE": f"sqlite:///{path}?timeout={PATIENCE}",
                   "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "dying.py").write_text(DYING)
    log = (tmp_path / "log").open("w")
    words = [sys.executable, "-m", "celery", "-A", "dying", "worker", "-P", "prefork", "-c", "2", "-l", "INFO"]
    workers = [subprocess.Popen([*words, "-n", name], cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT) for name in ("a", "b")]
    try:
        send = f"import jobs\nfor n in range(1, {BILLS + 1}):\n    for _ in range(3): jobs.print_bill.delay(n)"
        subprocess.run([sys.executable, "-c", send], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE)

        def done():
            assert all(worker.poll() is None for worker in workers), (tmp_path / "log").read_text()
            text = (tmp_path / "log").read_text()
            return text.count("succeeded in") >= 3 * BILLS

        eventually(done, "all tasks are done")
        assert lockserver.control.get("died") == "1", "a process was killed"
        assert read(path, "prints") == [1] * BILLS
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait(PATIENCE)
        log.close()


def test_a_group_that_loses_its_leader(path):
    """Clients send a request again until it is answered with 200. Each bill is paid once all the same."""
    with Fleet("lock-watchdog-timeout 30000", group="cluster") as fleet:
        urls = [f"redis://{host}:{port}" for host, port in fleet.nodes]
        with TestClient(create_app(urls, f"sqlite+aiosqlite:///{path}?timeout={PATIENCE}", wait=PATIENCE)) as client:
            def settle(number):
                return eventually(lambda: (answer := pay(client, number)).status_code == 200 and answer.json()["outcome"], f"bill {number}")

            with ThreadPoolExecutor(8) as pool:
                for event, bills in (("kill", range(1, 7)), ("plan", range(7, BILLS + 1))):
                    settling = [pool.submit(settle, number) for number in bills for _ in range(3)]
                    fleet(event)
                    outcomes = [it.result(2 * PATIENCE) for it in settling]
                    assert set(outcomes) <= {"paid", "paid already"}
                    assert pay(client, bills[0]).json() == {"outcome": "paid already"}, "with the next leader"
                    fleet("mend")
        assert read(path, "payments") == [1] * BILLS
        assert min(read(path, "fence")) > 0
