package membench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// value is the value of strings: 64 bytes that no snapshot compresses.
	value = "k7QxZ2mB-vR9sLdW0aTfYh4JgNcE_pU8iOy3KwXbM6GqSzHt5VnCrDlAeFjI1uPo"
	// The key of a lock has 17 bytes and its owner 39, including their numbers: as long as those of
	// libraries.
	lockKey = "lock:"
	holder  = "5b1f0d6e7a944c0b9a3e2f6f4f:"
	waiter  = "c0ffee1e7a944c0b9a3e2f6f4f:"
	// longLease is longer than every measurement, in milliseconds.
	longLease = "3600000"
	// mostWaiters is the largest number of waiting connections; each is an open file.
	mostWaiters = 5000
)

// redissonLock acquires a free lock like Redisson: a hash with a deadline.
const redissonLock = `redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return nil`

// sell is the usual script of a flash sale.
const sell = `if tonumber(redis.call('get', 'seckill:stock:10')) <= 0 then return 1 end
if redis.call('sismember', 'seckill:order:10', ARGV[1]) == 1 then return 2 end
redis.call('incrby', 'seckill:stock:10', -1)
redis.call('sadd', 'seckill:order:10', ARGV[1])
redis.call('xadd', 'stream.orders', '*', 'userId', ARGV[1], 'voucherId', '10', 'id', ARGV[2])
return 0`

// kind is a kind of thing.
type kind struct {
	name, what string
	native     bool    // lockserver alone has it
	park       bool    // each request waits, on a new connection
	renewed    bool    // the server renews it, and the processor time of that is measured, too
	most       int     // the largest number of things; 0 means no limit
	target     float64 // the largest memory, as a share of that in Redis; 0 means no target
	before     func(ctx context.Context, s *benchkit.Server, native bool, n int) error
	traffic    func(native bool, n int) benchkit.Traffic
	check      func(s *benchkit.Server, native bool, n int) error
}

func names() (list []string) {
	for _, k := range kinds() {
		list = append(list, k.name)
	}
	return list
}

func kinds() []kind {
	return append(append([]kind{
		key("string", stringTarget, "string of 64 bytes", "+OK", "SET", value),
		key("deadline", stringTarget, "string of 64 bytes with a deadline", "+OK", "SET", value, "PX", longLease),
		key("hash", containerTarget, "hash of 5 fields", ":5", "HSET", "name", "Ada", "city", "London", "age", "36", "visits", "1024", "plan", "gold"),
		key("hash-1", containerTarget, "hash of 1 field", ":1", "HSET", "5b1f0d6e7a944c0b9a3e2f6f4f:000000000001", "1"),
		key("set", containerTarget, "set of 5 words", ":5", "SADD", "red", "green", "blue", "yellow", "violet"),
		key("intset", containerTarget, "set of 5 integers", ":5", "SADD", "1017", "2038", "3055", "4071", "5093"),
		key("list", containerTarget, "list of 5", ":5", "RPUSH", "first", "second", "third", "fourth", "fifth"),
		key("zset", containerTarget, "sorted set of 5", ":5", "ZADD", "10", "ada", "20", "grace", "30", "alan", "40", "edsger", "50", "barbara"),
	}, large()...), locks()...)
}

// key returns a kind with one key for each thing: command, key, words.
func key(name string, target float64, what, want, command string, words ...string) kind {
	return kind{name: name, what: what, target: target, check: counted("DBSIZE"), traffic: func(bool, int) benchkit.Traffic {
		return benchkit.Traffic{Want: benchkit.Always(want), Append: func(b []byte, i int) []byte {
			c := benchkit.Command(b, 2+len(words)).Arg(command).Numbered("key:", i, "")
			for _, w := range words {
				c = c.Arg(w)
			}
			return c
		}}
	}}
}

// large returns kinds for elements of one large container, with members of 13 bytes.
func large() []kind {
	one := func(name, what, want, size string, words []string, rest ...string) kind {
		return kind{name: name, what: what, check: counted(size, words[1]), traffic: func(bool, int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always(want), Append: func(b []byte, i int) []byte {
				c := benchkit.Command(b, len(words)+1+len(rest))
				for _, w := range words {
					c = c.Arg(w)
				}
				c = c.Numbered("m", i, "")
				for _, w := range rest {
					c = c.Arg(w)
				}
				return c
			}}
		}}
	}
	return []kind{
		one("hash-large", "field of a large hash", ":1", "HLEN", []string{"HSET", "h"}, "value"),
		one("set-large", "member of a large set", ":1", "SCARD", []string{"SADD", "s"}),
		{name: "zset-large", what: "member of a large sorted set", check: counted("ZCARD", "z"), traffic: func(_ bool, n int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, i int) []byte {
				return benchkit.Command(b, 4).Arg("ZADD").Arg("z").Int(int64(benchkit.Scatter(i, n))).Numbered("m", i, "")
			}}
		}},
		one("list-large", "element of a large list", ":", "LLEN", []string{"RPUSH", "l"}),
		one("stream", "entry of a stream", "$", "XLEN", []string{"XADD", "x", "*", "orderId"}),
	}
}

// locks returns the kinds for locks, waiters and sales.
func locks() []kind {
	return []kind{
		{name: "lock", what: "lock with a lease", check: counted("DBSIZE"), traffic: func(native bool, _ int) benchkit.Traffic {
			return lockTraffic(native, true)
		}},
		{name: "watchdog", what: "lock that the server renews", native: true, renewed: true, check: counted("DBSIZE"),
			traffic: func(bool, int) benchkit.Traffic { return lockTraffic(true, false) }},
		{name: "waiter", what: "waiter, besides its connection (in Redis one of BLPOP)", park: true, most: mostWaiters,
			before: holdLocks, traffic: waitTraffic, check: waiting},
		{name: "order", what: "order of a sale", before: openSale, traffic: saleTraffic, check: counted("SCARD", "seckill:order:10")},
	}
}

// lockTraffic acquires lock n, natively or like Redisson.
func lockTraffic(native, lease bool) benchkit.Traffic {
	switch {
	case !native:
		return benchkit.Traffic{Want: benchkit.Always("$-1"), Append: func(b []byte, i int) []byte {
			return benchkit.Command(b, 6).Arg("EVAL").Arg(redissonLock).Arg("1").Numbered(lockKey, i, "").Arg(longLease).Numbered(holder, i, "")
		}}
	case lease:
		return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, i int) []byte {
			return benchkit.Command(b, 5).Arg("LOCK").Numbered(lockKey, i, "").Numbered(holder, i, "").Arg("PX").Arg(longLease)
		}}
	default:
		return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, i int) []byte {
			return benchkit.Command(b, 3).Arg("LOCK").Numbered(lockKey, i, "").Numbered(holder, i, "")
		}}
	}
}

// holdLocks acquires the locks for which the waiters wait.
func holdLocks(ctx context.Context, s *benchkit.Server, native bool, n int) error {
	if !native {
		return nil
	}
	_, err := s.Fill(ctx, lockTraffic(true, true), n)
	return err
}

func waitTraffic(native bool, _ int) benchkit.Traffic {
	return benchkit.Traffic{Append: func(b []byte, i int) []byte {
		if !native {
			return benchkit.Command(b, 3).Arg("BLPOP").Numbered(lockKey, i, "").Arg("0")
		}
		return benchkit.Command(b, 7).Arg("LOCK").Numbered(lockKey, i, "").Numbered(waiter, i, "").Arg("PX").Arg(longLease).Arg("WAIT").Arg("0")
	}}
}

// waiting returns when n clients wait.
func waiting(s *benchkit.Server, _ bool, n int) error {
	for until := time.Now().Add(benchkit.Patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		got, err := s.InfoNumber("clients", "blocked_clients")
		if err != nil || got == n {
			return err
		}
	}
	return fmt.Errorf("%s: not all of %d clients wait", s.Name, n)
}

func openSale(_ context.Context, s *benchkit.Server, _ bool, n int) error {
	_, err := s.Do("SET", "seckill:stock:10", strconv.Itoa(n))
	return err
}

func saleTraffic(native bool, _ int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":0"), Append: func(b []byte, i int) []byte {
		if native {
			return benchkit.Command(b, 4).Arg("SECKILL").Arg("10").Numbered("user", i, "").Numbered("order", i, "")
		}
		return benchkit.Command(b, 5).Arg("EVAL").Arg(sell).Arg("0").Numbered("user", i, "").Numbered("order", i, "")
	}}
}

// counted checks that a command counts as many things as were made.
func counted(command ...string) func(s *benchkit.Server, native bool, n int) error {
	return func(s *benchkit.Server, _ bool, n int) error {
		got, err := s.Do(command...)
		if err == nil && got != strconv.Itoa(n) {
			err = fmt.Errorf("%s: %s counts %s instead of %d", s.Name, command[0], got, n)
		}
		return err
	}
}
