package lockbench

import (
	"context"
	"errors"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// costConns is how many connections send at a time.
	costConns = 20
	// longPipeline is how many requests each of them sends at a time in the one
	// measurement; one in the other.
	longPipeline = 16
	// batch is how many locks are released, or acquired, between two looks at the CPU clock.
	batch = costConns * longPipeline
	// longLease outlasts every measurement, in milliseconds.
	longLease = "3600000"
)

// lockKey, holder and waiter are the prefixes of the key of a held lock, of its owner and of
// who waits for it. Twelve digits follow, so that no two locks have the same owner; names of
// that length are what libraries make.
const (
	lockKey = "lock:"
	holder  = "5b1f0d6e7a944c0b9a3e2f6f4f:"
	waiter  = "c0ffee1e7a944c0b9a3e2f6f4f:"
)

// appendLock acquires lock n.
func appendLock(b []byte, n int) []byte {
	return benchkit.Command(b, 5).Arg("LOCK").Numbered(lockKey, n, "").Numbered(holder, n, "").Arg("PX").Arg(longLease)
}

func appendUnlock(b []byte, n int) []byte {
	return benchkit.Command(b, 3).Arg("UNLOCK").Numbered(lockKey, n, "").Numbered(holder, n, "")
}

// holdLocks acquires locks 0 to about n-1 and returns how many they are.
func holdLocks(ctx context.Context, s *benchkit.Server, n int) (int, error) {
	return s.Fill(ctx, benchkit.Traffic{Append: appendLock, Want: benchkit.Always(":")}, n)
}

// cost is the CPU time of a server per request, in microseconds.
type cost struct{ lock, unlock float64 }

// churn is a walk over the n locks of a server that releases each and acquires it again a while later. It
// does so in batches of one kind, so that the CPU time of either is known. Locks that were acquired lately
// are not released soon: a walk over many finds none of them in the processor's caches.
type churn struct {
	pair  requestPair
	fleet *benchkit.Fleet
	n     int // locks that are held but for those between back and front
	front int // batches released so far
	back  int // batches acquired again so far
	out   []byte
}

// requestPair is how one asks a server for lock n, and gives it back, and how its replies begin.
type requestPair struct {
	lock, unlock     func(b []byte, n int) []byte
	locked, unlocked string
}

// alone is LOCK and UNLOCK.
var alone = requestPair{lock: appendLock, unlock: appendUnlock, locked: ":", unlocked: ":1"}

func newChurn(addr string, n int, pair requestPair) (*churn, error) {
	f, err := benchkit.DialFleet(addr, costConns)
	if err != nil {
		return nil, err
	}
	return &churn{pair: pair, fleet: f, n: n}, nil
}

// most is how many batches may be free at a time: a twentieth of all locks, and at least one.
func (c *churn) most() int { return max(1, c.n/20/batch) }

// key is the lock that stands at a place of the walk.
func (c *churn) key(place int) int { return benchkit.Scatter(place%c.n, c.n) }

// run sends about so many of each request, in pipelines, and returns the cost.
func (c *churn) run(ctx context.Context, s *benchkit.Server, requests, pipeline int) (cost, error) {
	var locks, unlocks time.Duration
	last, err := s.CPU()
	lap := func(sum *time.Duration) {
		var now time.Duration
		if err == nil {
			now, err = s.CPU()
			*sum += now - last
			last = now
		}
	}
	rounds := max(1, requests/batch)
	for i := 0; i < rounds && err == nil; i++ {
		if err = ctx.Err(); err != nil {
			break
		}
		err = c.send(c.front, pipeline, c.pair.unlock, c.pair.unlocked)
		c.front++
		lap(&unlocks)
		if c.front-c.back < c.most() || err != nil {
			continue
		}
		err = c.send(c.back, pipeline, c.pair.lock, c.pair.locked)
		c.back++
		lap(&locks)
	}
	for ; c.back < c.front && err == nil; c.back++ {
		err = c.send(c.back, pipeline, c.pair.lock, c.pair.locked)
		lap(&locks)
	}
	per := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(rounds*batch) }
	return cost{per(locks), per(unlocks)}, err
}

// send sends one batch, in pipelines on each connection.
func (c *churn) send(number, pipeline int, request func(b []byte, n int) []byte, want string) error {
	for place := number * batch; place < (number+1)*batch; place += costConns * pipeline {
		if err := c.sendRow(place, pipeline, request, want); err != nil {
			return err
		}
	}
	return nil
}

// sendRow sends one pipeline on each connection and reads all replies.
func (c *churn) sendRow(place, pipeline int, request func(b []byte, n int) []byte, want string) error {
	for _, conn := range c.fleet.Conns {
		c.out = c.out[:0]
		for range pipeline {
			c.out = request(c.out, c.key(place))
			place++
		}
		if err := errors.Join(conn.SetDeadline(time.Now().Add(benchkit.Patience)), conn.Write(c.out)); err != nil {
			return err
		}
	}
	for _, conn := range c.fleet.Conns {
		for range pipeline {
			if err := conn.Expect(want); err != nil {
				return err
			}
		}
	}
	return nil
}

// relay is pairs of clients that hand one lock a pair to and fro, each waiting in the server's queue.
type relay struct {
	fleet *benchkit.Fleet // clients 2i and 2i+1 are a pair
	turn  int             // 0 or 1: who of each pair holds
	out   []byte
}

// relayPairs is how many locks are handed on at a time.
const relayPairs = 16

const (
	relayKey   = "relay:"
	relayOwner = "fadedace7a944c0b9a3e2f6f4f:"
)

// newRelay lets the first of each pair acquire the lock and the second one wait.
func newRelay(s *benchkit.Server) (*relay, error) {
	others, err := s.InfoNumber("clients", "blocked_clients")
	if err != nil {
		return nil, err
	}
	f, err := benchkit.DialFleet(s.Addr, 2*relayPairs)
	if err != nil {
		return nil, err
	}
	r := &relay{fleet: f}
	for pair := range relayPairs {
		holder, waiter := f.Conns[2*pair], f.Conns[2*pair+1]
		err = errors.Join(holder.Write(r.appendWait(nil, pair, 0)), holder.Expect(":"), waiter.Write(r.appendWait(nil, pair, 1)))
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	// A holder that released before the other waits would get its own lock again.
	if err := awaitParked(s, others+relayPairs); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *relay) appendWait(b []byte, pair, who int) []byte {
	return benchkit.Command(b, 7).Arg("LOCK").Numbered(relayKey, pair, "").Numbered(relayOwner, 2*pair+who, "").Arg("PX").Arg(longLease).
		Arg("WAIT").Arg("0")
}

// run hands about so many locks on and returns the server's CPU time per hand-off, in microseconds: an
// UNLOCK, the grant to the other, and a LOCK that is parked.
func (r *relay) run(ctx context.Context, s *benchkit.Server, handoffs int) (float64, error) {
	before, err := s.CPU()
	laps := max(1, handoffs/relayPairs)
	for i := 0; i < laps && err == nil; i++ {
		if err = ctx.Err(); err == nil {
			err = r.lap()
		}
	}
	if err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return float64(after-before) / float64(time.Microsecond) / float64(laps*relayPairs), err
}

// lap hands every pair's lock on once: the holder releases it and queues up again.
func (r *relay) lap() error {
	deadline := time.Now().Add(benchkit.Patience)
	for pair := range relayPairs {
		holder := r.fleet.Conns[2*pair+r.turn]
		r.out = benchkit.Command(r.out[:0], 3).Arg("UNLOCK").Numbered(relayKey, pair, "").Numbered(relayOwner, 2*pair+r.turn, "")
		r.out = r.appendWait(r.out, pair, r.turn)
		if err := errors.Join(holder.SetDeadline(deadline), holder.Write(r.out)); err != nil {
			return err
		}
	}
	for pair := range relayPairs {
		holder, next := r.fleet.Conns[2*pair+r.turn], r.fleet.Conns[2*pair+1-r.turn]
		if err := errors.Join(next.SetDeadline(deadline), holder.Expect(":1"), next.Expect(":")); err != nil {
			return err
		}
	}
	r.turn = 1 - r.turn
	return nil
}
