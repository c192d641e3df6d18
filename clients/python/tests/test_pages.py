"""The code of the README and of the pages of docs/, which is taken from them and run. No block is left out.

The pages for Django and SQLAlchemy run on SQLite always, and with DATABASES=all on PostgreSQL and MariaDB.
"""

import ast
import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import types

import pytest
import redis

import lockserver as package
from conftest import ROOT, Loop
from server import PATIENCE, eventually
from test_sql import DATABASES, ENTRIES

HERE = ROOT / "clients" / "python"
DJANGO, SQLALCHEMY = "docs/DJANGO.md", "docs/SQLALCHEMY.md"


def blocks(page, language="python"):
    """Returns the blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (HERE / page).read_text(), re.DOTALL | re.MULTILINE)


def run(text, names, **instead):
    """Runs code, which may await, with names that it finds. instead: what stands in place of addresses in it."""
    for old, new in instead.items():
        assert old in text, old
        text = text.replace(old, new)
    code = compile(text, "a page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)  # a coroutine, if there is an await
    if asyncio.iscoroutine(result):
        asyncio.run(asyncio.wait_for(result, PATIENCE))
    return names


def test_every_page_is_run():
    assert sorted(str(path.relative_to(HERE)) for path in HERE.glob("docs/*.md")) == [DJANGO, SQLALCHEMY]


# The README.


def of_redis_py(text, lockserver, **_):
    paid = []
    run(text, {"pay": lambda: paid.append(lockserver.control.exists("bill:42"))}, **{"redis.Redis()": f"redis.Redis(port={lockserver.port})"})
    assert paid == [1]


def of_installing(text, lockserver, capsys, **_):
    run(text, {}, **{"redis://127.0.0.1:6379": lockserver.url})
    assert re.fullmatch(r"held, with the token \d+\n", capsys.readouterr().out)


def of_locks(text, lockserver, **_):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE bills (id INTEGER PRIMARY KEY, fence BIGINT NOT NULL DEFAULT 0)")
    connection.execute("INSERT INTO bills (id) VALUES (42)")
    names = run(text, {"connection": connection}, **{"redis://localhost": lockserver.url})
    assert lockserver.control.get("bill:42:state") == "paid"
    assert connection.execute("SELECT fence FROM bills").fetchone() == (names["held"].token,)
    assert names["pay"](42) is None and lockserver.control.exists("bill:42") == 0
    names["locks"].close()


def of_asyncio(text, lockserver, **_):
    run(text, {"lockserver": package}, **{"redis://localhost": lockserver.url})
    assert lockserver.control.get("bill:42:state") == "paid"


def of_a_worker(text, lockserver, monkeypatch, tmp_path, **_):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.db") as connection:
        connection.execute(ENTRIES.format("VARCHAR"))
        connection.execute("CREATE TABLE mails (who TEXT)")
    names = {"locks": lockserver.locks(), "sqlite3": sqlite3}
    running = threading.Thread(target=run, args=(text, names), daemon=True)
    running.start()
    lockserver.control.xadd("mails", {"to": "ann"})

    def sent():
        with sqlite3.connect("shop.db") as connection:
            return [who for who, in connection.execute("SELECT who FROM mails")]

    eventually(lambda: sent() == [b"ann"], "the mail is sent")
    names["worker"].stop()
    running.join(PATIENCE)
    assert not running.is_alive() and sent() == [b"ann"]


def of_inspection(text, lockserver, **_):
    locks = lockserver.locks()
    held = locks.lock("k").acquire()
    run(text, {"locks": locks, "held": held})
    eventually(lambda: held.lost, "the loss is known")
    assert held.lost.reason == "forced"


def of_the_rest(text, lockserver, **_):
    import prometheus_client
    from lockserver import metrics, otel
    locks, led = lockserver.locks(), []
    lockserver.control.execute_command("SECKILL.CREATE", "shoe", "STOCK", 1)
    rates = {"per_second": locks.limiter("ann:second", burst=5, count=5, period=1), "per_day": locks.limiter("ann:day", burst=9, count=9, period=86400)}
    run(text, {
        "locks": locks, "lockserver": package, "url": lockserver.url, **rates, "lead": led.append,
        "Prometheus": lambda: metrics.Prometheus(prometheus_client.CollectorRegistry()), "OpenTelemetry": otel.OpenTelemetry,
        "traceparent": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
    })
    assert len(led) == 1 and rates["per_day"].take(0).remaining == 8
    assert lockserver.control.execute_command("SECKILL.INFO", "shoe")["stock"] == 0
    assert locks.delay("mails").count() == 1


def of_pytest(text, lockserver, clock, **_):
    run(text, {"pytest": pytest, "LockLost": package.LockLost})["test_a_lease_ends"](lockserver, clock)


#: What runs each block of the README, in order, with a word of it.
README = [
    ("lock_class=lockserver.Lock", of_redis_py), ("held.guard", of_locks), ("lockserver.AsyncLocks", of_asyncio),
    ("held, with the token", of_installing), ("entry.once", of_a_worker), ("held.remaining", of_inspection),
    ("locks.semaphore", of_the_rest), ("def test_a_lease_ends", of_pytest),
]


@pytest.mark.parametrize("number", range(len(README)), ids=[play.__name__ for _, play in README])
def test_the_readme(number, lockserver, clock, monkeypatch, tmp_path, capsys):
    found = blocks("README.md")
    assert len(found) == len(README)
    word, play = README[number]
    assert word in found[number]
    play(found[number], lockserver=lockserver, clock=clock, monkeypatch=monkeypatch, tmp_path=tmp_path, capsys=capsys)


# The pages.


@pytest.fixture(params=[database.__name__ for database in DATABASES])
def place(request, all_places):
    return all_places[request.param]


def test_sqlalchemy(place, lockserver, background):
    for asynchronous in place.asynchronous:
        place.run("DROP TABLE IF EXISTS bills", "DROP TABLE IF EXISTS lockserver_entries")
        module = types.ModuleType("page")
        sys.modules["page"] = module  # where SQLAlchemy looks up annotations
        try:
            text = "\n\n".join(blocks(SQLALCHEMY))
            names = run(text, module.__dict__, **{"redis://localhost": lockserver.url, '"sqlite:///billing.db"': repr(place.url),
                                                  '"sqlite+aiosqlite:///billing.db"': repr(asynchronous)})
            play_sqlalchemy(place, names, lockserver, background)
        finally:
            del sys.modules["page"]


def play_sqlalchemy(place, names, lockserver, background):
    place.run("INSERT INTO bills (id, payments, fence) VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0)")
    loop = Loop()  # the connections of an engine are for one

    def bills():
        return place.run("SELECT id, payments FROM bills ORDER BY id")

    for call in [background(names["pay"], 1) for _ in range(8)]:
        assert call() == 1
    names["pay_without_orm"](2)
    names["pay_without_orm"](2)
    assert loop.run(names["pay_in_asyncio"], 3) == 1
    assert list(bills()) == [(1, 1), (2, 1), (3, 1)]
    assert place.run("SELECT min(fence) FROM bills")[0][0] > 0
    place.run("UPDATE bills SET fence = 4000000000000000000, payments = 0")  # a later holder was here
    for pay in (names["pay"], names["pay_without_orm"]):
        with pytest.raises(package.StaleFence):
            pay(1)
    with pytest.raises(package.StaleFence):
        loop.run(names["pay_in_asyncio"], 1)
    with pytest.raises(LookupError):
        names["pay"](9)
    assert list(bills()) == [(1, 0), (2, 0), (3, 0)]
    lockserver.control.delete("bills")
    entry = lockserver.control.xadd("bills", {"number": "7"})
    running = background(names["worker"].run)
    eventually(lambda: list(bills())[-1] == (7, 0), "the entry is applied")
    names["worker"].stop()
    running()
    names["handle"](package.Entry("bills", "billing", entry, {b"number": b"7"}, 2))  # it comes again
    assert len(bills()) == 4
    names["locks"].close()
    names["engine"].dispose()
    loop.run(names["async_engine"].dispose)
    loop.close()


#: The settings of a project with the application of the page.
CONFIGURED = """
import json, os
where = json.loads(os.environ["WHERE"])
if where["database"]["ENGINE"].endswith("mysql"):
    import pymysql
    pymysql.install_as_MySQLdb()
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["shop"], DATABASES={"default": {**where["database"], "ATOMIC_REQUESTS": True}}, ROOT_URLCONF="urls", USE_TZ=True,
    MIDDLEWARE=["shop.middleware.locks_as_statuses"], LOCKSERVER_URL=where["locks"], DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ALLOWED_HOSTS=["*"])
django.setup()
"""

PROGRAM = """
import asyncio, sys, threading
from concurrent.futures import ThreadPoolExecutor
from configured import where
from django.core.management import call_command
if sys.argv[1:] == ["first"]:
    call_command("makemigrations", "shop", verbosity=0)
    sys.exit()
call_command("migrate", verbosity=0)

import io
from django.db import connection, connections
from django.test import AsyncClient, Client
import lockserver
from server import PATIENCE, eventually
from shop.locks import locks
from shop.models import Bill, Mail
from shop.management.commands import send_mails

Bill.objects.bulk_create([Bill(id=number) for number in (1, 2, 3)])

def pay(number):
    try:
        return Client(raise_request_exception=False).post(f"/bills/{number}/payments")
    finally:
        connections.close_all()

with ThreadPoolExecutor(8) as pool:
    answers = list(pool.map(pay, [1] * 8))
assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"payments": 1})] * 8, answers
assert asyncio.run(AsyncClient().post("/later/2")).json() == {"payments": 1}
assert pay(9).status_code == 404
assert Bill.objects.get(id=1).fence > 0
Bill.objects.filter(id=3).update(fence=4 * 10 ** 18)  # a later holder was here
assert pay(3).status_code == 503
assert [bill.payments for bill in Bill.objects.order_by("id")] == [1, 1, 0]

def remind():
    out = io.StringIO()
    call_command("remind", stdout=out)
    return out.getvalue()

assert remind() == "1 bills are open\\n"
with lockserver.Locks.from_url(where["locks"]) as other:
    with other.lock("job:remind"):
        assert remind() == "another machine does it\\n"
    with other.lock("bill:1"):
        assert pay(1).status_code == 409  # after its wait

entry = locks.execute("XADD", "mails", "*", "to", "ann")
command = send_mails.Command()
running = threading.Thread(target=command.handle)
running.start()
eventually(Mail.objects.exists, "the mail is sent")
command.worker.stop()
running.join(PATIENCE)
send_mails.handle(lockserver.Entry("mails", "django", entry.decode(), {b"to": b"ann"}, 2))  # it comes again
assert [mail.to for mail in Mail.objects.all()] == ["ann"]
locks.close()
print("all of the page works")
"""

URLS = """
from django.urls import path
from shop import asynchronous, views
urlpatterns = [path("bills/<int:number>/payments", views.pay), path("later/<int:number>", asynchronous.pay_later)]
"""


def test_django(place, lockserver, tmp_path):
    files = {text.split("\n", 1)[0]: text for text in blocks(DJANGO)}
    assert len(files) == len(blocks(DJANGO)) and all(re.fullmatch(r"# [a-z_0-9/]+\.py", name) for name in files), files.keys()
    files = {name[2:]: text for name, text in files.items()}
    for name in ("__init__", "migrations/__init__", "management/__init__", "management/commands/__init__"):
        files[f"shop/{name}.py"] = ""
    files.update({"configured.py": CONFIGURED, "conftest.py": "import configured\n", "program.py": PROGRAM, "urls.py": URLS})
    entries = files.pop("shop/migrations/0002_entries.py")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    place.run(*(f"DROP TABLE IF EXISTS {table}" for table in ("shop_bill", "shop_mail", "lockserver_entries", "django_migrations")))
    settings = {**place.django, **({"OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 60}} if place.name == "sqlite" else {})}
    environment = {**os.environ, "WHERE": json.dumps({"database": settings, "locks": lockserver.url}),
                   "PYTHONPATH": str(ROOT / "tests" / "clients" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}

    def python(*words):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, timeout=4 * PATIENCE)
        assert done.returncode == 0, done.stdout
        return done.stdout

    python("program.py", "first")  # 0001_initial, which Django writes
    (tmp_path / "shop/migrations/0002_entries.py").write_text(entries)
    assert "all of the page works" in python("program.py")
    assert "1 passed" in python("-m", "pytest", "-p", "no:cacheprovider", "test_shop.py")
