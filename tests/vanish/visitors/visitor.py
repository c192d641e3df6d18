"""A program of TestProgramsOfACutShard with the package for Python: visitor.py section turn list calm kept,kept... url..."""

import os
import sys
import threading

import lockserver

# What a call may end with while a shard has no leader, or a connection breaks.
PASSING = (lockserver.NoConnection, lockserver.LockLost, lockserver.NotAcquired)


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def alone(section, work):
    """Runs work, and says so if another holder of the lock does the same."""
    try:
        os.close(os.open(section, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return say("fault", "two holders")
    try:
        work()
    finally:
        os.unlink(section)


def turns(locks, section, turn, tokens):
    """Takes the lock of the shard that is cut off, and writes its token."""
    try:
        held = locks.lock(turn, wait=1).acquire()
    except PASSING:
        return

    def write():
        try:
            held.guard("RPUSH", tokens, held.token)
            say("pushed", held.token)
        except PASSING:
            pass
    alone(section, write)
    try:
        held.release()
    except PASSING:
        pass


def calmly(locks, calm):
    """Takes a lock of a shard that nothing happens to."""
    try:
        with locks.lock(calm, wait=3600) as held:
            say("calm", held.guard("INCR", calm + ":n"))
    except PASSING as e:
        say("shaken", repr(e))


def again(over, step, *args):
    try:
        while not over.is_set():
            step(*args)
    except BaseException as e:
        say("fault", repr(e))


def main(section, turn, tokens, calm, kept, *urls):
    locks = lockserver.Locks.from_url(list(urls), timeout=3600)  # a call that hangs is noticed
    held = [locks.lock(key).acquire() for key in kept.split(",")]
    over = threading.Event()
    threads = [threading.Thread(target=again, args=(over, turns, locks, section, turn, tokens)),
               threading.Thread(target=again, args=(over, calmly, locks, calm))]
    for thread in threads:
        thread.start()
    for _ in sys.stdin:  # a line asks whether the locks are held, the end ends all
        for lock in held:
            lock.check()
        say("held")
    over.set()
    for thread in threads:
        thread.join()
    for lock in held:
        lock.guard("SET", lock.key + b":n", "1")
        lock.release()
    locks.close()
    say("end")


main(*sys.argv[1:])
