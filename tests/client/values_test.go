package client_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// second is the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// third is the error of a call with three results.
func third[T, U any](_ T, _ U, err error) error { return err }

// use gives a bad value to a call.
type use func(s subject) error

// anyValue are the calls with values that take each of them, with the reason.
var anyValue = map[string]string{
	"Client.Delay": "the calls of a Delay refuse an empty name", "Client.Latch": "the calls of a Latch refuse an empty name",
	"Client.Sale": "the calls of a Sale refuse an empty name", "Client.Limiter": "the calls of a Limiter refuse what it is made of",
	"Client.Semaphore": "the calls of a Semaphore refuse what it is made of", "Semaphore.Initial": "the calls of a Semaphore refuse what it is made of",
	"Client.Locker": "Lock of a Locker panics with the error of Client.Lock",
	"Entry.Field":   "no field has the name", "Ending": "the text of any error", "Logger": "nil logs nothing", "Observe": "hooks may be nil",
	"Wait": "0 and less: do not wait", "Trace": "the server refuses what is no traceparent", "Value": "any text",
	"MySQL": "Lock.Fence and Entry.Once refuse none",
	"Lease": "the calls with the option refuse it", "Permits": "the calls with the option refuse it",
	"Priority": "the calls with the option refuse it",
	"After":    "Delay.Add and Delay.Move refuse it", "At": "Delay.Add and Delay.Move refuse it",
}

// badSettings lists the constructors that refuse their arguments.
func badSettings() []struct {
	call string
	make func(n *network, t *testing.T) error
} {
	type row = struct {
		call string
		make func(n *network, t *testing.T) error
	}
	with := func(setting client.Setting) func(n *network, t *testing.T) error {
		return func(n *network, t *testing.T) error { return second(client.New(n.library(t), setting)) }
	}
	return []row{
		{"New", func(*network, *testing.T) error { return second(client.New(nil)) }},
		{"NewCluster", func(*network, *testing.T) error { return second(client.NewCluster(nil)) }},
		{"NewWith", func(*network, *testing.T) error { return second(client.NewWith(nil)) }},
		{"Timeout", with(client.Timeout(0))}, {"Timeout", with(client.Timeout(-1))}, {"Name", with(client.Name(""))},
	}
}

// badValues are calls that are refused, by their names and what is wrong with them.
func badValues() map[string]use {
	calls := map[string]use{
		"Client.MLock: no keys":         func(s subject) error { return second(s.MLock(ctx, nil)) },
		"Client.MLock: an empty key":    func(s subject) error { return second(s.MLock(ctx, []string{"a", ""})) },
		"Client.Lock: Permits(1)":       func(s subject) error { return second(s.Lock(ctx, "k", client.Permits(1))) },
		"Client.Lock: Permits(0)":       func(s subject) error { return second(s.Lock(ctx, "k", client.Permits(0))) },
		"Client.Lock: Value of a task":  func(s subject) error { return second(s.Lock(s.Task(ctx), "k", client.Value("v"))) },
		"Client.Campaign: no function":  func(s subject) error { return s.Campaign(ctx, "k", nil) },
		"Lock.Guard: no command":        func(s subject) error { return second(s.lock.Guard(ctx)) },
		"Lock.Guard: an empty command":  func(s subject) error { return second(s.lock.Guard(ctx, "")) },
		"Lock.Guard: a number":          func(s subject) error { return second(s.lock.Guard(ctx, 1, "k")) },
		"Lock.Guard: nil":               func(s subject) error { return second(s.lock.Guard(ctx, "SET", "data", nil)) },
		"Permit.Guard: no command":      func(s subject) error { return second(s.permit.Guard(ctx)) },
		"Semaphore.Acquire: 3 of 2":     func(s subject) error { return second(s.Semaphore("s", 2).Acquire(ctx, client.Permits(3))) },
		"Semaphore.Acquire: -1":         func(s subject) error { return second(s.Semaphore("s", -1).Acquire(ctx)) },
		"Semaphore.TryAcquire: -1":      func(s subject) error { return second(s.Semaphore("s", -1).TryAcquire(ctx)) },
		"Semaphore.Acquire: Initial 0":  func(s subject) error { return second(s.Semaphore("s", 2).Initial(0).Acquire(ctx)) },
		"Semaphore.Acquire: Initial -1": func(s subject) error { return second(s.Semaphore("s", 2).Initial(-1).Acquire(ctx)) },
		"Sale.Buy: two numbers":         func(s subject) error { return second(s.Sale("v").Buy(ctx, "u", "o", 1, 1)) },
		"Latch.Down: two numbers":       func(s subject) error { return second(s.Latch("l").Down(ctx, math.MaxInt, math.MaxInt)) },
		"Delay.Add: no fields":          func(s subject) error { return third(s.Delay("d").Add(ctx, "i", client.After(0))) },
		"Delay.Add: half a pair":        func(s subject) error { return third(s.Delay("d").Add(ctx, "i", client.After(0), "a")) },
		"Delay.List: a count of -1":     func(s subject) error { return second(s.Delay("d").List(ctx, time.Time{}, -1)) },
		"Delay.List: an unknown year":   func(s subject) error { return second(s.Delay("d").List(ctx, time.Unix(math.MaxInt64/2, 0), 1)) },
		"Lock.Fence: no transaction":    func(s subject) error { return s.lock.Fence(ctx, nil, client.Row{Table: "t", ID: 1}) },
		"Lock.Fence: MySQL of none":     func(s subject) error { return s.lock.Fence(ctx, client.MySQL(nil), client.Row{Table: "t", ID: 1}) },
		"Entry.Once: no transaction":    func(subject) error { return second(client.Entry{Stream: "s", Group: "g", ID: "1-0"}.Once(ctx, nil)) },
		"Entry.Once: MySQL of none": func(subject) error {
			return second(client.Entry{Stream: "s", Group: "g", ID: "1-0"}.Once(ctx, client.MySQL(nil)))
		},
		"Entry.Once: no entry": func(subject) error { return second(client.Entry{}.Once(ctx, &statements{})) },
	}
	for i, wrong := range []client.Row{{}, {Table: "bills"}, {Table: "bills; DROP", ID: 1}, {Table: "bills", ID: 1, Key: "a b"}, {Table: "bills", ID: 1, Column: "1"}} {
		calls[fmt.Sprintf("Lock.Fence: row %d", i)] = func(s subject) error { return s.lock.Fence(ctx, &statements{}, wrong) }
	}
	for _, d := range []time.Duration{0, -1, time.Microsecond, math.MinInt64} {
		name, lease := ": a lease of "+d.String(), client.Lease(d)
		calls["Client.Lock"+name] = func(s subject) error { return second(s.Lock(ctx, "k", lease)) }
		calls["Client.TryLock"+name] = func(s subject) error { return second(s.TryLock(ctx, "k", lease)) }
		calls["Client.RLock"+name] = func(s subject) error { return second(s.RLock(ctx, "k", lease)) }
		calls["Client.MLock"+name] = func(s subject) error { return second(s.MLock(ctx, []string{"k"}, lease)) }
		calls["Semaphore.Acquire"+name] = func(s subject) error { return second(s.Semaphore("s", 1).Acquire(ctx, lease)) }
		calls["Lock.Renew"+name] = func(s subject) error { return s.lock.Renew(ctx, d) }
		calls["Permit.Renew"+name] = func(s subject) error { return s.permit.Renew(ctx, d) }
	}
	for name, due := range map[string]client.Due{
		"none": {}, "After(-1)": client.After(-1), "After(min)": client.After(math.MinInt64), "At(zero)": client.At(time.Time{}),
		"At(max)": client.At(time.Unix(math.MaxInt64/2, 0)), "At(min)": client.At(time.Unix(math.MinInt64/2, 0)),
	} {
		calls["Delay.Add: "+name] = func(s subject) error { return third(s.Delay("d").Add(ctx, "i", due, "a", "b")) }
		calls["Delay.Move: "+name] = func(s subject) error { return second(s.Delay("d").Move(ctx, "i", due)) }
	}
	for i, wrong := range []client.Rule{{}, {Every: time.Second, Cron: "* * * * *"}, {Every: -1}, {Every: time.Microsecond}, {Every: time.Second, Zone: "UTC"},
		{Zone: "UTC"}, {Every: time.Second, Times: -1}, {Every: time.Second, Missed: -1}, {Every: time.Second, Missed: 3},
		{Every: time.Second, Until: time.Unix(math.MaxInt64/2, 0)}, {Every: time.Second, First: client.After(-1)}, {Cron: "* * * * *", First: client.At(time.Time{})}} {
		calls[fmt.Sprintf("Delay.AddRecurring: rule %d", i)] = func(s subject) error {
			return third(s.Delay("d").AddRecurring(ctx, "i", wrong, "a", "b"))
		}
	}
	calls["Delay.AddRecurring: no fields"] = func(s subject) error {
		return third(s.Delay("d").AddRecurring(ctx, "i", client.Rule{Every: time.Second}))
	}
	for _, n := range []int{-1, 10, math.MinInt} {
		name, priority := fmt.Sprint(": a priority of ", n), client.Priority(n)
		calls["Client.Lock"+name] = func(s subject) error { return second(s.Lock(ctx, "k", priority)) }
		calls["Client.TryLock"+name] = func(s subject) error { return second(s.TryLock(ctx, "k", priority)) }
		calls["Client.RLock"+name] = func(s subject) error { return second(s.RLock(ctx, "k", priority)) }
		calls["Client.MLock"+name] = func(s subject) error { return second(s.MLock(ctx, []string{"k"}, priority)) }
		calls["Semaphore.Acquire"+name] = func(s subject) error { return second(s.Semaphore("s", 1).Acquire(ctx, priority)) }
	}
	for _, n := range []int{0, -1} {
		name := fmt.Sprint(": ", n)
		calls["Semaphore.Acquire: permits"+name] = func(s subject) error { return second(s.Semaphore("s", 1).Acquire(ctx, client.Permits(n))) }
		calls["Semaphore.TryAcquire: permits"+name] = func(s subject) error {
			return second(s.Semaphore("s", 1).TryAcquire(ctx, client.Permits(n)))
		}
		calls["Semaphore.Resize"+name] = func(s subject) error { return second(s.Semaphore("s", 1).Resize(ctx, n)) }
		calls["Latch.Set"+name] = func(s subject) error { return second(s.Latch("l").Set(ctx, n)) }
		calls["Latch.Down"+name] = func(s subject) error { return second(s.Latch("l").Down(ctx, n)) }
		calls["Sale.Buy"+name] = func(s subject) error { return second(s.Sale("v").Buy(ctx, "u", "o", n)) }
	}
	year := time.Unix(math.MaxInt64/2, 0)
	for i, wrong := range []client.Terms{{}, {Stock: -1}, {Stock: 5, Hold: time.Microsecond}, {Stock: 5, Hold: -1}, {Stock: 5, Limit: -1},
		{Stock: 5, Start: year}, {Stock: 5, End: year}, {Stock: 5, RateAll: true}, {Stock: 5, Start: time.Unix(2, 0), End: time.Unix(1, 0)},
		{Stock: 5, Rate: client.Rate{Count: 1, Period: time.Second / 300}}, {Stock: 5, Rate: client.Rate{Count: 1}}, {Stock: 5, Rate: client.Rate{Burst: 1}},
		{Stock: 5, Rate: client.Rate{Count: 1, Burst: -1, Period: time.Second}}} {
		calls[fmt.Sprintf("Sale.Create: terms %d", i)] = func(s subject) error { return second(s.Sale("v").Create(ctx, wrong)) }
	}
	handle := func(context.Context, client.Entry) error { return nil }
	for i, wrong := range []client.Work{{}, {Stream: "s", Group: "g"}, {Stream: "", Group: "g", Handle: handle}, {Stream: "s", Handle: handle},
		{Stream: "s", Group: "g", Handle: handle, Attempts: -1}, {Stream: "s", Group: "g", Handle: handle, Parallel: -1},
		{Stream: "s", Group: "g", Handle: handle, Dead: "s"},
		{Stream: "s", Group: "g", Handle: handle, ClaimAfter: time.Microsecond}, {Stream: "s", Group: "g", Handle: handle, ClaimAfter: -1}} {
		calls[fmt.Sprintf("Client.Worker: work %d", i)] = func(s subject) error { return second(s.Worker(wrong)) }
	}
	maps.Copy(calls, badRates())
	for what, call := range emptyNames() {
		calls[what+": an empty name"] = call
	}
	return calls
}

// badRates are calls of limiters that are refused.
func badRates() map[string]use {
	calls := make(map[string]use)
	wrong := map[string]client.Rate{"none": {}, "a burst of 0": {Count: 1, Period: time.Second}, "a burst of -1": {Burst: -1, Count: 1, Period: time.Second},
		"a count of 0": {Burst: 1, Period: time.Second}, "a count of -1": {Burst: 1, Count: -1, Period: time.Second}}
	for _, d := range []time.Duration{0, -time.Second, time.Microsecond, time.Second / 300, time.Second + 1} {
		wrong["a period of "+d.String()] = client.Rate{Burst: 1, Count: 1, Period: d}
	}
	for what, r := range wrong {
		for name, call := range limiting("l", r) {
			calls[name+": "+what] = func(s subject) error { return call(s) }
		}
	}
	two := client.Rate{Burst: 2, Count: 1, Period: time.Second}
	for what, cost := range map[string][]int{"above the burst": {3}, "negative": {-1}, "two": {1, 1}, "large": {math.MaxInt, math.MaxInt}} {
		for name, call := range limiting("l", two, cost...) {
			calls[name+": a cost that is "+what] = func(s subject) error { return call(s) }
		}
	}
	several := map[string]func(s subject) []client.Limiter{
		"none":           func(subject) []client.Limiter { return nil },
		"one twice":      func(s subject) []client.Limiter { return []client.Limiter{s.Limiter("l", two), s.Limiter("l", rate)} },
		"one that is no": func(s subject) []client.Limiter { return []client.Limiter{s.Limiter("l", two), {}} },
		"65": func(s subject) (many []client.Limiter) {
			for i := range 65 {
				many = append(many, s.Limiter(fmt.Sprint("l", i), two))
			}
			return many
		},
	}
	for what, of := range several {
		calls["Client.TakeLimits: "+what] = func(s subject) error { return second(s.TakeLimits(ctx, of(s))) }
		calls["Client.WaitLimits: "+what] = func(s subject) error { return second(s.WaitLimits(ctx, of(s))) }
	}
	return calls
}

// limiting are the calls of a limiter with that rate, and of it beside another one.
func limiting(key string, r client.Rate, cost ...int) map[string]use {
	wide := client.Rate{Burst: math.MaxInt, Count: 1, Period: time.Millisecond}
	both := func(s subject) []client.Limiter { return []client.Limiter{s.Limiter("wide", wide), s.Limiter(key, r)} }
	return map[string]use{
		"Limiter.Take":      func(s subject) error { return second(s.Limiter(key, r).Take(ctx, cost...)) },
		"Limiter.Give":      func(s subject) error { return second(s.Limiter(key, r).Give(ctx, cost...)) },
		"Limiter.Wait":      func(s subject) error { return second(s.Limiter(key, r).Wait(ctx, cost...)) },
		"Client.TakeLimits": func(s subject) error { return second(s.TakeLimits(ctx, both(s), cost...)) },
		"Client.WaitLimits": func(s subject) error { return second(s.WaitLimits(ctx, both(s), cost...)) },
	}
}

// emptyNames are calls with an empty key or id, by their names.
func emptyNames() map[string]use {
	calls := map[string]use{
		"Client.Lock":        func(s subject) error { return second(s.Lock(ctx, "")) },
		"Client.TryLock":     func(s subject) error { return second(s.TryLock(ctx, "")) },
		"Client.RLock":       func(s subject) error { return second(s.RLock(ctx, "")) },
		"Client.Info":        func(s subject) error { return third(s.Info(ctx, "")) },
		"Client.Locked":      func(s subject) error { return second(s.Locked(ctx, "")) },
		"Client.ForceUnlock": func(s subject) error { return second(s.ForceUnlock(ctx, "")) },
		"Client.Campaign": func(s subject) error {
			return s.Campaign(ctx, "", func(context.Context) error { return nil })
		},
		"Semaphore.Acquire":     func(s subject) error { return second(s.Semaphore("", 1).Acquire(ctx)) },
		"Semaphore.TryAcquire":  func(s subject) error { return second(s.Semaphore("", 1).TryAcquire(ctx)) },
		"Semaphore.Resize":      func(s subject) error { return second(s.Semaphore("", 1).Resize(ctx, 1)) },
		"Latch.Set":             func(s subject) error { return second(s.Latch("").Set(ctx, 1)) },
		"Latch.Down":            func(s subject) error { return second(s.Latch("").Down(ctx)) },
		"Sale.Create":           func(s subject) error { return second(s.Sale("").Create(ctx, client.Terms{Stock: 1})) },
		"Sale.Buy: voucher":     func(s subject) error { return second(s.Sale("").Buy(ctx, "u", "o")) },
		"Sale.Buy: user":        func(s subject) error { return second(s.Sale("v").Buy(ctx, "", "o")) },
		"Sale.Buy: order":       func(s subject) error { return second(s.Sale("v").Buy(ctx, "u", "")) },
		"Sale.Confirm: voucher": func(s subject) error { return second(s.Sale("").Confirm(ctx, "u", "o")) },
		"Sale.Confirm: order":   func(s subject) error { return second(s.Sale("v").Confirm(ctx, "u", "")) },
		"Sale.Cancel: user":     func(s subject) error { return second(s.Sale("v").Cancel(ctx, "", "o")) },
		"Sale.CancelPart":       func(s subject) error { return second(s.Sale("v").CancelPart(ctx, "u", "o", 0)) },
		"Sale.CancelPart: user": func(s subject) error { return second(s.Sale("v").CancelPart(ctx, "", "o", 1)) },
		"Sale.Extend":           func(s subject) error { return second(s.Sale("v").Extend(ctx, "u", "o", -1)) },
		"Sale.Extend: order":    func(s subject) error { return second(s.Sale("v").Extend(ctx, "u", "", time.Minute)) },
		"Client.BuyCart":        func(s subject) error { return buy(ctx, s, []client.CartPart{{Voucher: "v"}}) },
		"Client.BuyCart: empty": func(s subject) error { return buy(ctx, s, nil) },
		"Client.BuyCart: name":  func(s subject) error { return buy(ctx, s, []client.CartPart{{Pieces: 1}}) },
		"Client.Ask":            func(s subject) error { return second(s.Ask(ctx, "", "why")) },
		"Client.Ask: reason":    func(s subject) error { return second(s.Ask(ctx, "k", strings.Repeat("x", 1<<20))) },
		"Delay.Add":             func(s subject) error { return third(s.Delay("").Add(ctx, "i", client.After(0), "a", "b")) },
		"Delay.Cancel":          func(s subject) error { return second(s.Delay("d").Cancel(ctx, "")) },
		"Delay.Move":            func(s subject) error { return second(s.Delay("d").Move(ctx, "", client.After(0))) },
		"Delay.Get":             func(s subject) error { return third(s.Delay("d").Get(ctx, "")) },
		"Delay.List":            func(s subject) error { return second(s.Delay("").List(ctx, time.Time{}, 0)) },
	}
	maps.Copy(calls, limiting("", rate))
	return calls
}

// noNames are the calls without values of their own, of things with an empty name.
func noNames() []use {
	return []use{
		func(s subject) error { return third(s.Semaphore("", 1).Info(ctx)) },
		func(s subject) error { return second(s.Latch("").Count(ctx)) },
		func(s subject) error { return s.Latch("").Wait(ctx) },
		func(s subject) error { return third(s.Sale("").Info(ctx)) },
		func(s subject) error { return second(s.Delay("").Count(ctx)) },
	}
}

// TestBadValues: a value that cannot be is refused by the call that it is given to. Nothing changes, and the
// client goes on.
func TestBadValues(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		held := subjectOf(t, c)
		for what, call := range badValues() {
			func() {
				defer func() { assert.Nil(t, recover(), what) }()
				assert.ErrorIs(t, call(held), client.ErrValue, what)
			}()
		}
		for i, call := range noNames() {
			require.ErrorIs(t, call(held), client.ErrValue, i)
		}
		for _, row := range badSettings() {
			require.ErrorIs(t, row.make(n, t), client.ErrValue, row.call)
		}
		require.Equal(t, int64(2), op.Do("DBSIZE").Int)
		require.NoError(t, held.lock.Unlock(ctx))
		require.NoError(t, held.permit.Release(ctx))
	})
}

// TestExtremeValues: a very long time does not count as one that has passed.
func TestExtremeValues(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		c := n.client(t, client.Timeout(math.MaxInt64))
		held, err := c.Lock(ctx, "k", client.Lease(math.MaxInt64))
		require.NoError(t, err)
		came := make(chan error, 4)
		for _, call := range []func() error{
			func() error {
				l, err := c.Lock(ctx, "k", client.Wait(math.MaxInt64))
				if err == nil {
					err = l.Unlock(ctx)
				}
				return err
			},
			func() error {
				limited, cancel := context.WithDeadline(ctx, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
				defer cancel()
				l, err := c.Lock(limited, "k")
				if err == nil {
					err = l.Unlock(ctx)
				}
				return err
			},
			func() error { return c.Latch("latch").Wait(ctx) },
		} {
			op.Do("LATCH.SET", "latch", "1")
			go func() { came <- call() }()
		}
		_, added, err := c.Delay("d").Add(ctx, "i", client.After(math.MaxInt64), "a", "b")
		require.NoError(t, err)
		require.True(t, added)
		_, added, err = c.Delay("d").Add(ctx, "j", client.At(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)), "a", "b")
		require.NoError(t, err)
		require.True(t, added)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Empty(t, came, "they wait")
		require.NoError(t, held.Context().Err())
		require.Equal(t, int64(1), op.Do("XLEN", "d").Int, "the one that was past")
		require.Equal(t, int64(1), op.Do("DELAY.COUNT", "d").Int)
		op.Do("LATCH.DOWN", "latch")
		require.NoError(t, held.Unlock(ctx))
		for range 3 {
			require.NoError(t, <-came)
		}
		l, err := c.Lock(ctx, "k", client.Lease(1999*time.Microsecond))
		require.NoError(t, err)
		began := time.Now()
		isLoss(t, ends(t, l), "k", l.Token(), "expired")
		require.LessOrEqual(t, time.Since(began), time.Millisecond, "no later than on the server")
	})
}
