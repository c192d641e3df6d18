package lockbench

import (
	"context"
	"errors"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// costConns is the number of connections that send at the same time.
	costConns = 20
	// longPipeline is the number of requests that each connection sends at once, in one of the two
	// measurements. In the other it sends one.
	longPipeline = 16
	// batch is the number of locks that are released, or acquired, between two readings of the CPU clock.
	batch = costConns * longPipeline
	// longLease is longer than every measurement, in milliseconds.
	longLease = "3600000"
)

// lockKey, holder and waiter are the prefixes of the key of a held lock, of its owner and of its waiter.
// Twelve digits follow, so that no two locks have the same owner. Libraries make names of that length.
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

// holdLocks acquires about the locks 0 to n-1 and returns their number.
func holdLocks(ctx context.Context, s *benchkit.Server, n int) (int, error) {
	return s.Fill(ctx, benchkit.Traffic{Append: appendLock, Want: benchkit.Always(":")}, n)
}

// cost holds the CPU time of a server for each request, in microseconds.
type cost struct{ lock, unlock float64 }

// churn walks over the n locks of a server, releases each and acquires it again later. A batch has only one
// kind of request, so that the CPU time of each kind is known. A lock that was just acquired is not released
// soon, so a walk over many locks finds none of them in the processor's caches.
type churn struct {
	pair  requestPair
	fleet *benchkit.Fleet
	n     int // number of locks; all are held except those between back and front
	front int // number of released batches
	back  int // number of batches that were acquired again
	out   []byte
}

// requestPair has the two requests to acquire and release lock n, and the beginnings of their replies.
type requestPair struct {
	lock, unlock     func(b []byte, n int) []byte
	locked, unlocked string
}

// alone has LOCK and UNLOCK.
var alone = requestPair{lock: appendLock, unlock: appendUnlock, locked: ":", unlocked: ":1"}

func newChurn(addr string, n int, pair requestPair) (*churn, error) {
	f, err := benchkit.DialFleet(addr, costConns)
	if err != nil {
		return nil, err
	}
	return &churn{pair: pair, fleet: f, n: n}, nil
}

// most returns how many batches may be free at the same time: a twentieth of all locks, and at least one.
func (c *churn) most() int { return max(1, c.n/20/batch) }

// key returns the lock at a place of the walk.
func (c *churn) key(place int) int { return benchkit.Scatter(place%c.n, c.n) }

// run sends about the given number of each request, in pipelines, and returns the cost.
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

// relay holds pairs of clients. Each pair hands one lock to and fro, and each client waits in the server's
// queue.
type relay struct {
	fleet *benchkit.Fleet // clients 2i and 2i+1 are a pair
	turn  int             // 0 or 1: the client of each pair that holds
	out   []byte
}

// relayPairs is the number of locks that are handed on at the same time.
const relayPairs = 16

const (
	relayKey   = "relay:"
	relayOwner = "fadedace7a944c0b9a3e2f6f4f:"
)

// newRelay makes the first client of each pair acquire the lock and the second one wait.
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
	// A holder that releases before the other client waits would get its own lock again.
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

// run makes about the given number of hand-offs and returns the server's CPU time for each, in microseconds:
// an UNLOCK, the grant to the other client, and a LOCK that is parked.
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

// lap hands on the lock of every pair once: the holder releases it and queues again.
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
