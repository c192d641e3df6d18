package permitbench

import (
	"context"
	"fmt"
	"sync"

	"lockserver/tests/bench/benchkit"
)

// orders is the number of orders that have a hold to extend.
const orders = 10_000

// openSales opens two sales that do not sell out. The orders of the first one are held.
func openSales(ctx context.Context, s *benchkit.Server) error {
	for _, sale := range []string{"first", "second"} {
		if reply, err := s.Do("SECKILL.CREATE", sale, "STOCK", "2000000000", "LIMIT", "1000", "HOLD", longLease); err != nil || reply != "OK" {
			return fmt.Errorf("SECKILL.CREATE: %q, %w", reply, err)
		}
	}
	_, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always(":0"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 4).Arg("SECKILL").Arg("first").Numbered("holder-", n, "").Numbered("held-", n, "")
	}}, orders)
	return err
}

// holdLocks makes each lock held.
func holdLocks(ctx context.Context, s *benchkit.Server) error {
	_, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 5).Arg("LOCK").Numbered("held:", n, "").Numbered(owner, n, "").Arg("PX").Arg(longLease)
	}}, keyCount)
	return err
}

// queued returns traffic that enters the queue of a held lock and leaves it, with some options.
func queued(options ...string) benchkit.Traffic {
	return benchkit.Traffic{Want: func(n int) string { return [...]string{"+QUEUED", ":1"}[n%2] }, Append: func(b []byte, n int) []byte {
		lock := n / 2 % keyCount
		if n%2 == 1 {
			return benchkit.Command(b, 3).Arg("LOCK.CANCEL").Numbered("held:", lock, "").Numbered("waiter:", n/2, "")
		}
		r := benchkit.Command(b, 6+len(options)).Arg("LOCK").Numbered("held:", lock, "").Numbered("waiter:", n/2, "").Arg("WAIT").Arg(longLease).Arg("NOTIFY")
		for _, o := range options {
			r = r.Arg(o)
		}
		return r
	}}
}

// ordersBack returns traffic that sells an order and takes it back, or a part of it: buy and back are options
// of the two commands.
func ordersBack(buy, back []string) benchkit.Traffic {
	next := fresh()
	var ids sync.Map // by the number of the order
	return benchkit.Traffic{Want: func(n int) string { return [...]string{":0", ":1"}[n%2] }, Append: func(b []byte, n int) []byte {
		command, options := "SECKILL.CANCEL", back
		if n%2 == 0 {
			command, options = "SECKILL", buy
			ids.Store(n/2, next())
		}
		id, _ := ids.Load(n / 2)
		r := benchkit.Command(b, 4+len(options)).Arg(command).Arg("first").Numbered("buyer-", id.(int), "").Numbered("back-", id.(int), "")
		for _, o := range options {
			r = r.Arg(o)
		}
		return r
	}}
}

// others measures carts, longer holds, LOCK.ASK and priorities, each beside what does the least of the same.
func (b *bench) others(ctx context.Context) error {
	const two, cart, extend, info, ask, wait, level = "two SECKILL", "SECKILL.CART of two", "SECKILL.EXTEND", "LOCK.INFO", "LOCK.ASK", "WAIT", "WAIT with PRIORITY"
	const all, part = "SECKILL and SECKILL.CANCEL", "SECKILL QTY 2 and SECKILL.CANCEL QTY 1"
	apart, together := fresh(), fresh()
	ofLock := func(command string) func(b []byte, n int) []byte {
		return func(b []byte, n int) []byte {
			return benchkit.Command(b, 2).Arg(command).Numbered("held:", n%keyCount, "")
		}
	}
	ways := []*way{
		{name: two, product: b.lockserver, prepare: openSales, per: 2, traffic: benchkit.Traffic{Want: benchkit.Always(":0"), Append: func(b []byte, n int) []byte {
			id := apart()
			return benchkit.Command(b, 4).Arg("SECKILL").Arg([...]string{"first", "second"}[n%2]).Numbered("user-", id, "").Numbered("order-", id, "")
		}}},
		{name: cart, product: b.lockserver, prepare: openSales, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always(":0"), Append: func(b []byte, _ int) []byte {
			id := together()
			return benchkit.Command(b, 8).Arg("SECKILL.CART").Numbered("user-", id, "").Numbered("order-", id, "").Arg("2").Arg("first").Arg("1").Arg("second").Arg("1")
		}}},
		{name: extend, product: b.lockserver, prepare: openSales, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, n int) []byte {
			return benchkit.Command(b, 5).Arg("SECKILL.EXTEND").Arg("first").Numbered("holder-", n%orders, "").Numbered("held-", n%orders, "").Arg("7200000")
		}}},
		{name: all, product: b.lockserver, prepare: openSales, per: 2, traffic: ordersBack(nil, nil)},
		{name: part, product: b.lockserver, prepare: openSales, per: 2, traffic: ordersBack([]string{"QTY", "2"}, []string{"QTY", "1"})},
		{name: info, product: b.lockserver, prepare: holdLocks, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always("*"), Append: ofLock("LOCK.INFO")}},
		{name: ask, product: b.lockserver, prepare: holdLocks, per: 1, traffic: benchkit.Traffic{Want: benchkit.Always(":"), Append: ofLock("LOCK.ASK")}},
		{name: wait, product: b.lockserver, prepare: holdLocks, per: 2, traffic: queued()},
		{name: level, product: b.lockserver, prepare: holdLocks, per: 2, traffic: queued("PRIORITY", "5")},
	}
	end, err := b.startAll(ctx, ways)
	defer end()
	if err != nil {
		return err
	}
	b.Report.Text("## Carts, longer holds, LOCK.ASK and priorities\n\nProcessor time of a cart of two sales beside two orders, of a hold that is extended, of an order that is taken back as a whole and in part, of LOCK.ASK for a lock whose " +
		"holder does not listen beside LOCK.INFO, and of a wait that begins and is cancelled, with and without a priority.")
	_, err = b.compare(ctx, ways, []target{{1, cart, two, whole, 1}, {16, cart, two, whole, 1.2}, {16, extend, two, whole, 1},
		{1, part, all, whole, 0}, {16, part, all, whole, 0},
		{1, level, wait, whole, 0}, {16, level, wait, whole, 0}, {16, ask, info, whole, 0}}, beneath{})
	return err
}
