package readme

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// recipe runs the commands of docs/RECIPES.md on a server with a clock that only the test moves. So the
// later steps of a recipe happen, too.
type recipe struct {
	*testing.T
	srv   *server.Server
	clock *server.ManualClock
	shown []string // the commands of the page
}

// aFriday is the day before the clocks of Berlin skip an hour, at noon in UTC.
var aFriday = time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)

func newRecipe(t *testing.T) *recipe {
	t.Parallel()
	r := &recipe{T: t, clock: server.NewManualClock(aFriday)}
	_, blocks := page{path: "docs/RECIPES.md"}.read(t)
	for _, b := range blocks {
		if b.language == "console" {
			for _, s := range steps(b) {
				r.shown = append(r.shown, s.command)
			}
		}
	}
	var err error
	r.srv, err = server.New(server.Options{Clock: r.clock, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, r.srv.Start())
	t.Cleanup(func() { _ = r.srv.Close() })
	return r
}

// program is a program that follows a recipe, with a connection of its own.
func (r *recipe) program() *testkit.Client { return testkit.Dial(r, r.srv.Dial) }

// command returns the command of the page that begins and ends with these texts.
func (r *recipe) command(begin, end string) []string {
	r.Helper()
	i := slices.IndexFunc(r.shown, func(c string) bool { return strings.HasPrefix(c, begin) && strings.HasSuffix(c, end) })
	require.GreaterOrEqual(r, i, 0, "the page does not show %s ... %s", begin, end)
	return words(r.shown[i])
}

// goOn moves the clock, in steps that are shorter than the time between two renewals of a lease.
func (r *recipe) goOn(d time.Duration) {
	for ; d > 5*time.Second; d -= 5 * time.Second {
		r.clock.Advance(5 * time.Second)
	}
	r.clock.Advance(d)
}

// dies ends a program, and waits until the server knows.
func (r *recipe) dies(program, other *testkit.Client) {
	r.Helper()
	id := strconv.FormatInt(program.Do("CLIENT", "ID").Int, 10)
	program.Close()
	require.Eventually(r, func() bool { return other.Do("CLIENT", "LIST", "ID", id).Str == "" }, time.Minute, time.Millisecond)
}

// entries returns the fields of the entries of a stream, each with its value.
func entries(v resp.Value) (list []string) {
	for _, e := range v.Elems {
		var words []string
		for _, w := range e.Elems[1].Elems {
			words = append(words, w.Str)
		}
		list = append(list, strings.Join(words, " "))
	}
	return list
}

// TestDebounceFires: the save comes once, twenty seconds after the last change, and can be asked for again.
func TestDebounceFires(t *testing.T) {
	r := newRecipe(t)
	c := r.program()
	add, putOff := r.command("DELAY.ADD saves", ""), r.command("DELAY.MOVE saves", "")
	require.Equal(t, "doc-7", c.Do(add...).Str)
	for range 3 {
		r.goOn(15 * time.Second)
		require.True(t, c.Do(add...).IsNull())
		require.EqualValues(t, 1, c.Do(putOff...).Int)
	}
	r.goOn(20*time.Second - time.Millisecond)
	require.Zero(t, c.Do("XLEN", "saves").Int)
	r.goOn(time.Millisecond)
	require.Equal(t, []string{"doc 7"}, entries(c.Do("XRANGE", "saves", "-", "+")))
	require.EqualValues(t, 0, c.Do(putOff...).Int, "the save has begun")
	require.Equal(t, "doc-7", c.Do(add...).Str)
	// Without DELAY.MOVE it is a throttle.
	r.goOn(19 * time.Second)
	require.True(t, c.Do(add...).IsNull())
	r.goOn(time.Second)
	require.EqualValues(t, 2, c.Do("XLEN", "saves").Int)
}

// TestBreakerProbes: failures far apart do not open the breaker. While it is open one program in thirty
// seconds may try, and a call that succeeds closes it.
func TestBreakerProbes(t *testing.T) {
	r := newRecipe(t)
	c, other := r.program(), r.program()
	failed, mayCall := r.command("EVAL", "3 {mail}failures {mail}open {mail}probe"), r.command("EVAL", "2 {mail}open {mail}probe")
	closes := r.command("DEL {mail}", "")
	for range 4 {
		require.EqualValues(t, 0, c.Do(failed...).Int)
		r.goOn(time.Minute)
	}
	require.EqualValues(t, 1, other.Do(mayCall...).Int)
	for _, open := range []int64{0, 0, 1} {
		require.EqualValues(t, open, c.Do(failed...).Int)
	}
	for range 2 { // the first call that tries fails, too
		r.goOn(30*time.Second - time.Millisecond)
		require.EqualValues(t, 0, other.Do(mayCall...).Int)
		r.goOn(time.Millisecond)
		require.EqualValues(t, 1, other.Do(mayCall...).Int, "the call that tries")
		require.EqualValues(t, 0, c.Do(mayCall...).Int, "one program tries")
		require.EqualValues(t, 1, other.Do(failed...).Int)
	}
	other.Do(closes...)
	require.EqualValues(t, 1, c.Do(mayCall...).Int)
}

// TestStandbyTakesOver: after the death of a leader the standby leads when the lease ends. A late write of
// the dead leader is refused.
func TestStandbyTakesOver(t *testing.T) {
	r := newRecipe(t)
	leader, standby, watcher := r.program(), r.program(), r.program()
	first := leader.Do(r.command("LOCK leader node-1", "")...).Int
	require.Positive(t, first)
	standby.Send(r.command("LOCK leader node-2", "")...)
	holder := func() string {
		waiters := ""
		v := watcher.Do("LOCK.INFO", "leader")
		for i := 0; i+1 < len(v.Elems); i += 2 {
			if v.Elems[i].Str == "owner" {
				waiters = v.Elems[i+1].Str
			}
		}
		return waiters
	}
	require.Eventually(t, func() bool { return len(watcher.Do("LOCK.WAITERS").Elems) == 1 }, time.Minute, time.Millisecond)
	r.goOn(20 * time.Second)
	require.Equal(t, "node-1", holder(), "the lease is renewed")
	r.dies(leader, watcher)
	require.Equal(t, "node-1", holder(), "the lease has not ended")
	r.goOn(30 * time.Second)
	next := standby.Receive().Int
	require.Greater(t, next, first)
	require.Equal(t, "node-2", holder())
	require.Contains(t, watcher.Do("GUARD", "leader", strconv.FormatInt(first, 10), "SET", "state", "old").String(), "STALETOKEN")
	require.Equal(t, "OK", standby.Do("GUARD", "leader", strconv.FormatInt(next, 10), "SET", "state", "new").Str)
}

// TestOutboxAfterADeath: a program that dies leaves the look at its order. A program that ends leaves no
// look. The message of a slow program comes twice.
func TestOutboxAfterADeath(t *testing.T) {
	r := newRecipe(t)
	add, send := r.command("DELAY.ADD checks", ""), r.command("EVAL", "orders checks")
	worker := r.program()
	require.Equal(t, "OK", worker.Do("XGROUP", "CREATE", "checks", "workers", "0", "MKSTREAM").Str)
	look := func() []string {
		v := worker.Do("XREADGROUP", "GROUP", "workers", "worker-1", "STREAMS", "checks", ">")
		if v.IsNull() {
			return nil
		}
		return entries(v.Elems[0].Elems[1])
	}
	dead := r.program()
	require.Equal(t, "order-7", dead.Do(add...).Str)
	r.dies(dead, worker)
	r.goOn(time.Minute - time.Millisecond)
	require.Empty(t, look())
	r.goOn(time.Millisecond)
	require.Equal(t, []string{"order 7"}, look())

	quick := r.program()
	require.Equal(t, "order-7", quick.Do(add...).Str)
	require.EqualValues(t, 1, quick.Do(send...).Int)
	r.goOn(time.Hour)
	require.Empty(t, look())
	require.EqualValues(t, 1, worker.Do("XLEN", "orders").Int)

	slow := r.program()
	require.Equal(t, "order-7", slow.Do(add...).Str)
	r.goOn(time.Minute)
	require.Equal(t, []string{"order 7"}, look())
	require.EqualValues(t, 0, slow.Do(send...).Int)
	require.EqualValues(t, 2, worker.Do("XLEN", "orders").Int)
}

// TestCronOverMachines: of two machines that add the job, and read its stream, one runs it each night at
// three in Berlin, on the day on which the clocks change, too. The other machine runs the job of a machine
// that dies.
func TestCronOverMachines(t *testing.T) {
	r := newRecipe(t)
	first, second := r.program(), r.program()
	add := r.command("DELAY.ADD jobs CRON", "")
	require.Equal(t, "OK", first.Do(r.command("XGROUP CREATE jobs", "")...).Str)
	require.Equal(t, "nightly", first.Do(add...).Str)
	require.True(t, second.Do(add...).IsNull())
	read := func(c *testkit.Client, machine string) (id string, fields []string) {
		v := c.Do("XREADGROUP", "GROUP", "machines", machine, "COUNT", "1", "STREAMS", "jobs", ">")
		if v.IsNull() {
			return "", nil
		}
		list := v.Elems[0].Elems[1]
		return list.Elems[0].Elems[0].Str, entries(list)
	}
	for _, due := range []time.Time{time.Date(2026, 3, 28, 2, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)} {
		r.clock.Set(due.Add(-time.Millisecond))
		r.clock.Advance(0)
		_, fields := read(first, "web-1")
		require.Empty(t, fields, "before %v", due)
		r.clock.Advance(time.Millisecond)
		id, fields := read(first, "web-1")
		require.Equal(t, []string{"job nightly delay.due " + strconv.FormatInt(due.UnixMilli(), 10)}, fields)
		_, fields = read(second, "web-2")
		require.Empty(t, fields, "one machine runs it")
		r.dies(first, second)
		r.goOn(10 * time.Minute)
		claimed := second.Do("XAUTOCLAIM", "jobs", "machines", "web-2", "600000", "0").Elems[1]
		require.Equal(t, id, claimed.Elems[0].Elems[0].Str, "the other machine runs it after the first one died")
		require.EqualValues(t, 1, second.Do("XACK", "jobs", "machines", id).Int)
		first = r.program()
		require.True(t, first.Do(add...).IsNull(), "a machine that starts again adds nothing")
	}
	require.EqualValues(t, 2, second.Do("XLEN", "jobs").Int)
}

// TestRestartAndAnswerEnd: the permit of a machine that does not come back ends, and so does a kept answer.
func TestRestartAndAnswerEnd(t *testing.T) {
	r := newRecipe(t)
	c := r.program()
	for _, machine := range []string{"web-1", "web-2"} {
		require.Positive(t, c.Do(r.command("SEM.ACQUIRE restart "+machine, "")...).Int)
	}
	third := r.command("SEM.ACQUIRE restart web-3", "")
	require.Equal(t, "OK", c.Do(r.command("SET {pay:5d1c}answer", "")...).Str)
	r.goOn(15*time.Minute - time.Millisecond)
	require.True(t, c.Do(third...).IsNull())
	r.goOn(time.Millisecond)
	require.Positive(t, c.Do(third...).Int)
	require.Equal(t, "201 paid", c.Do("GET", "{pay:5d1c}answer").Str)
	r.clock.Advance(24 * time.Hour)
	require.True(t, c.Do("GET", "{pay:5d1c}answer").IsNull())
}
