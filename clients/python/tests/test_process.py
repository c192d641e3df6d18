"""Processes: forks, Celery's prefork, gevent, and the scenarios of python-redis-lock."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import lockserver as package
from conftest import free
from server import PATIENCE, Server, eventually


def python(code, *args, **environment):
    """Runs code in an interpreter of its own, and returns what it printed."""
    result = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code), *map(str, args)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, universal_newlines=True, timeout=PATIENCE,
                            env={**os.environ, **environment})
    assert result.returncode == 0, result.stdout
    return result.stdout.split()


def test_a_fork_has_owners_of_its_own(lockserver):
    said = python("""
        import os, sys, lockserver
        locks = lockserver.Locks.from_url(sys.argv[1], name="fork", timeout=60)
        held = locks.lock("k").acquire()
        task = locks.task()
        task.lock("t").acquire().release()
        child = os.fork()
        if child == 0:
            try:
                try:
                    held.release()
                except lockserver.LockReleased:
                    print("not-the-childs", flush=True)
                try:
                    locks.lock("k", wait=0).acquire()
                except lockserver.NotAcquired:
                    print("held-by-the-parent", flush=True)
                with locks.lock("other") as own, task.lock("t") as again:
                    assert own.owner.rsplit(b":", 1)[0] == again.owner.rsplit(b":", 1)[0]
                    assert own.owner.rsplit(b":", 1)[0] != held.owner.rsplit(b":", 1)[0]
                locks.close()
                print("done", flush=True)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        held.guard("SET", "x", "1")
        held.release()
        locks.close()
        print("parent-done")
    """, lockserver.url)
    assert said == ["not-the-childs", "held-by-the-parent", "done", "parent-done"]


def test_a_connection_imports_nothing_in_the_background(lockserver):
    """A child that was forked while a thread imports a module could not import it any more."""
    said = python("""
        import sys, lockserver
        locks = lockserver.Locks.from_url(sys.argv[1])
        before = set(sys.modules)
        with locks.lock("k") as held:
            held.guard("SET", "x", "1")
        locks.close()
        print("imported", *sorted(set(sys.modules) - before))
    """, lockserver.url)
    assert said == ["imported"]


def test_many_forks_while_others_use_the_client(lockserver):
    said = python("""
        import os, sys, threading, lockserver
        locks = lockserver.Locks.from_url(sys.argv[1], name="fork", timeout=60)
        over, failed = threading.Event(), 0

        def work(number):
            while not over.is_set():
                with locks.lock("k%d" % (number % 2)):
                    locks.execute("INCR", "n")

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    with locks.lock("child"):
                        locks.execute("INCR", "children")
                    locks.close()
                    code = 0
                except BaseException:
                    import traceback
                    traceback.print_exc()
                    sys.stderr.flush()
                finally:
                    os._exit(code)
            failed = failed or os.waitpid(child, 0)[1]
            if failed:
                break
        over.set()
        for thread in threads:
            thread.join()
        locks.close()
        print("failed" if failed else "done")
    """, lockserver.url)
    assert said == ["done"] and lockserver.control.get("children") == "20"


def test_the_lock_of_a_process_that_died_goes_to_the_waiter(tmp_path):
    """The waiter of another process has it when the lease is over: no timeout was needed, and none was guessed."""
    with Server("--lock-watchdog-timeout", "2000") as server:
        url = f"redis://{server.host}:{server.port}"
        code = """
            import sys, time, lockserver
            held = lockserver.Locks.from_url(sys.argv[1]).lock("k").acquire()
            print("held", flush=True)
            time.sleep(600)
        """
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), url], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"held\n"
        with package.Locks.from_url(url) as locks:
            with pytest.raises(package.NotAcquired):
                locks.lock("k", wait=0).acquire()
            process.send_signal(signal.SIGKILL)
            process.wait()
            locks.lock("k", wait=PATIENCE).acquire().release()
        process.stdout.close()


CELERY = '''
import os, sys
from celery import Celery
import lockserver

app = Celery("app", broker="filesystem://", broker_connection_retry_on_startup=True)
folder = os.environ["CELERY_FOLDER"]
app.conf.broker_transport_options = {"data_folder_in": folder, "data_folder_out": folder}
app.conf.worker_prefetch_multiplier = 1
locks = lockserver.Locks.from_url(os.environ["LOCKS"], name="celery")  # before the workers are forked
locks.connect()


@app.task
@locks.exclusive("account:{0}")
def pay(account, number):
    inside = locks.execute("INCR", "inside:%s" % account)
    locks.execute("SADD", "workers", os.getpid())
    if inside != 1:
        locks.execute("INCR", "twice")
    locks.execute("RPUSH", "order", number)
    locks.execute("DECR", "inside:%s" % account)
    locks.execute("INCR", "done")
'''


def test_celery_prefork(lockserver, tmp_path):
    """Workers that were forked from a process with connections hold one lock at a time, and no more than one each."""
    (tmp_path / "app.py").write_text(CELERY)
    folder = tmp_path / "queue"
    folder.mkdir()
    environment = {**os.environ, "CELERY_FOLDER": str(folder), "LOCKS": lockserver.url, "PYTHONPATH": str(tmp_path)}
    log = (tmp_path / "log").open("w")
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "app", "worker", "-c", "3", "-P", "prefork", "-l", "INFO"],
                              cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        tasks = 30
        code = "import app\nfor n in range(%d): app.pay.delay(7, n)" % tasks
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE)

        def done():
            assert worker.poll() is None, (tmp_path / "log").read_text()
            return int(lockserver.control.get("done") or 0) >= tasks

        eventually(done, "all tasks are done")
        assert lockserver.control.get("twice") is None
        assert sorted(lockserver.control.lrange("order", 0, -1), key=int) == [str(n) for n in range(tasks)]
        assert lockserver.control.scard("workers") >= 1
        eventually(lambda: lockserver.control.execute_command("LOCK.LIST") == [], "nothing is held")
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(PATIENCE)
        log.close()


def test_gevent(lockserver):
    said = python("""
        from gevent import monkey
        monkey.patch_all()
        import gevent, sys, lockserver
        locks = lockserver.Locks.from_url(sys.argv[1], name="gevent")
        inside, most, done = [0], [0], []

        def work(number):
            with locks.lock("k", wait=60) as held:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                held.guard("INCR", "n")
                gevent.sleep(0)
                inside[0] -= 1
            done.append(number)

        first = locks.lock("k").acquire()
        jobs = [gevent.spawn(work, number) for number in range(100)]
        first.release()
        gevent.joinall(jobs, raise_error=True)
        assert most[0] == 1 and len(done) == 100
        locks.close()
        print("done")
    """, lockserver.url)
    assert said == ["done"] and lockserver.control.get("n") == "100"


def test_a_leader_whose_greenlet_is_killed(lockserver):
    """Another one leads at once, while the process lives."""
    said = python("""
        from gevent import monkey
        monkey.patch_all()
        import gevent, gevent.event, sys, lockserver
        locks = lockserver.Locks.from_url(sys.argv[1], name="gevent")
        leads = gevent.event.Event()

        def lead(held):
            leads.set()
            gevent.event.Event().wait()

        first = gevent.spawn(locks.campaign, "leader", lead)
        leads.wait()
        first.kill()
        print(locks.campaign("leader", lambda held: "leads"))
        locks.close()
    """, lockserver.url)
    assert said == ["leads"]


def test_a_hundred_threads(lockserver):
    locks = lockserver.locks()
    inside, most = [0], [0]

    def work():
        for _ in range(5):
            with locks.lock("k", wait=PATIENCE):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert most[0] == 1
    free(lockserver.control, "k")
