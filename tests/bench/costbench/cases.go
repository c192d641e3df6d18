package costbench

import (
	"context"
	"fmt"
	"strconv"

	"lockserver/tests/bench/benchkit"
)

// keyRange is the number of different keys, fields or members from which the random ones are drawn.
const keyRange = 100_000

// userRange is the number of users from which those of a sale are drawn: so large that hardly any user comes
// twice.
const userRange = 1_000_000_000

// stock is the stock of the measured sale: more than is sold.
const stock = 1_000_000_000

// owner has the form of Redisson's owners: client and thread.
const owner = "5b1f0d6e-7a94-4c0b-9a3e-2f6f4f0c8d11:57"

// leaseMS is longer than any measurement, even on a slow machine, so that all locks still exist when they are
// released.
const leaseMS = "600000"

// kase is a row of the CPU table ("case" is a word of the language). Exactly one of
// command and traffic is set.
type kase struct {
	name   string
	native bool // has the targets of the native commands; on Redis a script does the same work
	script bool // a script on both servers, with the targets of scripts
	wide   bool // a command of the vocabulary beyond the first commands, with its targets
	weight int  // the work of a request as a multiple of a simple command: the number of requests is divided by it; 0 means 1

	// command returns the command for redis-benchmark; keys is the range of __rand_int__.
	command func(p product) []string
	keys    int

	// traffic returns the requests for our own generator, for cases that redis-benchmark cannot send. n is
	// the number of requests.
	traffic func(p product, n int) benchkit.Traffic
	before  func(p product, n int) benchkit.Traffic

	prepare   func(ctx context.Context, s *server) error        // called before the first request
	supply    func(ctx context.Context, s *server, n int) error // called before traffic of n requests
	listeners int                                               // number of connections that subscribe to the channel "news"
	verify    func(s *server, requests int) error               // checks that the work was really done
}

// plain returns a command that is the same on both servers.
func plain(words ...string) func(product) []string {
	return func(product) []string { return words }
}

// cases returns the rows, in the order of the report.
func cases() []kase {
	return append([]kase{
		{name: "PING", command: plain("PING"), keys: keyRange},
		{name: "SET", command: plain("SET", "key:__rand_int__", value), keys: keyRange},
		{name: "GET", command: plain("GET", "key:__rand_int__"), keys: keyRange, prepare: presetKeys},
		{name: "INCR", command: plain("INCR", "key:__rand_int__"), keys: keyRange},
		{name: "HSET", command: plain("HSET", "key:__rand_int__", "field", value), keys: keyRange},
		{name: "HINCRBY", command: plain("HINCRBY", "key:__rand_int__", "field", "1"), keys: keyRange},
		{name: "SADD", command: plain("SADD", "set", "element:__rand_int__"), keys: keyRange},
		{name: "XADD", command: plain("XADD", "stream", "MAXLEN", "~", "10000", "*", "field", value), keys: keyRange},
		{name: "LOCK", native: true, command: lockCommand, keys: keyRange},
		{name: "LOCK-NEW", native: true, traffic: acquire, verify: keysLeft},
		{name: "UNLOCK", native: true, before: acquire, traffic: release, verify: noKeysLeft},
		{name: "LOCK+UNLOCK", native: true, traffic: acquireAndRelease, verify: noKeysLeft},
		{name: "SECKILL", native: true, command: saleCommand, keys: userRange, prepare: openSale, verify: allSold},
		{name: "EVALSHA-GET", script: true, command: plain("EVALSHA", scriptHash(getScript), "1", "key:__rand_int__"), keys: keyRange,
			prepare: presetKeys},
		{name: "EVALSHA-LOCK", script: true, command: scripted(lockCommand), keys: keyRange},
		{name: "EVALSHA-LOCK+UNLOCK", script: true, traffic: scriptedTraffic(acquireAndRelease), verify: noKeysLeft},
		{name: "EVALSHA-SECKILL", script: true, command: scripted(saleCommand), keys: userRange, prepare: openSale, verify: allSold},
	}, vocabulary()...)
}

// scripted makes both servers run the script that Redis needs instead of a native command.
func scripted(command func(product) []string) func(product) []string {
	return func(p product) []string {
		p.native = false
		return command(p)
	}
}

// scriptedTraffic is scripted for our own generator.
func scriptedTraffic(traffic func(product, int) benchkit.Traffic) func(product, int) benchkit.Traffic {
	return func(p product, n int) benchkit.Traffic {
		p.native = false
		return traffic(p, n)
	}
}

func presetKeys(ctx context.Context, s *server) error {
	_, err := s.Fill(ctx, setKeys(), keyRange)
	return err
}

// lockCommand acquires random keys for one owner, so that most calls are re-entries.
func lockCommand(p product) []string {
	if p.native {
		return []string{"LOCK", "key:__rand_int__", owner, "PX", leaseMS}
	}
	return []string{"EVALSHA", scriptHash(lockScript), "1", "key:__rand_int__", leaseMS, owner}
}

// acquire takes each of n free locks once.
func acquire(p product, n int) benchkit.Traffic {
	if p.native {
		return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, i int) []byte {
			return appendLock(b, benchkit.Scatter(i, n))
		}}
	}
	hash := scriptHash(lockScript)
	return benchkit.Traffic{Want: benchkit.Always("$-1"), Append: func(b []byte, i int) []byte {
		return appendLockScript(b, hash, benchkit.Scatter(i, n))
	}}
}

// release releases each of n locks.
func release(p product, n int) benchkit.Traffic {
	if p.native {
		return benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, i int) []byte {
			return appendUnlock(b, benchkit.Scatter(i, n))
		}}
	}
	hash := scriptHash(unlockScript)
	return benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, i int) []byte {
		return appendUnlockScript(b, hash, benchkit.Scatter(i, n))
	}}
}

// acquireAndRelease takes a free lock and releases it, n/2 times. The figures are for each command, not for
// each pair.
func acquireAndRelease(p product, n int) benchkit.Traffic {
	take, give := acquire(p, n), release(p, n)
	return benchkit.Traffic{
		Append: func(b []byte, i int) []byte {
			if i%2 == 0 {
				return take.Append(b, i)
			}
			return give.Append(b, i-1)
		},
		Want: func(i int) string {
			if i%2 == 0 {
				return take.Want(i)
			}
			return give.Want(i - 1)
		},
	}
}

func appendLock(b []byte, key int) []byte {
	return benchkit.Command(b, 5).Arg("LOCK").Numbered("key:", key, "").Arg(owner).Arg("PX").Arg(leaseMS)
}

func appendLockScript(b []byte, hash string, key int) []byte {
	return benchkit.Command(b, 6).Arg("EVALSHA").Arg(hash).Arg("1").Numbered("key:", key, "").Arg(leaseMS).Arg(owner)
}

func appendUnlock(b []byte, key int) []byte {
	return benchkit.Command(b, 3).Arg("UNLOCK").Numbered("key:", key, "").Arg(owner)
}

func appendUnlockScript(b []byte, hash string, key int) []byte {
	return benchkit.Command(b, 8).Arg("EVALSHA").Arg(hash).Arg("2").Numbered("key:", key, "").
		Numbered("redisson_lock__channel:{key:", key, "}").Arg("0").Arg(leaseMS).Arg(owner)
}

func keysLeft(s *server, requests int) error   { return wantKeys(s, requests) }
func noKeysLeft(s *server, requests int) error { return wantKeys(s, 0) }

func wantKeys(s *server, n int) error {
	got, err := s.Do("DBSIZE")
	if err == nil && got != strconv.Itoa(n) {
		err = fmt.Errorf("%s: %s keys are left instead of %d", s.Name, got, n)
	}
	return err
}

// openSale sets the stock of the sale, voucher 10. Both ways of selling need no other key.
func openSale(_ context.Context, s *server) error {
	_, err := s.Do("SET", "seckill:stock:10", strconv.Itoa(stock))
	return err
}

func saleCommand(p product) []string {
	if p.native {
		return []string{"SECKILL", "10", "__rand_int__", "__rand_int__"}
	}
	return []string{"EVALSHA", scriptHash(saleScript), "0", "10", "__rand_int__", "__rand_int__"}
}

// allSold checks that stock, buyers and orders agree, and that nearly every request sold a piece, because a
// refusal is cheaper than a sale.
func allSold(s *server, requests int) error {
	left, err := s.Do("GET", "seckill:stock:10")
	if err != nil {
		return err
	}
	buyers, err := s.Do("SCARD", "seckill:order:10")
	if err != nil {
		return err
	}
	orders, err := s.Do("XLEN", "stream.orders")
	if err != nil {
		return err
	}
	rest, err := strconv.Atoi(left)
	if err != nil {
		return err
	}
	sold := stock - rest
	if buyers != strconv.Itoa(sold) || orders != buyers || sold*100 < requests*99 {
		return fmt.Errorf("%s: %d requests sold %d, to %s buyers, in %s orders", s.Name, requests, sold, buyers, orders)
	}
	return nil
}
