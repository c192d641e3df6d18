"""The state machine without a server: time, silence and what comes late, by hand."""

import itertools
import random

import pytest

import lockserver as package
from lockserver import errors
from lockserver._core import Acquire, Call, Core, Handle, Loss, Redirected, Request, Task
from lockserver._resp import Malformed, Parser, Push, encode
from lockserver._wish import Wish


class Played:
    """A core whose server is the test."""

    def __init__(self, limit=5.0, brief=0.0):
        self.now = 1000.0
        self.core = Core("test", limit, self.now, brief)
        self.core.start(self.now)

    def sent(self, link=None):
        """Takes what was sent, as lists of words."""
        link = link or self.core.attached
        commands = [[word.decode() for word in words] for words in Parser().feed(bytes(link.out))]
        link.out.clear()
        return commands

    def attach(self):
        self.core.opened(self.core.attached, self.now)
        assert self.sent()[0][:2] == ["LOCK.ATTACH", "PREFIX"]
        self.reply(b":0\r\n")
        words = self.sent()
        assert words[0][:2] == ["CONFIG", "GET"]
        self.reply(b"%1\r\n$21\r\nlock-watchdog-timeout\r\n$5\r\n30000\r\n")
        return words[1:]

    def reply(self, data, link=None):
        self.core.received(link or self.core.attached, data, self.now)

    def pass_time(self, seconds, step=0.5):
        """Lets time pass, in steps as a transport would."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + step)
            self.core.tick(self.now)

    def ask(self, wish=None, task=None, wait=None, deadline=None):
        call = Acquire(task or Task(self.core.new_owner()), wish or Wish((b"k",)), lambda: None)
        self.core.acquire(call, wait, deadline, self.now)
        return call

    def hold(self, wish=None):
        call = self.ask(wish)
        self.sent()
        self.reply(b":7\r\n")
        return call.result

    def gone(self, why="it broke"):
        self.core.failed(self.core.attached, package.NoConnection(why), self.now)


@pytest.fixture
def played():
    p = Played()
    p.attach()
    return p


def test_a_silent_server_loses_the_lock_before_its_lease_ends(played):
    held = played.hold()
    played.pass_time(18.4)
    assert held.why_over() is None
    played.pass_time(0.2)
    assert held.why_over().reason == "unreachable"
    assert played.core.attached.broken, "a server that answers no PING is left"


def test_a_server_that_answers_keeps_the_lock(played):
    held = played.hold()
    for _ in range(20):
        played.pass_time(5)
        assert played.sent() == [["PING"]]
        played.reply(b"+PONG\r\n")
    assert held.why_over() is None


def test_silence_counts_from_when_the_answered_command_was_sent(played):
    held = played.hold()
    played.pass_time(5)
    played.pass_time(4.9)
    played.reply(b"+PONG\r\n")  # it was sent 4.9 s ago
    played.pass_time(13.5)
    assert held.why_over() is None
    played.pass_time(0.2)
    assert held.why_over().reason == "unreachable"


def test_a_process_that_was_stopped_asks_before_it_gives_up(played):
    held = played.hold()
    played.now += 100
    played.core.tick(played.now)
    assert held.why_over() is None and ["PING"] in played.sent()
    played.reply(b"+PONG\r\n" * 2)
    played.pass_time(4)
    assert held.why_over() is None
    other = Played()
    other.attach()
    held = other.hold()
    other.now += 100
    other.core.tick(other.now)
    other.pass_time(5)
    assert held.why_over().reason == "unreachable", "and gives up if there is no answer"


def test_a_fixed_lease_ends_from_when_it_was_asked_for(played):
    call = played.ask(Wish((b"k",), lease=10.0))
    played.now += 3
    played.reply(b":7\r\n")
    held = call.result
    played.pass_time(6.9)
    assert held.why_over() is None
    played.pass_time(0.2)
    assert held.why_over().reason == "expired"


def test_a_grant_is_confirmed_and_its_lease_begins_with_that(played):
    call = played.ask(Wish((b"k",), lease=10.0), wait=60)
    words = played.sent()[0]
    assert words[0] == "LOCK" and words[-4:] == ["WAIT", "60000", "NOTIFY", "ONCE"]
    played.reply(b"+QUEUED\r\n")
    played.pass_time(4)
    played.reply(b">4\r\n$12\r\nlock-granted\r\n$1\r\nk\r\n:9\r\n$%d\r\n%s\r\n" % (len(call.task.owner), call.task.owner))
    assert not call.over
    assert played.sent() == [["RENEW", "k", call.task.owner.decode(), "PX", "10000", "TOKEN", "9"]]
    played.reply(b":1\r\n")
    assert call.result.token(b"k") == 9
    played.pass_time(9.9, 0.1)
    assert call.result.why_over() is None
    played.pass_time(0.2)
    assert call.result.why_over().reason == "expired"


def granted(played, call, token=9):
    """The server grants the lock of a call that it has queued."""
    owner, key = call.task.owner, call.wish.keys[0]
    played.reply(b">4\r\n$12\r\nlock-granted\r\n$%d\r\n%s\r\n:%d\r\n$%d\r\n%s\r\n" % (len(key), key, token, len(owner), owner))


def granted_at_once(played, wish=None, after=2.0):
    """A call that has its lock with the push, which is not confirmed yet."""
    call = played.ask(wish, wait=60)
    played.sent()
    played.reply(b"+QUEUED\r\n")
    played.pass_time(after)
    granted(played, call)
    assert call.result.why_over() is None
    assert played.sent() == [["LOCK.CONFIRM", "k", call.task.owner.decode(), "9"]]
    return call.result


def test_a_young_call_has_its_lock_with_the_push(played):
    held = granted_at_once(played)
    assert [words[0] for words in played.core.unconfirmed()] == ["LOCK.CONFIRM"]
    played.reply(b":1\r\n")
    assert played.core.unconfirmed() == []
    for _ in range(20):
        played.pass_time(4.9)
        played.reply(b"+PONG\r\n" * played.sent().count(["PING"]))
    assert held.why_over() is None and held.doubtful(played.now) is None


def test_a_lock_that_is_not_confirmed_is_lost_before_the_server_takes_it_back(played):
    held = granted_at_once(played)  # it takes it back 10 s after the grant, which came 2 s at most after the call
    played.pass_time(5.4)
    assert held.why_over() is None and held.doubtful(played.now) is None
    played.now += 0.2
    assert held.doubtful(played.now).reason == "unreachable", "also before the timer has run"
    played.core.tick(played.now)
    assert held.why_over().reason == "unreachable"
    assert ["UNLOCK", "k", held.hold.task.owner.decode(), "TOKEN", "9"] in played.sent()


@pytest.mark.parametrize("reply, undone", [(b":0\r\n", False), (b"-NOPERM no\r\n", True)])
def test_a_confirmation_that_is_refused_is_a_loss(played, reply, undone):
    held = granted_at_once(played)
    played.reply(reply)
    assert held.why_over().reason == "stale"
    assert [words[0] for words in played.sent()] == (["LOCK.CANCEL", "UNLOCK"] if undone else [])


@pytest.mark.parametrize("reply", [b":1\r\n", b":0\r\n"])
def test_the_next_connection_confirms(played, reply):
    held = granted_at_once(played)
    played.gone()
    played.now += 1
    confirm = ["LOCK.CONFIRM", "k", held.hold.task.owner.decode(), "9"]
    assert [words for words in played.attach() if words[0] != "PING"] == [confirm]
    played.reply(reply)
    assert (held.why_over() is None) == (reply == b":1\r\n")
    played.gone()
    played.now += 1
    if held.why_over() is None:
        assert [words[0] for words in played.attach()] == ["RENEW"], "what is confirmed is checked"


def test_what_is_released_before_the_confirmation_is_answered(played):
    held = granted_at_once(played)
    release = Call(lambda: None)
    played.core.release(held, release, played.now)
    assert [words[0] for words in played.sent()] == ["UNLOCK"]
    played.reply(b":1\r\n")
    assert not release.over
    played.reply(b":1\r\n")
    assert release.over and release.error is None
    played.pass_time(4)
    assert played.core.unconfirmed() == [] and held.hold.lost is None


def brief_hold(seconds, later=0.0, key=b"k", lease=None):
    """A core that has released a lock after so many seconds, and so much later has been given another one by a push."""
    played = Played(brief=0.02)
    played.attach()
    first = granted_at_once(played)  # nothing is known of how long locks are held
    played.reply(b":1\r\n")
    played.now += seconds
    played.core.release(first, Call(lambda: None), played.now)
    played.reply(b":1\r\n")
    played.now += later
    call = played.ask(Wish((key,), lease=lease), wait=60)
    played.sent()
    played.reply(b"+QUEUED\r\n")
    granted(played, call, 10)
    return played, call.result


def test_the_unlock_confirms_a_lock_that_is_held_for_a_moment():
    played, held = brief_hold(0.01)
    assert played.sent() == [] and [words[0] for words in played.core.unconfirmed()] == ["LOCK.CONFIRM"]
    played.pass_time(0.019, 0.001)
    release = Call(lambda: None)
    played.core.release(held, release, played.now)
    assert [words[0] for words in played.sent()] == ["UNLOCK"]
    played.reply(b":1\r\n")
    played.pass_time(1, 0.01)
    assert release.over and release.error is None and played.sent() == [] and held.hold.lost is None


@pytest.mark.parametrize("reply, lost", [(b":1\r\n", None), (b":0\r\n", "stale"), (b"", "unreachable")])
def test_a_lock_that_is_held_for_longer_is_confirmed_later(reply, lost):
    played, held = brief_hold(0.01)
    played.pass_time(0.021, 0.001)
    assert played.sent() == [["LOCK.CONFIRM", "k", held.hold.task.owner.decode(), "10"]]
    played.reply(reply)
    assert lost == "unreachable" or (held.why_over() and held.why_over().reason) == lost
    played.pass_time(7.6)
    assert (held.why_over() and held.why_over().reason) == lost


def test_a_lock_that_could_not_be_confirmed_later():
    played, held = brief_hold(0.01)
    played.gone()
    played.pass_time(0.1, 0.01)
    assert played.sent() == [] and held.why_over() is None
    assert [words[0] for words in played.attach()] == ["LOCK.CONFIRM"], "the next connection does it"
    other, late = brief_hold(0.01)
    other.now += 7.6  # the process was stopped
    other.core.tick(other.now)
    assert late.why_over().reason == "unreachable" and "LOCK.CONFIRM" not in [words[0] for words in other.sent()]


@pytest.mark.parametrize("server", ["answers", "is silent", "breaks"])
@pytest.mark.parametrize("lease", [0.01, 0.5])
def test_the_lease_ends_of_a_lock_that_goes_from_hand_to_hand(lease, server):
    """It ends before the lock would be confirmed, or later, whether it was confirmed or not."""
    played, held = brief_hold(0.01, lease=lease)
    if server == "breaks":
        played.gone()
        played.attach()
        played.reply(b":1\r\n" * 2)
    else:
        played.pass_time(lease - 0.001, 0.001)
        if lease > 0.02 and server == "answers":
            played.reply(b":1\r\n")
    assert held.why_over() is None and held.expired(played.now) is None
    played.pass_time(lease if server == "breaks" else 0.002, 0.001)
    assert held.why_over().reason == "expired"


@pytest.mark.parametrize("how", [{"seconds": 0.03}, {"seconds": 0.01, "later": 0.03}, {"seconds": 0.01, "key": b"other"}])
def test_a_lock_that_does_not_go_from_hand_to_hand_is_confirmed_at_once(how):
    """The last holder had it for long, or gave it back some time ago, or had another lock."""
    played, _ = brief_hold(**how)
    assert [words[0] for words in played.sent()] == ["LOCK.CONFIRM"]


def test_a_grant_is_confirmed_first_if_the_call_is_old_or_the_lease_not_known(played):
    other = Played()
    other.core.opened(other.core.attached, other.now)
    other.reply(b":0\r\n-NOPERM CONFIG\r\n")
    for p, after in ((played, 2.6), (other, 0.0)):
        call = p.ask(wait=60)
        p.reply(b"+QUEUED\r\n")
        p.pass_time(after)
        p.sent()
        granted(p, call)
        assert not call.over
        assert p.sent() == [["LOCK.CONFIRM", "k", call.task.owner.decode(), "9"]]
        p.reply(b":1\r\n")
        assert call.result.token(b"k") == 9


def test_a_fixed_lease_that_was_asked_for_just_now(played):
    held = granted_at_once(played, Wish((b"k",), lease=100.0), after=2.4)
    played.reply(b":1\r\n")
    for _ in range(19):
        played.pass_time(4.9)
        played.reply(b"+PONG\r\n" * played.sent().count(["PING"]))
    assert held.why_over() is None
    played.pass_time(4.6)
    assert held.why_over().reason == "expired"


def test_who_waits_asks_again_by_the_next_connection_in_order(played):
    calls = [played.ask(wait=100) for _ in range(3)]
    played.sent()
    played.reply(b"+QUEUED\r\n" * 3)
    played.gone()
    played.now += 1
    asked = [words for words in played.attach() if words[0] == "LOCK"]
    assert [words[2] for words in asked] == [call.task.owner.decode() for call in calls]
    assert asked[0][-3:] == ["99000", "NOTIFY", "ONCE"], "the time that is left"
    assert not any(call.over for call in calls)


def test_a_call_lasts_no_longer_than_its_wait(played):
    """With a silent server, too. A wait that is shorter than an answer takes has a moment for that."""
    call = played.ask(wait=0.01)
    played.pass_time(0.05)
    assert not call.over
    played.reply(b"+QUEUED\r\n")
    assert isinstance(call.error, package.NotAcquired)
    played.sent()
    call = played.ask(wait=0.01)
    played.pass_time(0.05)
    played.reply(b":0\r\n$-1\r\n:9\r\n")
    assert call.result.token(b"k") == 9
    for wait, lasts in ((0.01, 0.1), (1.5, 1.5)):
        call = played.ask(Wish((b"other",)), wait=wait)
        played.pass_time(lasts - 0.001)
        assert not call.over
        played.pass_time(0.002)
        assert isinstance(call.error, package.NoConnection) and "'other'" in str(call.error)


def test_a_request_that_may_come_late_is_undone_a_lease_later(played):
    call = played.ask(wait=0.5)
    played.sent()
    played.gone()
    played.pass_time(0.4)
    assert not call.over
    played.pass_time(0.2)
    assert isinstance(call.error, package.NoConnection)
    undone = [["LOCK.CANCEL", "k", call.task.owner.decode()], ["UNLOCK", "k", call.task.owner.decode()]]
    assert [words for words in played.attach() if words[0] != "RENEW"] == undone
    played.reply(b":0\r\n$-1\r\n")
    for _ in range(7):
        played.pass_time(4.5)
        sent = played.sent()
        played.reply(b"+PONG\r\n" * sent.count(["PING"]))
        if undone[0] in sent:
            assert [words for words in sent if words != ["PING"]] == undone
            return
    raise AssertionError("it was not undone")


def test_a_grant_that_no_call_waits_for_is_released(played):
    owner = played.core.new_owner()
    played.reply(b">4\r\n$12\r\nlock-granted\r\n$1\r\nk\r\n:9\r\n$%d\r\n%s\r\n" % (len(owner), owner))
    assert ["UNLOCK", "k", owner.decode(), "TOKEN", "9"] in played.sent()


def test_an_unlock_that_finds_nothing_is_a_loss_unless_it_was_sent_before(played):
    held, call = played.hold(), Call(lambda: None)
    played.core.release(held, call, played.now)
    played.reply(b"_\r\n")
    assert call.error.reason == "stale"
    held, call = played.hold(), Call(lambda: None)
    played.core.release(held, call, played.now)
    played.gone()
    assert [words[0] for words in played.attach()] == ["UNLOCK"]
    played.reply(b"_\r\n")
    assert call.over and call.error is None


def test_a_release_that_has_no_answer_is_owed(played):
    held, call = played.hold(), Call(lambda: None)
    played.core.release(held, call, played.now)
    played.sent()
    played.pass_time(5)
    assert isinstance(call.error, package.NoConnection)
    played.gone()
    assert [words[0] for words in played.attach()] == ["UNLOCK"]


def test_a_server_that_does_not_lead_is_left(played):
    call = played.ask(wait=10)
    played.sent()
    played.reply(b"-MOVED 1 10.0.0.2:6379\r\n")
    assert played.core.moved == "10.0.0.2:6379" and played.core.attached.broken and not call.over
    played.gone()
    assert [words[0] for words in played.attach()] == ["LOCK"]
    played.reply(b":3\r\n")
    assert call.result.token(b"k") == 3


def test_a_server_that_leads_its_shard_no_more_is_left(played):
    """What was sent to it gets its replies first, and what comes meanwhile goes to the next server, once."""
    core, link = played.core, played.core.commands
    core.redirects = lambda words, moved: None
    one, two, three = (Request(["GUARD", "k", "7", "GET", n], True, lambda: None) for n in "123")
    core.request(one, played.now + 5, played.now)
    core.opened(link, played.now)
    core.request(two, played.now + 5, played.now)
    assert len(played.sent(link)) == 2
    played.reply(b"-MOVED 1 10.0.0.2:6379\r\n", link)
    assert isinstance(one.error, Redirected)
    core.leave(one.error)
    core.request(three, played.now + 5, played.now)
    assert core.attached.broken and not link.broken and core.dial_at(link) is None, "one connection at a time"
    assert played.sent(link) == []
    played.reply(b"$1\r\nv\r\n", link)
    assert two.result == b"v" and two.error is None and link.broken
    core.failed(link, link.broken, played.now)
    assert link.dial_at is not None and not three.over
    core.opened(link, played.now)
    assert [words[-1] for words in played.sent(link)] == ["3"]
    core.leave(one.error)
    assert not link.broken and not link.left, "it leads to another server by now"


class Transport:
    """The transport of a shard, as another one sees it."""

    def __init__(self, played):
        self.core, self._played = played.core, played
        played.core.transport = lambda: self

    def poke(self, begin):
        begin(self.core, self._played.now)


@pytest.fixture
def other(played):
    """A shard that the commands of the first one are redirected to."""
    p = Played()
    p.attach()
    played.core.redirects = lambda words, moved: p.transport
    p.transport, played.transport = Transport(p), Transport(played)
    return p


MOVED = b"-MOVED 1 10.0.0.2:6379\r\n"


def test_a_hold_whose_slot_has_moved(played, other):
    """It is asked for where the slot is, and released there. The connection stays."""
    played.core.redirects, held = None, played.hold()
    played.gone()
    assert played.attach() == [["RENEW", "k", held.hold.task.owner.decode(), "TOKEN", "7"]]
    played.core.redirects = lambda words, moved: other.transport
    played.reply(MOVED)
    assert held.core is other.core and not played.core.attached.broken
    assert [words[0] for words in other.sent()] == ["RENEW"]
    other.reply(b":1\r\n")
    assert not held.hold.arriving and held.why_over() is None
    released = Call(lambda: None)
    played.core.release(held, released, played.now)  # a caller that has found the former shard
    assert [words[0] for words in other.sent()] == ["UNLOCK"]
    other.reply(b":0\r\n")
    assert released.over and released.error is None
    assert not other.core._holds and not played.core._holds and not held.hold.task.busy


def test_a_hold_whose_slot_has_moved_is_lost_in_time(played, other):
    """The answers of the new shard are none of the old one's: without one about the lock its lease may have ended."""
    held = played.hold()
    played.pass_time(5)
    assert played.sent() == [["PING"]]
    other.now = played.now
    played.core.give(held.hold, other.transport)
    for _ in range(13):
        other.pass_time(1)
        other.core._hear(other.now)
    assert held.why_over() is None and held.remaining(other.now) < 1
    other.pass_time(1)
    assert held.why_over().reason == "unreachable"
    assert [words[0] for words in other.sent() if words[0] != "PING"] == ["RENEW"] and other.core._debts, "the release is owed"


def test_a_release_whose_slot_has_moved(played, other):
    held, released = played.hold(), Call(lambda: None)
    played.core.release(held, released, played.now)
    played.reply(MOVED)
    assert not released.over and [words[0] for words in other.sent()] == ["UNLOCK"]
    other.reply(b":0\r\n")
    assert released.over and released.error is None and not played.core.attached.broken
    assert not played.core._holds and not held.hold.task.busy and not played.core._debts and not other.core._debts


def test_shards_that_redirect_to_each_other_are_asked_now_and_then(played, other):
    other.core.redirects = lambda words, moved: played.transport
    held = played.hold()
    played.core.give(held.hold, other.transport)
    asked = 0
    for step in range(100):
        for shard in (played, other):
            for words in shard.sent():
                asked += words[0] == "RENEW"
                shard.reply(MOVED if words[0] == "RENEW" else b"+PONG\r\n")
            shard.pass_time(0.01)
    assert 5 < asked < 30 and held.why_over() is None


def test_two_shards_give_one_token(played, other):
    """The token of a lock that comes from another shard is that of a lock that is here: each is lost alone."""
    here, came = other.hold(), played.hold(Wish((b"other",)))
    assert here.token(b"k") == came.token(b"other")
    played.core.give(came.hold, other.transport)
    assert [words[:2] for words in other.sent()] == [["RENEW", "other"]]
    other.reply(b":1\r\n>4\r\n$9\r\nlock-lost\r\n$5\r\nother\r\n:7\r\n$6\r\nforced\r\n")
    assert came.why_over().reason == "forced" and here.why_over() is None


def test_a_wait_that_moves_is_asked_again(played):
    call = played.ask(wait=60)
    played.reply(b"+QUEUED\r\n")
    played.sent()
    owner = call.task.owner
    played.reply(b">4\r\n$12\r\nlock-refused\r\n$1\r\nk\r\n$5\r\nmoved\r\n$%d\r\n%s\r\n" % (len(owner), owner))
    assert [words[0] for words in played.sent()] == ["LOCK"] and not call.over


def test_calls_of_one_task_for_one_key_come_one_after_the_other(played):
    task = Task(played.core.new_owner())
    one, two = played.ask(task=task, wait=1), played.ask(task=task)
    played.reply(b"+QUEUED\r\n")
    assert len(played.sent()) == 1
    played.pass_time(1)
    assert isinstance(one.error, package.NotAcquired)
    assert [words[0] for words in played.sent()] == ["LOCK.CANCEL", "UNLOCK"], "the first one is undone before"
    played.reply(b":1\r\n_\r\n")
    assert [words[0] for words in played.sent()] == ["LOCK"]
    played.reply(b":3\r\n")
    assert two.result.token(b"k") == 3


def test_close_takes_what_is_held_back_in_order(played):
    held, waits = played.hold(), played.ask(wait=10)
    played.sent()
    played.reply(b"+QUEUED\r\n")
    played.core.close(played.now)
    assert isinstance(waits.error, package.Closed) and held.why_over().reason == "closed"
    assert [words[0] for words in played.sent()] == ["LOCK.CANCEL", "UNLOCK", "UNLOCK"] and not played.core.ended
    played.reply(b":1\r\n_\r\n:1\r\n")
    assert played.core.ended
    silent = Played()
    silent.attach()
    silent.hold()
    silent.core.close(silent.now)
    silent.pass_time(5)
    assert silent.core.ended, "it is bounded"


def counts(core):
    """What the core counts of its calls, and what is so."""
    calls = [call for call in core._waits.values() if not call.wish.tries]
    ours = {key for hold in core._holds.values() if not (hold.wish.shared or hold.wish.permits) for key in hold.wish.keys}
    queued = {}
    for call in calls:
        queued[call.wish.keys[0]] = queued.get(call.wish.keys[0], 0) + 1
    return (core._ours, core._queued, core.idle), (ours, queued, sum(core.idles(call) for call in calls))


@pytest.mark.parametrize("seed", range(50))
def test_calls_that_wait_for_what_is_held_here_are_counted(seed, played):
    """A server that answers at random, and calls that end in all ways."""
    chance, core, token = random.Random(seed), played.core, itertools.count(1)
    calls, held = [], []
    wishes = [Wish((b"a",)), Wish((b"b",)), Wish((b"a", b"b"), many=True), Wish((b"a",), shared=True), Wish((b"a",), tries=True),
              Wish((b"b",), permits=1), Wish((b"b",), lease=chance.choice([1.0, 1000.0]))]
    busiest = 0
    for _ in range(200):
        step = chance.randrange(6)
        if step < 2:
            calls.append(played.ask(chance.choice(wishes), wait=chance.choice([None, 2.0])))
        elif step == 2 and calls:
            call = chance.choice(calls)
            tokens = [next(token) for _ in call.wish.keys]
            if not call.over and core._ours.isdisjoint(call.wish.keys):
                core._hold(call, tokens, played.now)
            elif not call.over:
                core.cancel(call, errors.Cancelled("no"), played.now)
        elif step == 3 and held:
            core.release(held.pop(chance.randrange(len(held))), Call(lambda: None), played.now)
            awaited = list(core.attached.awaited)
            core.attached.awaited.clear()
            for take, _ in awaited:  # also those of calls: they are queued
                take(b"QUEUED", None)
        elif step == 4 and held:
            handle = chance.choice(held)
            core._lose(handle.hold, Loss(handle.keys[0], handle.hold.tokens[0], "forced"), played.now)
        else:
            played.now += 0.3
            core.tick(played.now)
        held = [call.result for call in calls if isinstance(call.result, Handle) and call.result.why_over() is None]
        counted, real = counts(core)
        assert counted == real
        busiest = max(busiest, core.idle)
    assert busiest > 1
    core.close(played.now)
    assert counts(core)[0][1:] == ({}, 0)


REPLIES = [
    (b"+OK\r\n", b"OK"), (b":-5\r\n", -5), (b"$-1\r\n", None), (b"*-1\r\n", None), (b"_\r\n", None), (b"$0\r\n\r\n", b""),
    (b"$5\r\na\r\nbc\r\n", b"a\r\nbc"), (b"*2\r\n:1\r\n*1\r\n+a\r\n", [1, [b"a"]]), (b"%1\r\n+a\r\n:1\r\n", {b"a": 1}),
    (b"~2\r\n:1\r\n:2\r\n", [1, 2]), (b",1.5\r\n", 1.5), (b"#t\r\n", True), (b"(12345678901234567890\r\n", 12345678901234567890),
    (b"=7\r\ntxt:abc\r\n", b"abc"), (b"|1\r\n+a\r\n+b\r\n:7\r\n", 7), (b">2\r\n+a\r\n:1\r\n", [b"a", 1]),
]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_replies_in_pieces(size):
    data = b"".join(text for text, _ in REPLIES) + b"-ERR no\r\n"
    parser, got = Parser(), []
    for at in range(0, len(data), size):
        got.extend(parser.feed(data[at : at + size]))
    assert got[:-1] == [value for _, value in REPLIES] and str(got[-1]) == "ERR no"
    assert isinstance(got[-2], Push)


@pytest.mark.parametrize("data", [b"?\r\n", b":x\r\n", b"$-2\r\n", b"$3\r\nabcde", b"*-5\r\n", b"*1\r\n" * 20 + b":1\r\n"])
def test_what_is_no_reply(data):
    with pytest.raises(Malformed):
        list(Parser().feed(data))


def test_words():
    assert encode(["SET", b"a", 1, 1.5]) == b"*4\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n$3\r\n1.5\r\n"
    for wrong in (None, True, [], {}):
        with pytest.raises(TypeError):
            encode(["SET", wrong])


def test_what_an_interrupted_call_has_half_released_is_released(played):
    held = played.hold()
    held.hold.handles.discard(held)  # an exception came here
    held.hold.releasing = True
    played.core.repair(played.now)
    assert [words[0] for words in played.sent()] == ["UNLOCK"]
    played.core.repair(played.now)
    assert played.sent() == [], "once"
    played.reply(b":1\r\n")
    assert not played.core._holds


def test_a_debt_that_an_interrupted_call_has_not_sent_is_sent_by_the_next_connection(played):
    held = played.hold()
    played.core.release(held, Call(lambda: None), played.now)
    played.sent()
    held.hold.debt.entered = False  # an exception came before it was sent
    played.core.repair(played.now)
    played.core.repair(played.now)
    played.gone("a call was interrupted")
    played.now += 1
    assert [words[0] for words in played.attach()] == ["UNLOCK"], "once"
    played.reply(b"$-1\r\n")
    assert not played.core._debts and held.hold.lost is None


@pytest.mark.parametrize("key, owner", [(b"k", b"o"), (b"", b""), (b"a\r\n:1\r\n$1\r\nb", b"o"), (b"k", b"a\r\n"), (b"\r\n" * 3, b"\0")])
def test_pushes_of_grants(key, owner):
    push = b">4\r\n$12\r\nlock-granted\r\n$%d\r\n%s\r\n:%d\r\n$%d\r\n%s\r\n" % (len(key), key, 1 << 62, len(owner), owner)
    many = b">4\r\n$12\r\nlock-granted\r\n*1\r\n$1\r\nk\r\n*1\r\n:3\r\n$1\r\no\r\n"
    want = [1, Push([b"lock-granted", key, 1 << 62, owner]), Push([b"lock-granted", [b"k"], [3], b"o"]), b"OK"]
    data = b":1\r\n" + push + many + b"+OK\r\n"
    for cut in range(len(data)):
        parser = Parser()
        got = [*parser.feed(data[:cut]), *parser.feed(data[cut:])]
        assert got == want and [type(it) is Push for it in got] == [False, True, True, False]


def test_a_reply_whose_taking_was_interrupted_is_no_reply(played):
    call = played.ask(wait=60)
    played.sent()
    take, sent = played.core.attached.awaited[0]

    def interrupted(reply, error):
        raise KeyboardInterrupt

    played.core.attached.awaited[0] = interrupted, sent
    with pytest.raises(KeyboardInterrupt):  # an exception comes before the reply is taken
        played.reply(b"+QUEUED\r\n")
    played.core.attached.taking = take
    played.gone("a call was interrupted")
    played.now += 1
    assert [words[0] for words in played.attach()] == ["LOCK"]
    played.reply(b":9\r\n")
    assert call.result.token(b"k") == 9


@pytest.mark.parametrize("where", ["finish", "drop", "idle"])
def test_a_grant_whose_taking_was_interrupted(where, played, monkeypatch):
    """A caller that reads for all is interrupted while another one's call ends: that ends, or is asked again."""
    first, second = played.hold(), played.ask(wait=60)
    other = played.ask(wait=60)
    played.sent()
    played.reply(b"+QUEUED\r\n" * 2)
    played.core.release(first, Call(lambda: None), played.now)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*{"finish": (Call, "finish"), "drop": (Core, "_drop"), "idle": (Core, "_idle")}[where], interrupted)
        with pytest.raises(KeyboardInterrupt):
            granted(played, second)
    played.core.attached.broken = package.NoConnection("a call was interrupted")
    played.core.repair(played.now)
    counted, real = counts(played.core)
    assert counted == real
    played.gone("a call was interrupted")
    played.now += 1
    asked = [words[2] for words in played.attach() if words[0] == "LOCK"]
    assert second.over == (where != "finish")
    assert asked == [call.task.owner.decode() for call in (second, other) if not call.over]
