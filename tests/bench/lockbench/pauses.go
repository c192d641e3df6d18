package lockbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// pauseWatchdog is lock-watchdog-timeout of the server, in milliseconds. Queue places without a connection
// end after a third of it, and leases after all of it.
const pauseWatchdog = 3000

// pauseProgram returns the program of such a server.
func (b *bench) pauseProgram() benchkit.Product {
	return benchkit.Product{Name: b.lockserver.Name, Path: b.lockserver.Path,
		Args: []string{"--lock-watchdog-timeout", strconv.Itoa(pauseWatchdog), "--client-output-buffer-limit", "pubsub 0 0 0"}}
}

// mass describes very many waits, or locks, of one connection, and how all of them end at once.
type mass struct {
	what string
	// begin creates them on a connection.
	begin func(b *bench, s *benchkit.Server, c *benchkit.Conn) error
	// end ends them while the probes run, or is nil if they end by themselves. It runs on the same connection
	// or on another one.
	end func(b *bench, c *benchkit.Conn) error
	// deaf means that the connection reads nothing from then on, and another one runs end.
	deaf bool
	// locks means that they are locks, which are gone when their leases have ended.
	locks bool
	// beside means that another connection has attached another prefix.
	beside bool
}

// masses returns the rows of the report.
func masses() []mass {
	closed := func(_ *bench, c *benchkit.Conn) error {
		c.Close()
		return nil
	}
	return []mass{
		{what: "waits are cancelled", begin: queueWaits, end: cancelWaits},
		{what: "waits of a client that does not read are cancelled", begin: queueWaits, end: cancelWaits, deaf: true},
		{what: "waits lose their connection", begin: queueWaits, end: closed},
		{what: "waits time out in one moment", begin: queueTimedWaits},
		{what: "waits are granted, and not confirmed", begin: queueWaits, end: releaseHeld},
		{what: "waits of a client that does not read are granted, and not confirmed", begin: queueWaits, end: releaseHeld, deaf: true},
		{what: "readers of one lock are granted, and not confirmed", begin: queueReaders, end: deleteHeld},
		{what: "waits are granted by FLUSHALL, and not confirmed", begin: queueWaits, end: flushHeld},
		{what: "locks lose their connection", begin: ownLocks, end: closed, locks: true},
		{what: "locks lose their attached connection", begin: ownUnderPrefix, end: closed, locks: true},
		{what: "locks lose one of two attached connections", begin: ownUnderPrefix, end: closed, locks: true, beside: true},
	}
}

// pauses makes very many waits and locks of one connection end at once, and measures how long other requests
// wait meanwhile.
func (b *bench) pauses(ctx context.Context) error {
	n := benchkit.Grouped(float64(b.sizes.waiters))
	b.Report.Text(fmt.Sprintf("## Waits that end together\n\n%s waits with NOTIFY of one connection end at once, and %s locks of one connection. "+
		"lock-watchdog-timeout is %d ms. The probes, and what the columns say, are those of the leases above. Done is how long it took from then until "+
		"nothing of them was left.", n, n, pauseWatchdog))
	var rows [][]string
	for _, m := range masses() {
		got, err := b.endMass(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		longest := benchkit.InMS(benchkit.Percentile(got.latencies, 1))
		machine := benchkit.InMS(benchkit.Percentile(got.machine, 1))
		b.Say("pauses: %s: longest %.2f ms, machine %.2f ms, turn %.2f ms, done after %v", m.what, longest, machine, benchkit.InMS(got.turn), got.late)
		rows = append(rows, []string{m.what, waitOf(got.latencies, 0.5), waitOf(got.latencies, 0.999), benchkit.Milliseconds(longest),
			b.Report.AtMost("longest pause while "+m.what, longest, pauseTargetMS, benchkit.Milliseconds),
			benchkit.Milliseconds(machine), benchkit.Milliseconds(benchkit.InMS(got.turn)), benchkit.Milliseconds(benchkit.InMS(got.late)),
			benchkit.Fixed(float64(got.cpu)/float64(time.Microsecond)/float64(b.sizes.waiters), 2)})
	}
	b.Report.Table([]string{"what ends", "p50", "p99.9", "longest", "target", "machine", "turn", "done", "server CPU µs each"}, rows)
	return nil
}

// endMass makes one run on a new server.
func (b *bench) endMass(ctx context.Context, m mass) (got ended, err error) {
	s, err := benchkit.StartFresh(ctx, b.pauseProgram(), b.Dir)
	if err != nil {
		return got, err
	}
	defer s.Stop()
	c, err := benchkit.Dial(s.Addr)
	if err != nil {
		return got, err
	}
	defer c.Close()
	if _, err := s.Do("SET", "probe", "x"); err != nil {
		return got, err
	}
	if m.beside {
		other, err := benchkit.Dial(s.Addr)
		if err != nil {
			return got, err
		}
		defer other.Close()
		if _, err := other.Do("LOCK.ATTACH", "PREFIX", "another program"); err != nil {
			return got, err
		}
	}
	if err := m.begin(b, s, c); err != nil {
		return got, err
	}
	ending := c
	if m.deaf {
		if ending, err = benchkit.Dial(s.Addr); err != nil {
			return got, err
		}
		defer ending.Close()
	}
	go func() { _, _ = io.Copy(io.Discard, ending) }() // pushes and replies are dropped
	return b.probing(ctx, s, got, func(ctx context.Context, got *ended, before time.Duration) error {
		err := benchkit.Rest(ctx, probeLead)
		if err == nil && m.end != nil {
			err = m.end(b, ending)
		}
		if err != nil {
			return err
		}
		began := time.Now()
		err = awaitNone(ctx, s, m.locks)
		got.late = time.Since(began)
		if cpu, err := s.CPU(); err == nil {
			got.cpu = cpu - before
		}
		return err
	})
}

// awaitNone returns when there are no waits, no unconfirmed grants, and no renewed leases. With locks there
// are no locks, either.
func awaitNone(ctx context.Context, s *benchkit.Server, locks bool) error {
	for {
		left := 0
		for _, name := range []string{"lock_waiters_notify", "lock_grants_to_confirm", "lock_watchdogs"} {
			n, err := s.InfoNumber("locks", name)
			if err != nil {
				return err
			}
			left += n
		}
		if locks {
			text, err := s.Do("DBSIZE")
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			left += n - 1 // without the probe's key
		}
		if left == 0 {
			return nil
		}
		if benchkit.Rest(ctx, 10*time.Millisecond) != nil {
			return fmt.Errorf("%d are left at the end of the probes", left)
		}
	}
}

// sendAll sends a request for each number, and reads a reply to each. Pushes in between count as replies,
// too.
func sendAll(c *benchkit.Conn, n int, want string, request func(b []byte, i int) []byte) error {
	const pipeline = 100
	if err := c.SetDeadline(time.Now().Add(benchkit.Patience)); err != nil {
		return err
	}
	var out []byte
	for i := 0; i < n; i += pipeline {
		out = out[:0]
		for k := i; k < min(n, i+pipeline); k++ {
			out = request(out, k)
		}
		if err := c.Write(out); err != nil {
			return err
		}
		for k := i; k < min(n, i+pipeline); k++ {
			if err := c.Expect(want); err != nil {
				return err
			}
		}
	}
	return nil
}

// queueTo makes one connection wait for n locks, which another owner holds.
func queueTo(b *bench, s *benchkit.Server, c *benchkit.Conn, wait func(b benchkit.Request) []byte) error {
	if _, err := holdLocks(context.Background(), s, b.sizes.waiters); err != nil {
		return err
	}
	err := sendAll(c, b.sizes.waiters, "+QUEUED", func(b []byte, i int) []byte {
		return wait(benchkit.Command(b, 8).Arg("LOCK").Numbered(lockKey, i, "").Numbered(waiter, i, "").Arg("PX").Arg(longLease).Arg("WAIT"))
	})
	if err == nil { // from now on the connection gets pushes
		err = errors.Join(c.Write(benchkit.Command(nil, 2).Arg("HELLO").Arg("3")), c.Expect("%"))
	}
	return err
}

func queueWaits(b *bench, s *benchkit.Server, c *benchkit.Conn) error {
	return queueTo(b, s, c, func(r benchkit.Request) []byte { return r.Arg("0").Arg("NOTIFY") })
}

// queueReaders makes one connection wait for shared holds of one lock, which another owner holds.
func queueReaders(b *bench, s *benchkit.Server, c *benchkit.Conn) error {
	if _, err := s.Do("LOCK", readersKey, "writer", "PX", longLease); err != nil {
		return err
	}
	err := sendAll(c, b.sizes.waiters, "+QUEUED", func(b []byte, i int) []byte {
		return benchkit.Command(b, 9).Arg("LOCK").Arg(readersKey).Numbered(waiter, i, "").Arg("SHARED").Arg("PX").Arg(longLease).Arg("WAIT").Arg("0").Arg("NOTIFY")
	})
	if err == nil { // from now on the connection gets pushes
		err = errors.Join(c.Write(benchkit.Command(nil, 2).Arg("HELLO").Arg("3")), c.Expect("%"))
	}
	return err
}

// queueTimedWaits makes all waits end at the same moment, while the probes run.
func queueTimedWaits(b *bench, s *benchkit.Server, c *benchkit.Conn) error {
	at := time.Now().Add(time.Duration(b.sizes.waiters)*100*time.Microsecond + 2*time.Second)
	err := queueTo(b, s, c, func(r benchkit.Request) []byte { return r.Int(max(1, time.Until(at).Milliseconds())).Arg("NOTIFY") })
	if err == nil && time.Until(at) < probeLead {
		return fmt.Errorf("the machine is too busy: the waits took until %v before they end", time.Until(at))
	}
	time.Sleep(time.Until(at.Add(-probeLead)))
	return err
}

// cancelWaits cancels all waits, on one connection.
func cancelWaits(b *bench, c *benchkit.Conn) error {
	var out []byte
	for i := range b.sizes.waiters {
		out = benchkit.Command(out, 3).Arg("LOCK.CANCEL").Numbered(lockKey, i, "").Numbered(waiter, i, "")
	}
	return c.Write(out)
}

// releaseHeld releases the locks, so that all waits are granted. The grants are not confirmed.
func releaseHeld(b *bench, c *benchkit.Conn) error {
	var out []byte
	for i := range b.sizes.waiters {
		out = appendUnlock(out, i)
	}
	return c.Write(out)
}

// readersKey is the lock for which all readers wait.
const readersKey = "the lock of readers"

// deleteHeld lets all readers in by one command.
func deleteHeld(_ *bench, c *benchkit.Conn) error {
	return c.Write(benchkit.Command(nil, 2).Arg("DEL").Arg(readersKey))
}

// flushHeld removes all locks by one command, so that all waits are granted. The probe's key stays.
func flushHeld(_ *bench, c *benchkit.Conn) error {
	out := benchkit.Command(nil, 1).Arg("MULTI")
	out = benchkit.Command(out, 1).Arg("FLUSHALL")
	out = benchkit.Command(out, 3).Arg("SET").Arg("probe").Arg("x")
	return c.Write(benchkit.Command(out, 1).Arg("EXEC"))
}

// ownLocks makes one connection hold n locks that the server renews.
func ownLocks(b *bench, _ *benchkit.Server, c *benchkit.Conn) error {
	return sendAll(c, b.sizes.waiters, ":", func(b []byte, i int) []byte {
		return benchkit.Command(b, 3).Arg("LOCK").Numbered(lockKey, i, "").Numbered(holder, i, "")
	})
}

// ownUnderPrefix is ownLocks with a connection that is attached to the owners' prefix.
func ownUnderPrefix(b *bench, s *benchkit.Server, c *benchkit.Conn) error {
	if _, err := c.Do("LOCK.ATTACH", "PREFIX", holder); err != nil {
		return err
	}
	return ownLocks(b, s, c)
}
