//go:build raft && linux

package moves

import (
	"fmt"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// place is a slot in which clients have keys.
type place struct{ slot int }

// key returns the name of a key of the place.
func (p place) key(name string) string { return "{" + tags()[p.slot] + "}" + name }

// The names of the keys of a place. The sales have streams beside them.
const (
	lock, tokens, sum     = "lock", "tokens", "sum"
	counter, list, leases = "counter", "list", "lease"
	sale, heldSale        = "sale", "heldsale"
)

// delays returns the stream of delayed entries of the place: its name must have no hash tag.
func (p place) delays() string { return tags()[p.slot] }

// locksOf is how many locks a place has.
const locksOf = 2

// saleStock is more than can be sold, and saleHoldMS how long an order of heldSale is held.
const saleStock, saleHoldMS = 100_000_000, 1500

// live visits places until stop is closed.
func (c *client) live(places []place, stop <-chan struct{}) {
	defer c.leave()
	quick := []func(place){c.visitLock, c.visitLock, c.visitCounter, c.visitList, c.visitSale, c.visitDelays}
	slow := []func(place){c.visitLease, c.visitHeldSale} // they mostly sleep
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(1+c.random.IntN(6)) * time.Millisecond):
			visits := quick
			if c.chance(12) {
				visits = slow
			}
			visits[c.random.IntN(len(visits))](places[c.random.IntN(len(places))])
		}
	}
}

// chance returns whether something with a chance of 1 in n happens.
func (c *client) chance(n int) bool { return c.random.IntN(n) == 0 }

// visitLock takes a lock in one of three ways, works with its token, and mostly releases it.
func (c *client) visitLock(p place) {
	key := p.key(fmt.Sprint(lock, c.random.IntN(locksOf)))
	owner, leaseMS := c.name("o"), 300+c.random.IntN(1200)
	words := []string{"LOCK", key, owner, "PX", strconv.Itoa(leaseMS), "ONCE"}
	var e event
	switch c.random.IntN(3) {
	case 0:
		e = c.takeLock(p, owner, replyWithin, words...)
		e.leaseUS = int64(leaseMS) * 1000
	case 1: // the grant may be much later than the call, and the lease begins with it
		e = c.takeLock(p, owner, replyWithin+time.Second, append(words, "WAIT", "1000")...)
		e.leaseUS = int64(leaseMS) * 1000
	default:
		e = c.queue(p, key, owner, append(words, "WAIT", "1000", "NOTIFY")...)
	}
	if e.outcome != refused {
		c.add(key, e)
	}
	if e.outcome == done && e.n > 0 {
		c.work(p, key, owner, e, leaseMS)
	}
}

// takeLock asks for a lock up to three times.
func (c *client) takeLock(p place, owner string, within time.Duration, words ...string) (e event) {
	e = event{act: take, id: owner, who: c.who, first: c.nowUS(), outcome: unknown}
	for range 3 {
		v, o, sentUS := c.once(p.slot, within, words...)
		e.call, e.ret = sentUS, c.nowUS()
		e.times++
		switch {
		case o == refused:
			return e
		case o == done && v.Kind == resp.Integer:
			e.outcome, e.n = done, v.Int
			return e
		case o == done && v.IsNull() && e.times == 1:
			e.outcome = refused
			return e
		case o == done && v.IsNull():
			return e
		case o == done && !begins(v.Str, "UNBLOCKED"):
			c.wrong(words[1], "unexpected reply to LOCK: "+v.String())
			return e
		}
	}
	return e
}

// queue waits for a lock without a connection that is blocked. It asks again when the wait was lost.
func (c *client) queue(p place, key, owner string, words ...string) (e event) {
	e = event{act: take, id: owner, who: c.who, first: c.nowUS(), outcome: unknown}
	for range 4 {
		v, o, sentUS := c.once(p.slot, replyWithin, words...)
		e.call, e.ret = sentUS, c.nowUS()
		e.times++
		e.again = e.again || e.times > 1
		switch {
		case o == refused:
			return e
		case o == unknown || begins(v.Str, "UNBLOCKED"):
			continue
		case v.Kind == resp.Integer:
			e.outcome, e.n = done, v.Int
			return e
		case v.Str != "QUEUED":
			c.wrong(key, "unexpected reply to LOCK with NOTIFY: "+v.String())
			return e
		}
		if e.queuedUS == 0 {
			e.queuedUS = e.ret
		}
		token, over := c.awaitGrant(p, owner)
		e.ret = c.nowUS()
		if token > 0 {
			if confirmed, _ := c.until(confirm, owner, p.slot, "LOCK.CONFIRM", key, owner, strconv.FormatInt(token, 10)); confirmed.outcome == done && confirmed.n == 1 {
				e.outcome, e.n = done, token
			}
			return e
		}
		if over {
			return e
		}
	}
	return e
}

// awaitGrant waits for the outcome of a wait on the connection that has asked: a token, or that it is over.
// Otherwise the owner asks again.
func (c *client) awaitGrant(p place, owner string) (token int64, over bool) {
	conn := c.conns[c.routes[p.slot]]
	late := time.After(2 * replyWithin)
	for {
		select {
		case v := <-conn.pushes:
			if len(v.Elems) != 4 || v.Elems[3].Str != owner {
				continue
			}
			if v.Elems[0].Str == "lock-granted" {
				return v.Elems[2].Int, false
			}
			switch reason := v.Elems[2].Str; reason {
			case "failover", "moved":
				delete(c.routes, p.slot)
				return 0, false
			default:
				return 0, true // timeout, unconfirmed, cancelled
			}
		case <-conn.replies: // nothing was asked: it is closed
			c.drop(c.routes[p.slot])
			delete(c.routes, p.slot)
			return 0, false
		case <-late:
			c.drop(c.routes[p.slot])
			delete(c.routes, p.slot)
			return 0, false
		}
	}
}

// work does what the holder of a lock does, and releases it or lets its lease end.
func (c *client) work(p place, key, owner string, e event, leaseMS int) {
	token := strconv.FormatInt(e.n, 10)
	if e.leaseUS == 0 || c.nowUS() > e.call+e.leaseUS || c.chance(4) {
		r, _ := c.try(renew, owner, p.slot, "RENEW", key, owner, "PX", strconv.Itoa(leaseMS), "TOKEN", token)
		r.leaseUS = int64(leaseMS) * 1000
		c.add(key, r)
	}
	if !c.chance(3) {
		c.guard(p, key, owner, token, write, "RPUSH", key+tokens, token)
	}
	if v, o, _ := c.once(p.slot, replyWithin, "GET", key+sum); o == done && !v.IsError() && !c.chance(3) {
		n, _ := strconv.ParseInt(v.Str, 10, 64) // there may be none yet
		c.guard(p, key, owner, token, number, "SET", key+sum, strconv.FormatInt(n+1, 10))
	}
	if c.chance(20) {
		time.Sleep(time.Duration(c.random.IntN(leaseMS)) * time.Millisecond)
		r, _ := c.try(renew, owner, p.slot, "RENEW", key, owner, "PX", strconv.Itoa(leaseMS), "TOKEN", token)
		r.leaseUS = int64(leaseMS) * 1000
		c.add(key, r)
	}
	if c.chance(25) {
		return // its lease ends
	}
	for { // after a request without a reply it may be released
		r, v := c.try(release, owner, p.slot, "UNLOCK", key, owner, "TOKEN", token)
		if v.IsNull() {
			r.n = 0
		}
		c.add(key, r)
		if r.outcome != unknown {
			return
		}
	}
}

// guard writes with the token of a lock.
func (c *client) guard(p place, key, owner, token string, a act, words ...string) {
	e, _ := c.try(a, owner, p.slot, append([]string{"GUARD", key, token}, words...)...)
	if e.outcome == done {
		e.n = 1
	}
	c.add(key, e)
}

func (c *client) visitCounter(p place) {
	key := p.key(counter)
	e, _ := c.try(count, c.name("i"), p.slot, "INCR", key)
	c.add(key, e)
	if c.chance(2) {
		e, v := c.try(read, c.name("r"), p.slot, "GET", key)
		if !v.IsNull() && e.outcome == done {
			e.n, _ = strconv.ParseInt(v.Str, 10, 64)
		}
		c.add(key, e)
	}
}

func (c *client) visitList(p place) {
	key, id := p.key(list), c.name("p")
	e, _ := c.try(push, id, p.slot, "RPUSH", key, id)
	c.add(key, e)
}

// visitLease sets a key with a time to live, and looks at it until about its end.
func (c *client) visitLease(p place) {
	id, leaseMS := p.key(c.name(leases)), 200+c.random.IntN(1500)
	e, _ := c.try(keep, id, p.slot, "SET", id, "x", "PX", strconv.Itoa(leaseMS))
	e.leaseUS = int64(leaseMS) * 1000
	c.add(p.key(leases), e)
	for range 1 + c.random.IntN(3) {
		time.Sleep(time.Duration(c.random.IntN(leaseMS/2)) * time.Millisecond)
		l, v := c.try(look, id, p.slot, "GET", id)
		if v.Str == "x" {
			l.n = 1
		}
		c.add(p.key(leases), l)
	}
}

// buy asks for an order until it is answered.
func (c *client) buy(p place, voucher, id string) {
	e, _ := c.until(order, id, p.slot, "SECKILL", voucher, "u"+id, id)
	c.add(voucher, e)
}

// visitSale buys, perhaps takes it back, and perhaps asks again.
func (c *client) visitSale(p place) {
	voucher, id := p.key(sale), c.name("s")
	c.buy(p, voucher, id)
	if c.chance(3) {
		e, _ := c.until(undo, id, p.slot, "SECKILL.CANCEL", voucher, "u"+id, id)
		c.add(voucher, e)
	}
	if c.chance(2) {
		c.buy(p, voucher, id)
	}
}

// visitHeldSale buys with a hold, and confirms within it, about at its end, or not at all.
func (c *client) visitHeldSale(p place) {
	voucher, id := p.key(heldSale), c.name("h")
	c.buy(p, voucher, id)
	switch c.random.IntN(3) {
	case 0:
		return
	case 1:
		time.Sleep(time.Duration(c.random.IntN(saleHoldMS)) * time.Millisecond)
	}
	e, _ := c.until(confirm, id, p.slot, "SECKILL.CONFIRM", voucher, "u"+id, id)
	c.add(voucher, e)
}

// visitDelays plans an entry of a stream, and perhaps cancels it.
func (c *client) visitDelays(p place) {
	key, id, inMS := p.delays(), c.name("d"), c.random.IntN(2500)
	dueMS := time.Now().UnixMilli() + int64(inMS)
	e, v := c.until(plan, id, p.slot, "DELAY.ADD", key, "PX", strconv.Itoa(inMS), "ID", id, "ONCE", "a"+id, "id", id)
	if e.outcome == done && v.Str != id {
		c.wrong(key, fmt.Sprintf("DELAY.ADD of %s has the answer %s", id, v))
	}
	e.n = dueMS
	c.add(key, e)
	if c.chance(4) {
		e, _ := c.until(drop, id, p.slot, "DELAY.CANCEL", key, id, "ONCE", "c"+id)
		c.add(key, e)
	}
}
