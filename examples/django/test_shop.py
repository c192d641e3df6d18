"""The shop with a server in test mode: many requests at a time, errors, and a holder that comes late."""

import importlib
from concurrent.futures import ThreadPoolExecutor

import pytest

import lockserver as package

PATIENCE = 90  # seconds, on a busy machine


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """The program, with a database of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE", str(tmp_path_factory.mktemp("shop") / "shop.db"))
        yield importlib.import_module("shop")


@pytest.fixture
def bills(shop, lockserver, monkeypatch):
    """Makes three bills, and has the program use the test's server."""
    from django.db import connection
    locks = lockserver.locks()
    monkeypatch.setattr(shop, "locks", locks)
    with connection.schema_editor() as editor:
        editor.create_model(shop.Bill)
    shop.Bill.objects.bulk_create([shop.Bill(id=number) for number in (1, 2, 3)])
    yield shop.Bill.objects
    with connection.schema_editor() as editor:
        editor.delete_model(shop.Bill)
    connection.close()


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
    assert [bill.payments for bill in bills.order_by("id")] == [1, 0, 0]
    assert bills.get(id=1).fence > 0


def test_errors_are_statuses(shop, bills, lockserver, monkeypatch):
    monkeypatch.setattr(shop, "WAIT", 0)
    other = lockserver.locks()
    with other.lock("bill:1"):
        assert pay(1).status_code == 409
    assert pay(4).status_code == 404
    assert bills.filter(payments__gt=0).count() == 0


def test_a_holder_that_comes_late(shop, bills, lockserver):
    """A later holder has used the row: what the former one wants to write is rolled back."""
    from django.db import connection, transaction
    with lockserver.locks().lock("later") as held, transaction.atomic():
        package.fence(connection, "bills", 2, held.token + 1_000_000)
    assert pay(2).status_code == 503
    assert bills.get(id=2).payments == 0
