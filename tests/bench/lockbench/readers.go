package lockbench

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"lockserver/tests/bench/benchkit"
)

// The scripts of a reader of Redisson's RReadWriteLock, written anew (tests/interop has all of them). KEYS[1]
// is the lock; a read hold's string is "{lock}:<owner>:rwlock_timeout:<i>".
const (
	readLock = `
local mode = redis.call('hget', KEYS[1], 'mode')
local holds = '{' .. KEYS[1] .. '}:' .. ARGV[2] .. ':rwlock_timeout:'
if mode == false then
	redis.call('hset', KEYS[1], 'mode', 'read')
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('set', holds .. '1', 1)
	redis.call('pexpire', holds .. '1', ARGV[1])
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
if mode == 'read' or mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1 then
	local one = holds .. redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('set', one, 1)
	redis.call('pexpire', one, ARGV[1])
	redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
	return nil
end
return redis.call('pttl', KEYS[1])`

	readUnlock = `
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false or redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
	return nil
end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left == 0 then
	redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', '{' .. KEYS[1] .. '}:' .. ARGV[2] .. ':rwlock_timeout:' .. (left + 1))
if redis.call('hlen', KEYS[1]) > 1 then
	local most = -3
	for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
		local n = tonumber(redis.call('hget', KEYS[1], field))
		if type(n) == 'number' then
			for i = n, 1, -1 do
				most = math.max(most, redis.call('pttl', '{' .. KEYS[1] .. '}:' .. field .. ':rwlock_timeout:' .. i))
			end
		end
	end
	if most > 0 then
		redis.call('pexpire', KEYS[1], most)
		return 0
	end
	if mode == 'write' then
		return 0
	end
end
redis.call('del', KEYS[1])
redis.call('publish', 'redisson_rwlock:{' .. KEYS[1] .. '}', '0')
return 1`
)

// readerTargets are the largest costs of a reader's LOCK and UNLOCK, by pipeline depth. They are multiples of
// the costs of those scripts on Redis, and of an exclusive lock.
var readerTargets = []struct {
	pipeline      int
	redis, writer float64
}{{1, 0.5, 1.2}, {longPipeline, 0.25, 1.2}}

// sharing has LOCK ... SHARED and UNLOCK.
var sharing = requestPair{unlock: appendUnlock, locked: ":", unlocked: ":1", lock: func(b []byte, n int) []byte {
	return benchkit.Command(b, 6).Arg("LOCK").Numbered(lockKey, n, "").Numbered(holder, n, "").Arg("PX").Arg(longLease).Arg("SHARED")
}}

// empty has requests that do nothing: the cost of the network.
var empty = requestPair{lock: appendPing, unlock: appendPing, locked: "+PONG", unlocked: "+PONG"}

func appendPing(b []byte, _ int) []byte { return append(b, "*1\r\n$4\r\nPING\r\n"...) }

// scripted has the same by Redisson's scripts, which the server has loaded.
func scripted() requestPair {
	call := func(script string) func(b []byte, n int) []byte {
		sum := sha1.Sum([]byte(script))
		name := hex.EncodeToString(sum[:])
		return func(b []byte, n int) []byte {
			return benchkit.Command(b, 6).Arg("EVALSHA").Arg(name).Arg("1").Numbered(lockKey, n, "").Arg(longLease).Numbered(holder, n, "")
		}
	}
	return requestPair{lock: call(readLock), unlock: call(readUnlock), locked: "$-1", unlocked: ":1"}
}

// reader is a way to acquire and release a lock without contention, on its own server.
type reader struct {
	name   string
	server *benchkit.Server
	churn  *churn
	us     []float64 // of a pair of requests, a value for each round
}

// beside returns the costs of another reader and of this one.
func (r *reader) beside(other *reader) benchkit.Rounds { return benchkit.Rounds{other.us, r.us} }

// newReader starts the server.
func (b *bench) newReader(ctx context.Context, name string, product benchkit.Product, requests requestPair, scripts ...string) (*reader, error) {
	s, err := benchkit.StartFresh(ctx, product, b.Dir)
	if err != nil {
		return nil, err
	}
	r := &reader{name: name, server: s}
	for _, script := range scripts {
		if _, err := s.Do("SCRIPT", "LOAD", script); err != nil {
			return r, err
		}
	}
	n, err := s.Fill(ctx, benchkit.Traffic{Append: requests.lock, Want: benchkit.Always(requests.locked)}, b.sizes.few)
	if err != nil {
		return r, err
	}
	r.churn, err = newChurn(s.Addr, n, requests)
	return r, err
}

// readers compares the cost of a reader on lockserver with that on Redis and that of a writer. The locks have
// one holder each.
func (b *bench) readers(ctx context.Context) error {
	var all []*reader
	defer func() {
		for _, r := range all {
			if r.churn != nil {
				r.churn.fleet.Close()
			}
			r.server.Stop()
		}
	}()
	for _, way := range []struct {
		name     string
		product  benchkit.Product
		requests requestPair
		scripts  []string
	}{
		{"Redisson's scripts on Redis", b.redis, scripted(), []string{readLock, readUnlock}},
		{"LOCK", b.lockserver, alone, nil},
		{"LOCK ... SHARED", b.lockserver, sharing, nil},
		{"PING", b.lockserver, empty, nil},
	} {
		r, err := b.newReader(ctx, way.name, way.product, way.requests, way.scripts...)
		if r != nil {
			all = append(all, r)
		}
		if err != nil {
			return err
		}
	}
	redis, writer, ours := all[0], all[1], all[2]
	var rows [][]string
	for _, target := range readerTargets {
		if err := b.readerRounds(ctx, all, target.pipeline); err != nil {
			return err
		}
		row := []string{strconv.Itoa(target.pipeline)}
		for _, r := range all {
			row = append(row, benchkit.Fixed(slices.Min(r.us), 2))
		}
		for _, than := range []struct {
			*reader
			what string
			most float64
		}{{redis, "Redisson's scripts", target.redis}, {writer, "a writer", target.writer}} {
			ratio := slices.Min(ours.us) / slices.Min(than.us)
			low, high := ours.beside(than.reader).Spread()
			row = append(row, fmt.Sprintf("%s (%s-%s)", benchkit.Times(ratio), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)),
				b.Report.AtMost(fmt.Sprintf("CPU of a reader at P=%d against %s", target.pipeline, than.what), ratio, than.most, benchkit.Times))
		}
		rows = append(rows, row)
	}
	b.Report.Text(fmt.Sprintf("## Readers\n\nCPU time of the server process for a reader that comes and goes, alone on its lock: LOCK ... "+
		"SHARED and UNLOCK on lockserver, the same without SHARED (a writer), and on Redis the scripts that Redisson's RReadWriteLock runs "+
		"for a reader, by EVALSHA; and of two PINGs, which is what the network costs. %s locks, %d connections, P requests at a time on each, the servers in turn; the least of %d round(s), "+
		"and the ratios of all.", benchkit.Grouped(float64(b.sizes.few)), costConns, b.Rounds))
	b.Report.Table([]string{"P", "CPU µs/pair, Redis", "writer, lockserver", "reader, lockserver", "two PINGs, lockserver", "beside Redis", "target", "beside a writer", "target"}, rows)
	return nil
}

// readerRounds measures the servers in turn.
func (b *bench) readerRounds(ctx context.Context, all []*reader, pipeline int) error {
	requests := b.sizes.requests
	if pipeline == 1 {
		requests /= 4 // without a pipeline requests take longer
	}
	for _, r := range all {
		r.us = nil
	}
	for round := range b.Rounds + 1 {
		for _, r := range all {
			got, err := r.churn.run(ctx, r.server, requests, pipeline)
			if err != nil {
				return err
			}
			b.Say("readers: %s, P=%d: LOCK %.2f us, UNLOCK %.2f us", r.name, pipeline, got.lock, got.unlock)
			if round > 0 { // the first round is a warm-up
				r.us = append(r.us, got.lock+got.unlock)
			}
		}
	}
	return nil
}
