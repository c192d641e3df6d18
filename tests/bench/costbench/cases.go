package costbench

import (
	"context"
	"fmt"
	"strconv"

	"lockserver/tests/bench/benchkit"
)

// keyRange is how many different keys, fields or members the random ones are drawn from.
const keyRange = 100_000

// userRange is what the users of a sale are drawn from: so many that hardly any of them comes twice.
const userRange = 1_000_000_000

// stock of the measured sale: more than is sold.
const stock = 1_000_000_000

// owner has the form of Redisson's: client and thread.
const owner = "5b1f0d6e-7a94-4c0b-9a3e-2f6f4f0c8d11:57"

// leaseMS is longer than any measurement takes, on a slow machine too: locks that end on their
// own are not there to be released.
const leaseMS = "600000"

// kase is a row of the CPU table ("case" is a word of the language). Exactly one of
// command and traffic is set.
type kase struct {
	name   string
	native bool // held to the targets of the native commands; on Redis a script does the same
	script bool // a script on both servers, held to the targets of scripts
	wide   bool // one of the vocabulary beyond the first commands: held to its targets
	weight int  // how many times the work of a simple command a request is: so many times fewer are sent; 0: 1

	// command is what redis-benchmark sends; keys is the range of __rand_int__.
	command func(p product) []string
	keys    int

	// traffic is what our own generator sends when redis-benchmark cannot; before is sent first, unmeasured.
	// n is how many requests there will be.
	traffic func(p product, n int) benchkit.Traffic
	before  func(p product, n int) benchkit.Traffic

	prepare   func(ctx context.Context, s *server) error        // before the first request
	supply    func(ctx context.Context, s *server, n int) error // prepare for traffic of n requests
	listeners int                                               // connections that listen to the channel "news" meanwhile
	verify    func(s *server, requests int) error               // that the work was really done
}

// plain is a command that is the same on both servers.
func plain(words ...string) func(product) []string {
	return func(product) []string { return words }
}

// cases are the rows, in the order of the report.
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

// scripted makes both servers run the script that Redis has instead of a native command.
func scripted(command func(product) []string) func(product) []string {
	return func(p product) []string {
		p.native = false
		return command(p)
	}
}

// scriptedTraffic is scripted for a generator of our own.
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

// lockCommand acquires keys at random, so that most of it is the same owner entering again.
func lockCommand(p product) []string {
	if p.native {
		return []string{"LOCK", "key:__rand_int__", owner, "PX", leaseMS}
	}
	return []string{"EVALSHA", scriptHash(lockScript), "1", "key:__rand_int__", leaseMS, owner}
}

// acquire takes every one of n free locks once.
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

// release gives back every one of n locks.
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

// acquireAndRelease takes a free lock and gives it back, n/2 times; the figures
// are per command, not per pair.
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

// The sale is voucher 10, on bare keys: all that both ways of selling need is the stock.
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

// allSold checks that stock, buyers and orders agree, and that nearly every request sold: a
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
