"""What a client does with a server that answers, for threads and for asyncio."""

import time

import pytest

import lockserver as package
from conftest import free, info, listed, waiting
from server import eventually


def holders(lockserver, key):
    return info(lockserver.control, key)


def test_a_lock_is_held_and_released(locks, lockserver):
    with locks.lock("k").acquire() as held:
        found = holders(lockserver, "k")
        assert found["owner"] == held.owner.decode() and found["token"] == held.token
        assert held.owner.startswith(b"test:") and held.held and held.key == b"k" and held.lost is None
        held.check()
        with pytest.raises(package.NotAcquired):
            locks.lock("k", wait=0).acquire()
    assert holders(lockserver, "k") is None
    with locks.lock("k").acquire() as later:
        assert later.token > held.token and later.owner != held.owner


def test_waiters_are_served_in_order(locks, lockserver, background):
    first = locks.lock("k").acquire()
    order, calls = [], []

    def wait(number):
        held = locks.lock("k", wait=60).acquire()
        order.append(number)
        held.release()

    for number in range(5):
        calls.append(background(wait, number))
        waiting(lockserver.control, number + 1)
    first.release()
    for call in calls:
        call()
    assert order == list(range(5))
    names = [client for client in lockserver.control.client_list() if client["name"] == "test"]
    assert len(names) == 1, "the waiters have one connection"


def test_two_connections_for_everything(locks, lockserver):
    locks.execute("SET", "a", "b")
    with locks.lock("k").acquire() as held:
        assert held.guard("GET", "a") == b"b"
    names = [client for client in lockserver.control.client_list() if client["name"] == "test"]
    assert len(names) == 2


def test_five_errors(locks, lockserver, background, make):
    holder = make(lockserver.url)
    with holder.lock("k").acquire():
        with pytest.raises(package.NotAcquired):
            locks.lock("k", wait=0.05).acquire()
        with pytest.raises(package.DeadlineExceeded) as late:
            locks.lock("k", wait=60, deadline=time.monotonic() + 0.05).acquire()
        assert isinstance(late.value, TimeoutError)
    free(lockserver.control, "k")
    one, other = locks.task(), holder.task()
    with one.lock("{d}a").acquire():
        b = other.lock("{d}b").acquire()
        call = background(lambda: one.lock("{d}b", wait=60).acquire())
        waiting(lockserver.control)
        with pytest.raises(package.Deadlock, match="DEADLOCK .*{d}a"):
            other.lock("{d}a", wait=60).acquire()
        b.release()
        call().release()
    dead = make("redis://127.0.0.1:1", timeout=0.2)
    with pytest.raises(package.NoConnection):
        dead.lock("k").acquire()
    kinds = [package.NotAcquired, package.DeadlineExceeded, package.Cancelled, package.Deadlock, package.NoConnection]
    for kind in kinds:
        assert not any(issubclass(kind, other) for other in kinds if other is not kind)


def test_a_wait_is_cancelled_by_another_thread(lockserver, background):
    locks = lockserver.locks()
    cancel = package.Cancel()
    held = locks.lock("k").acquire()
    call = background(lambda: locks.lock("k", cancel=cancel).acquire())
    waiting(lockserver.control)
    cancel.cancel()
    with pytest.raises(package.Cancelled):
        call()
    with pytest.raises(package.Cancelled):
        locks.lock("other", cancel=cancel).acquire()
    held.release()
    free(lockserver.control, "k")


def test_released_or_lost(locks, lockserver):
    held = locks.lock("k").acquire()
    held.release()
    for call in (held.check, held.release, lambda: held.guard("SET", "{k}x", "1")):
        with pytest.raises(package.LockReleased):
            call()
    held = locks.lock("k").acquire()
    lockserver.control.execute_command("LOCK.FORCE", "k")
    eventually(lambda: held.lost, "the loss is known")
    for call in (held.check, held.release, lambda: held.guard("SET", "{k}x", "1")):
        with pytest.raises(package.LockLost, match="forced"):
            call()
    assert not lockserver.control.exists("{k}x")


@pytest.mark.parametrize("reason, how", [
    ("forced", lambda r, clock: r.execute_command("LOCK.FORCE", "k")),
    ("deleted", lambda r, clock: r.delete("k")),
    ("overwritten", lambda r, clock: r.set("k", "v")),
    ("expired", lambda r, clock: clock.advance(60)),
])
def test_reasons(locks, lockserver, clock, reason, how):
    held = locks.lock("k", lease=60 if reason == "expired" else None).acquire()
    told = []
    held.on_lost(told.append)
    how(lockserver.control, clock)
    eventually(lambda: told, "the loss is reported")
    assert [(loss.key, loss.token, loss.reason) for loss in told] == [(b"k", held.token, reason)]
    assert held.lost.reason == reason
    late = []
    held.on_lost(late.append)
    assert late[0].reason == reason


def test_a_fixed_lease_ends_by_the_own_clock_too(locks, lockserver, clock):
    held = locks.lock("k", lease=0.05).acquire()  # the server's clock stands still
    eventually(lambda: held.lost, "the lease is over")
    assert held.lost.reason == "expired"


def test_a_lease_is_renewed_by_its_holder(locks, lockserver, clock):
    held = locks.lock("k", lease=60).acquire()
    held.renew(600)
    clock.advance(599)
    held.check()
    assert held.guard("SET", "{k}x", "1") == b"OK"
    clock.advance(1)
    eventually(lambda: held.lost, "the lease is over")
    with pytest.raises(package.LockLost):
        held.renew(60)


def test_a_stale_token_is_a_loss(locks, lockserver):
    held = locks.lock("k").acquire()
    lockserver.control.execute_command("CLIENT", "REPLY", "ON")
    assert held.guard("SET", "{k}x", "1") == b"OK"
    lockserver.control.execute_command("LOCK.FORCE", "k")
    with pytest.raises(package.LockLost):
        held.guard("SET", "{k}x", "2")
    assert lockserver.control.get("{k}x") == "1"


def test_a_guarded_error_is_the_servers(locks, lockserver):
    lockserver.control.set("x", "text")
    with locks.lock("k").acquire() as held, pytest.raises(package.ServerError, match="not an integer"):
        held.guard("INCR", "x")


def test_several_keys(locks, lockserver):
    with locks.lock_all(["b", "a", "b"]).acquire() as held:
        assert held.keys == (b"a", b"b") and set(held.tokens) == {b"a", b"b"}
        with pytest.raises(package.Error, match="2 keys"):
            held.guard("SET", "{k}x", "1")
        with pytest.raises(package.NotAcquired):
            locks.lock_all(["b", "c"], wait=0.05).acquire()
        assert holders(lockserver, "c") is None
    held = locks.lock_all(["a", "b"]).acquire()
    lockserver.control.execute_command("LOCK.FORCE", "b")
    eventually(lambda: held.lost, "one lost is all lost")
    free(lockserver.control, "a")


def test_shared(locks, lockserver, background):
    one, two = (locks.lock("k", shared=True).acquire() for _ in range(2))
    call = background(lambda: locks.lock("k").acquire())
    waiting(lockserver.control)
    one.release()
    two.release()
    call().release()


def test_a_task_takes_its_lock_again(locks, lockserver):
    task = locks.task()
    one = task.lock("k").acquire()
    two = task.lock("k", wait=0).acquire()
    assert one.token == two.token and one.owner == two.owner
    one.release()
    assert holders(lockserver, "k")["holds"] == 1
    two.check()
    two.release()
    assert holders(lockserver, "k") is None
    with task.lock("k").acquire(), pytest.raises(package.Error, match="another way"):
        task.lock_all(["j", "k"]).acquire()


def test_close_releases(make, lockserver, background):
    locks = make(lockserver.url)
    held, late = locks.lock("k").acquire(), locks.lock_all(["{l}", "{l}m"], lease=60).acquire()
    call = background(lambda: locks.lock("k").acquire())
    waiting(lockserver.control)
    locks.close()
    with pytest.raises(package.Closed):
        call()
    for lock in (held, late):
        assert lock.lost.reason == "closed"
        with pytest.raises(package.LockLost, match="closed"):
            lock.release()
    assert lockserver.control.execute_command("LOCK.LIST") == []
    for late_call in (lambda: locks.lock("k").acquire(), lambda: locks.execute("PING")):
        with pytest.raises(package.Closed):
            late_call()
    locks.close()


def test_lost_reply(locks, lockserver):
    locks.execute("PING")
    locks.connect()
    with lockserver.fault("DROPAFTER", "MATCH", "LOCK", "TIMES", 1):
        held = locks.lock("k").acquire()
    with lockserver.fault("DROPAFTER", "MATCH", "UNLOCK", "TIMES", 1):
        held.release()
    assert holders(lockserver, "k") is None
    with lockserver.fault("DROPBEFORE", "MATCH", "UNLOCK", "TIMES", 1):
        locks.lock("k").acquire().release()
    assert holders(lockserver, "k") is None


def test_a_lost_reply_of_a_try(locks, lockserver):
    locks.connect()
    with lockserver.fault("DROPAFTER", "MATCH", "LOCK", "TIMES", 1):
        held = locks.lock("k", wait=0).acquire()
    assert holders(lockserver, "k")["holds"] == 1, "it is held once"
    held.release()
    assert holders(lockserver, "k") is None


def test_a_block_whose_lock_was_lost_raises(lockserver):
    locks = lockserver.locks()
    with pytest.raises(package.LockLost, match="forced"):
        with locks.lock("k") as held:
            lockserver.control.execute_command("LOCK.FORCE", "k")
            eventually(lambda: held.lost, "the loss is known")
    with pytest.raises(package.LockReleased):
        with locks.lock("k") as held:
            held.release()
    with pytest.raises(ZeroDivisionError):  # the error of the block comes first
        with locks.lock("k") as held:
            held.release()
            1 / 0


def test_guard_once(locks, lockserver):
    with locks.lock("k").acquire() as held:
        with lockserver.fault("DROPAFTER", "MATCH", "GUARD", "TIMES", 1), pytest.raises(package.NoConnection):
            held.guard("INCR", "{k}n")
        assert held.guard("INCR", "{k}n") == 2


def test_owed_unlock(make, lockserver):
    locks = make(lockserver.url, timeout=3)
    held = locks.lock("k").acquire()
    lockserver.clock.freeze()
    with lockserver.fault("DELAY", 3_600_000, "MATCH", "UNLOCK", "TIMES", 1):
        with pytest.raises(package.NoConnection):
            held.release()
    with pytest.raises(package.LockReleased):
        held.release()
    free(lockserver.control, "k")


def test_a_lock_outlives_its_connection(locks, lockserver):
    held = locks.lock("k").acquire()
    fixed = locks.lock("f", lease=600).acquire()
    for _ in range(3):
        for client in lockserver.control.client_list():
            if client["name"] == "test":
                lockserver.control.client_kill_filter(_id=client["id"])
        eventually(lambda: holders(lockserver, "k")["attached"], "it is attached again")
    assert held.guard("SET", "{k}x", "1") == b"OK" and fixed.guard("SET", "{f}x", "2") == b"OK"
    held.release()
    fixed.release()


@pytest.mark.parametrize("lease", [None, 600])
def test_a_lock_that_went_while_the_connection_was_away_is_stale(locks, lockserver, lease):
    kept = [locks.lock("kept", lease=lease).acquire(), locks.lock_all(["kept too", "and this"], lease=lease).acquire(),
            locks.semaphore("sem", 2).permits(lease=lease).acquire()]
    gone = {"k": locks.lock("k", lease=lease).acquire(), "b": locks.lock_all(["a", "b"], lease=lease).acquire(),
            "permits": locks.semaphore("permits", 2).permits(lease=lease).acquire()}
    lockserver.control.execute_command("TEST.FAULT", "ADD", "DROPBEFORE", "MATCH", "LOCK.ATTACH")
    for client in lockserver.control.client_list():
        if client["name"] == "test":
            lockserver.control.client_kill_filter(_id=client["id"])
    for key in gone:
        lockserver.control.delete(key)
    lockserver.control.execute_command("TEST.FAULT", "CLEAR")
    for held in gone.values():
        eventually(lambda: held.lost, "the loss is known")
        assert held.lost.reason == "stale"
    assert str(gone["k"].lost).startswith("the lock 'k' is lost: stale (token ")
    for held in kept:
        held.release()


def test_bad_input(locks):
    for options in ({"lease": 0}, {"lease": -1}, {"lease": float("nan")}, {"wait": float("nan")}):
        with pytest.raises(ValueError):
            locks.lock("k", **options)
    with pytest.raises(ValueError, match="not between"):
        locks.lock("k", lease=1e30)
    with pytest.raises(TypeError):
        locks.lock(None)
    with pytest.raises(ValueError):
        locks.lock_all([])
    with pytest.raises(TypeError):
        locks.lock_all("abc")


def test_a_redis_is_refused(make, lockserver):
    locks = make(lockserver.url)
    with lockserver.fault("ERROR", "ERR unknown command 'LOCK.ATTACH'", "MATCH", "LOCK.ATTACH"):
        with pytest.raises(package.NotLockserver):
            locks.connect()
        with pytest.raises(package.NotLockserver):
            locks.lock("k").acquire()
    locks.lock("k", wait=5).acquire().release()


def test_unconfirmed(make, lockserver, background):
    """A grant for a caller that gives up at that moment goes to the next one."""
    locks, other = make(lockserver.url), make(lockserver.url, name="other")
    holder = other.lock("k").acquire()
    with pytest.raises(package.NotAcquired):
        locks.lock("k", wait=0.01).acquire()
    holder.release()
    other.lock("k", wait=10).acquire().release()
    free(lockserver.control, "k")


ASKED = {
    "renewed": lambda locks: locks.lock("k"),
    "fixed": lambda locks: locks.lock("k", lease=600),
    "shared": lambda locks: locks.lock("k", shared=True),
    "several": lambda locks: locks.lock_all(["k", "l"]),
    "several fixed": lambda locks: locks.lock_all(["k", "l"], lease=600),
    "permits": lambda locks: locks.semaphore("k", 1).permits(1),
    "permits fixed": lambda locks: locks.semaphore("k", 1).permits(1, lease=600),
}


@pytest.mark.parametrize("kind", ASKED)
def test_a_grant_is_confirmed(locks, lockserver, clock, background, kind):
    """A waiter has its lock with the push, and the server does not take it back."""
    asked = ASKED[kind](locks)
    first = asked.acquire() if kind.startswith("permits") else locks.lock("k").acquire()
    call = background(asked.acquire)
    waiting(lockserver.control)
    first.release()
    held = call()
    for _ in range(5):
        clock.advance(15)  # more than the third of a lease in which a grant has to be confirmed
    held.check()
    numbers = lockserver.control.info("locks")
    assert int(numbers["lock_unconfirmed_grants"]) == 0 and int(numbers["lock_grants_to_confirm"]) == 0
    held.release()
    assert lockserver.control.execute_command("LOCK.LIST") == []


def test_a_confirmation_that_is_refused(locks, lockserver, background):
    first = locks.lock("k").acquire()
    call = background(lambda: locks.lock("k").acquire())
    waiting(lockserver.control)
    with lockserver.fault("ERROR", "ERR no", "MATCH", "LOCK.CONFIRM"):
        first.release()
        held = call()
        eventually(lambda: held.lost, "the loss is known")
    assert held.lost.reason == "stale"
    free(lockserver.control, "k")


def test_exclusive(lockserver):
    locks = lockserver.locks()
    seen = []

    @locks.exclusive("bill:{0}:{kind}")
    def pay(number, kind="card"):
        seen.append(listed(lockserver.control)[0]["key"])
        return number

    assert pay(7) == 7 and pay(number=8, kind="cash") == 8 and pay.__name__ == "pay"
    assert seen == ["bill:7:card", "bill:8:cash"]
    with pytest.raises(ValueError, match="does not have"):
        locks.exclusive("bill:{2}")(pay.__wrapped__)
    with pytest.raises(ValueError, match="does not have"):
        package.exclusive("bill:{other}")(pay.__wrapped__)
    package.use(locks)
    assert package.exclusive("{0}")(lambda n: n)(5) == 5


def test_a_lease_that_is_over_counts_before_the_timer_has_run(locks, make, lockserver):
    """As after a pause of the process: the first thing that the program asks must not say that the lock is held."""
    held = locks.lock("k", lease=0.05).acquire()

    def late():
        """Keeps the client from looking at its timers until the lease is over."""
        over = time.monotonic() + 0.05
        while time.monotonic() <= over:
            pass
        return held.held, held.lost

    if make.kind == "asyncio":
        inner = held._inner

        def check():
            nonlocal held
            held = inner
            return late()

        found = locks._loop.run(check)
    else:
        with locks._driver.lock:
            found = late()
    assert found[0] is False and found[1].reason == "expired"
    with pytest.raises(package.LockLost, match="expired"):
        held.check()
