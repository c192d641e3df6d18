package permitbench

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The scripts of Redisson's semaphores, written anew. KEYS[1] is the number of free permits.
const (
	plainAcquire = `
local value = redis.call('get', KEYS[1])
if value ~= false and tonumber(value) >= tonumber(ARGV[1]) then
	redis.call('decrby', KEYS[1], ARGV[1])
	return 1
end
return 0`

	plainRelease = `
local value = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], value)
return 1`

	// KEYS[2] holds the permits, sorted by the ends of their leases.
	leaseAcquire = `
local ended = redis.call('zrangebyscore', KEYS[2], 0, ARGV[4], 'limit', 0, ARGV[1])
if #ended > 0 then
	redis.call('zrem', KEYS[2], unpack(ended))
	local value = redis.call('incrby', KEYS[1], #ended)
	if tonumber(value) > 0 then
		redis.call('publish', KEYS[3], value)
	end
end
local value = redis.call('get', KEYS[1])
if value ~= false and tonumber(value) >= tonumber(ARGV[1]) then
	redis.call('decrby', KEYS[1], ARGV[1])
	redis.call('zadd', KEYS[2], ARGV[2], ARGV[3])
	local ttl = redis.call('pttl', KEYS[1])
	if ttl > 0 then
		redis.call('pexpire', KEYS[2], ttl)
	end
	return 1
end
return 0`

	leaseRelease = `
local score = redis.call('zscore', KEYS[2], ARGV[1])
if score == false or tonumber(score) <= tonumber(ARGV[3]) then
	return 0
end
redis.call('zrem', KEYS[2], ARGV[1])
local value = redis.call('incrby', KEYS[1], ARGV[2])
redis.call('publish', KEYS[3], value)
return 1`
)

const (
	permits   = 5
	keyCount  = 1000 // number of free locks and semaphores
	longLease = "3600000"
	owner     = "5b1f0d6e7a944c0b9a3e2f6f4f:" // twelve digits follow
)

// pairs returns traffic that acquires and releases alternately.
func pairs(acquire, release func(b []byte, n int) []byte, want string) benchkit.Traffic {
	return benchkit.Traffic{Want: func(n int) string {
		if n%2 == 0 {
			return ":"
		}
		return want
	}, Append: func(b []byte, n int) []byte {
		if n%2 == 0 {
			return acquire(b, n/2)
		}
		return release(b, n/2)
	}}
}

var lockPairs = pairs(func(b []byte, n int) []byte {
	return benchkit.Command(b, 5).Arg("LOCK").Numbered("lock:", n, "").Numbered(owner, n, "").Arg("PX").Arg(longLease)
}, func(b []byte, n int) []byte {
	return benchkit.Command(b, 3).Arg("UNLOCK").Numbered("lock:", n, "").Numbered(owner, n, "")
}, ":1")

var semPairs = pairs(func(b []byte, n int) []byte {
	return benchkit.Command(b, 7).Arg("SEM.ACQUIRE").Numbered("sem:", n, "").Numbered(owner, n, "").Arg("LIMIT").Int(permits).Arg("PX").Arg(longLease)
}, func(b []byte, n int) []byte {
	return benchkit.Command(b, 3).Arg("SEM.RELEASE").Numbered("sem:", n, "").Numbered(owner, n, "")
}, ":0")

var pings = benchkit.Traffic{Want: benchkit.Always("+PONG"), Append: func(b []byte, _ int) []byte { return append(b, "*1\r\n$4\r\nPING\r\n"...) }}

func hashOf(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

// plainPairs are for RSemaphore, and leasePairs for RPermitExpirableSemaphore.
var plainPairs = pairs(func(b []byte, n int) []byte {
	return benchkit.Command(b, 5).Arg("EVALSHA").Arg(hashOf(plainAcquire)).Arg("1").Numbered("sem:", n%keyCount, "").Arg("1")
}, func(b []byte, n int) []byte {
	return benchkit.Command(b, 6).Arg("EVALSHA").Arg(hashOf(plainRelease)).Arg("2").Numbered("sem:", n%keyCount, "").
		Numbered("redisson_sc:{sem:", n%keyCount, "}").Arg("1")
}, ":1")

var leasePairs = pairs(func(b []byte, n int) []byte {
	now := time.Now().UnixMilli()
	return benchkit.Command(b, 10).Arg("EVALSHA").Arg(hashOf(leaseAcquire)).Arg("3").Numbered("sem:", n%keyCount, "").
		Numbered("{sem:", n%keyCount, "}:timeout").Numbered("redisson_sc:{sem:", n%keyCount, "}").Arg("1").Int(now+3_600_000).
		Numbered(owner, n, "").Int(now)
}, func(b []byte, n int) []byte {
	return benchkit.Command(b, 9).Arg("EVALSHA").Arg(hashOf(leaseRelease)).Arg("3").Numbered("sem:", n%keyCount, "").
		Numbered("{sem:", n%keyCount, "}:timeout").Numbered("redisson_sc:{sem:", n%keyCount, "}").Numbered(owner, n, "").Arg("1").
		Int(time.Now().UnixMilli())
}, ":1")

// scripts loads scripts, and sets the permits of each semaphore: as many as clients hold at the same time.
func scripts(list ...string) func(ctx context.Context, s *benchkit.Server) error {
	return func(ctx context.Context, s *benchkit.Server) error {
		for _, script := range list {
			if _, err := s.Do("SCRIPT", "LOAD", script); err != nil {
				return err
			}
		}
		_, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 3).Arg("SET").Numbered("sem:", n%keyCount, "").Int(permits * conns)
		}}, 2*keyCount)
		return err
	}
}

// onFloor returns the traffic for the floor.
func onFloor(t benchkit.Traffic) benchkit.Traffic {
	t.Want = benchkit.Always("+OK")
	return t
}

// semaphores compares an acquisition and a release.
func (b *bench) semaphores(ctx context.Context) error {
	const ours, lock, plain, lease, ping, theirs = "SEM", "LOCK", "RSemaphore", "RPermitExpirableSemaphore", "PING", "PING, Redis"
	const floor, plainFloor, leaseFloor = "floor of SEM", "floor of RSemaphore", "floor of RPermitExpirableSemaphore"
	ways := []*way{
		{name: lock, product: b.lockserver, traffic: lockPairs, per: 2},
		{name: ours, product: b.lockserver, traffic: semPairs, per: 2},
		{name: ping, product: b.lockserver, traffic: pings, per: 2},
		{name: plain, product: b.redis, traffic: plainPairs, per: 2, prepare: scripts(plainAcquire, plainRelease)},
		{name: lease, product: b.redis, traffic: leasePairs, per: 2, prepare: scripts(leaseAcquire, leaseRelease)},
		{name: theirs, product: b.redis, traffic: pings, per: 2},
		{name: floor, product: b.floor, traffic: onFloor(semPairs), per: 2},
		{name: plainFloor, product: b.floor, traffic: onFloor(plainPairs), per: 2},
		{name: leaseFloor, product: b.floor, traffic: onFloor(leasePairs), per: 2},
	}
	end, err := b.startAll(ctx, ways)
	defer end()
	if err != nil {
		return err
	}
	b.Report.Text(fmt.Sprintf("## Semaphores\n\nProcessor time of the server for an acquisition and its release, one after the other on each of %d "+
		"connections, P requests at a time: LOCK and UNLOCK, SEM.ACQUIRE and SEM.RELEASE with a limit of %d, and on Redis what Redisson's "+
		"semaphores run, by EVALSHA. The floor is a server that reads, counts and answers +OK. The servers take turns; the least of %d round(s).", conns, permits, b.Rounds))
	targets := []target{{1, ours, lock, whole, 1.3}, {16, ours, lock, whole, 1.3}}
	for _, script := range []string{plain, lease} {
		targets = append(targets, target{1, ours, script, whole, 0}, target{1, ours, script, abovePing, 0.5}, target{1, ours, script, aboveTheLoop, 0.5},
			target{16, ours, script, whole, 0.2}, target{16, ours, script, abovePing, 0.2}, target{16, ours, script, aboveTheLoop, 0.2})
	}
	least, err := b.compare(ctx, ways, targets, beneath{
		pings: map[string]string{ours: ping, lock: ping, plain: theirs, lease: theirs},
		loops: map[string]string{ours: floor, lock: floor, plain: plainFloor, lease: leaseFloor},
	})
	if err != nil {
		return err
	}
	for _, script := range []string{plain, lease} {
		at := least[16]
		b.Report.Text(fmt.Sprintf("At P=16, 0.2 of %s is %.2f µs. The floor takes %.2f µs for the two requests of a semaphore, and two PINGs take %.2f µs. "+
			"That leaves %.2f µs for the two commands themselves, which take %.2f µs.",
			script, 0.2*at[script], at[floor], at[ping], 0.2*at[script]-at[ping], at[ours]-at[ping]))
	}
	return nil
}

// holders compares the commands of a semaphore with many holders with those of a semaphore with few.
func (b *bench) holders(ctx context.Context) error {
	crowd := func(holders int) (benchkit.Traffic, func(ctx context.Context, s *benchkit.Server) error) {
		acquire := func(b []byte, n int) []byte {
			return benchkit.Command(b, 7).Arg("SEM.ACQUIRE").Arg("crowd").Numbered(owner, n, "").Arg("LIMIT").Arg("1000000").Arg("PX").Arg(longLease)
		}
		prepare := func(ctx context.Context, s *benchkit.Server) error {
			_, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always(":"), Append: acquire}, holders)
			return err
		}
		later := func(n int) int { return 2*holders + n }
		return pairs(func(b []byte, n int) []byte { return acquire(b, later(n)) }, func(b []byte, n int) []byte {
			return benchkit.Command(b, 3).Arg("SEM.RELEASE").Arg("crowd").Numbered(owner, later(n), "")
		}, ":0"), prepare
	}
	many, ofMany := crowd(b.sizes.holders)
	names := []string{"2,000 holders at least", strconv.Itoa(b.sizes.holders) + " holders"}
	few, ofFew := crowd(min(2000, b.sizes.holders/2))
	ways := []*way{
		{name: names[0], product: b.lockserver, traffic: few, prepare: ofFew, per: 2},
		{name: names[1], product: b.lockserver, traffic: many, prepare: ofMany, per: 2},
	}
	end, err := b.startAll(ctx, ways)
	defer end()
	if err != nil {
		return err
	}
	b.Report.Text("## Holders\n\nProcessor time for one more holder that comes and goes.")
	_, err = b.compare(ctx, ways, []target{{1, names[1], names[0], whole, 1.5}, {16, names[1], names[0], whole, 1.7}}, beneath{})
	return err
}

// limits compares a take from a limiter with a counter. Limiters in use are never full at the next take. Idle
// ones are full again after a millisecond, so each take creates a key, which the server removes. The floor is
// a command with the same number of words that finds no key and replies nil.
func (b *bench) limits(ctx context.Context) error {
	const ours, two, back, idle, incr, theirs, floor = "LIMIT.TAKE", "LIMIT.MTAKE of two", "LIMIT.TAKE and LIMIT.GIVE", "LIMIT.TAKE, idle", "INCR", "INCR, Redis", "LPOS without a key"
	words := func(name string, words ...string) func(b []byte, n int) []byte {
		return func(b []byte, n int) []byte {
			r := benchkit.Command(b, 2+len(words)).Arg(name).Numbered("limit:", n%100_000, "")
			for _, w := range words {
				r = r.Arg(w)
			}
			return r
		}
	}
	const hour = "3600000"
	ofTwo := func(b []byte, n int) []byte {
		return benchkit.Command(b, 10).Arg("LIMIT.MTAKE").Arg("2").Numbered("limit:", n%100_000, "").Arg("1000").Arg("1000").Arg(hour).
			Numbered("other:", n%100_000, "").Arg("2000").Arg("1000").Arg(hour)
	}
	ways := []*way{
		{name: incr, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always(":"), Append: words("INCR")}},
		{name: ours, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("*5"), Append: words("LIMIT.TAKE", "1000", "1000", hour)}},
		{name: two, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("*5"), Append: ofTwo}},
		{name: back, product: b.lockserver, per: 2, traffic: benchkit.Traffic{Want: benchkit.Always("*5"), Append: func(b []byte, n int) []byte {
			return words([...]string{"LIMIT.TAKE", "LIMIT.GIVE"}[n%2], "1000", "1000", hour)(b, n/2)
		}}},
		{name: idle, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("*5"), Append: words("LIMIT.TAKE", "1000", "1000", "1000")}},
		{name: floor, product: b.lockserver, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("$-1"), Append: words("LPOS", "1000", "RANK", "1000")}},
		{name: theirs, product: b.redis, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always(":"), Append: words("INCR")}},
	}
	end, err := b.startAll(ctx, ways)
	defer end()
	if err != nil {
		return err
	}
	b.Report.Text("## Limits\n\nProcessor time of a unit of one of 100,000 limiters, of two at once, and of one that is given back, beside that of a counter, and of a command with as many words " +
		"that finds nothing. A limiter in use keeps its key. An idle one is full again before the next unit, so each unit makes a key that expires.")
	_, err = b.compare(ctx, ways, []target{{1, ours, incr, whole, 1.2}, {16, ours, incr, whole, 1.2}, {1, two, ours, whole, 1.4}, {16, two, ours, whole, 1.4}, {16, back, ours, whole, 0}}, beneath{pings: map[string]string{ours: floor}})
	return err
}
