"""The shop with a server in test mode: many requests at a time, errors, and a holder that comes late; and with a group that
loses its leader."""

import importlib
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import lockserver as package

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "clients" / "python"))

from fleet import Fleet  # noqa: E402
from server import PATIENCE, eventually  # noqa: E402

BILLS = 12


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The program, with a database of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE", str(tmp_path_factory.mktemp("shop") / "shop.db"))
        yield importlib.import_module("shop")


@pytest.fixture
def table(shop):
    """Makes the table of bills, with twelve of them."""
    from django.db import connection
    with connection.schema_editor() as editor:
        editor.create_model(shop.Bill)
    shop.Bill.objects.bulk_create([shop.Bill(id=number) for number in range(1, BILLS + 1)])
    yield shop.Bill.objects
    with connection.schema_editor() as editor:
        editor.delete_model(shop.Bill)
    connection.close()


@pytest.fixture
def bills(shop, table, lockserver, monkeypatch):
    """The bills, of a program that uses the test's server."""
    monkeypatch.setattr(shop, "locks", lockserver.locks())
    return table


def pay(number):
    from django.db import connections
    from django.test import Client
    try:
        return Client(raise_request_exception=False).post(f"/bills/{number}/payments")
    finally:
        connections.close_all()  # that of this thread


def test_a_bill_is_paid_once(shop, bills, monkeypatch):
    monkeypatch.setattr(shop, "WAIT", PATIENCE)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(pay, [1] * 20))
    assert [answer.status_code for answer in answers] == [200] * 20
    assert sorted(answer.json()["outcome"] for answer in answers) == ["paid"] + ["paid already"] * 19
    assert [bill.payments for bill in bills.order_by("id")] == [1] + [0] * (BILLS - 1)
    assert bills.get(id=1).fence > 0


def test_errors_are_statuses(shop, bills, lockserver, monkeypatch):
    monkeypatch.setattr(shop, "WAIT", 0)
    other = lockserver.locks()
    with other.lock("bill:1"):
        assert pay(1).status_code == 409
    assert pay(BILLS + 1).status_code == 404
    assert bills.filter(payments__gt=0).count() == 0


def test_a_holder_that_comes_late(shop, bills, lockserver):
    """A later holder has used the row: what the former one wants to write is rolled back."""
    from django.db import connection, transaction
    with lockserver.locks().lock("later") as held, transaction.atomic():
        package.fence(connection, "bills", 2, held.token + 1_000_000)
    assert pay(2).status_code == 503
    assert bills.get(id=2).payments == 0


def test_a_group_that_loses_its_leader(shop, table, monkeypatch):
    """Clients send a request again until it is answered with 200. Each bill is paid once all the same."""
    monkeypatch.setattr(shop, "WAIT", PATIENCE)
    with Fleet("lock-watchdog-timeout 30000", group="cluster") as fleet:
        urls = [f"redis://{host}:{port}" for host, port in fleet.nodes]
        with package.Locks.from_url(urls, name="shop") as locks:
            monkeypatch.setattr(shop, "locks", locks)

            def settle(number):
                return eventually(lambda: (answer := pay(number)).status_code == 200 and answer.json()["outcome"], f"bill {number}")

            with ThreadPoolExecutor(8) as pool:
                for event, numbers in (("kill", range(1, 7)), ("plan", range(7, BILLS + 1))):
                    settling = [pool.submit(settle, number) for number in numbers for _ in range(3)]
                    fleet(event)
                    outcomes = [it.result(2 * PATIENCE) for it in settling]
                    assert set(outcomes) <= {"paid", "paid already"}
                    assert pay(numbers[0]).json() == {"outcome": "paid already"}, "with the next leader"
                    fleet("mend")
        assert [bill.payments for bill in table.order_by("id")] == [1] * BILLS
        assert min(bill.fence for bill in table.all()) > 0
