package linearizability

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// client is a goroutine that does random operations on the locks, one after the other. It acts as its own
// owner, and sometimes as another owner.
type client struct {
	world  *world
	random *rand.Rand
	owner  int
	conn   *connection
	// attacher is the connection that has attached the owner, if the client attaches it. A program that
	// acquires through a pool also keeps one connection only to stay alive.
	attacher *connection
	attaches bool
	attached bool // it has attached the owner now
	// held holds the tokens of the locks that the client believes to hold.
	held map[int]int64
}

// live does the given number of operations and ends.
func (c *client) live(operations int) {
	for range operations {
		if c.world.failed() {
			break
		}
		if c.conn == nil {
			conn, err := c.world.open()
			if err != nil {
				c.world.fail(fmt.Errorf("connect: %w", err))
				return
			}
			c.conn = conn
		}
		if c.attaches {
			c.keepAttached()
		}
		if op := c.choose(); op != nil {
			c.do(op)
		}
		if c.world.time.manual == nil {
			c.world.time.sleep(int64(c.random.IntN(4)), c.world.stop)
		}
	}
	for _, conn := range []*connection{c.conn, c.attacher} {
		if conn != nil {
			c.world.hangUp(conn, false)
		}
	}
}

// keepAttached keeps the owner's locks alive, most of the time.
func (c *client) keepAttached() {
	switch n := c.random.IntN(40); {
	case c.attacher != nil && c.attacher.hasEnded():
		<-c.attacher.ended
		_ = c.attacher.conn.Close()
		c.attacher = nil
	case c.attacher == nil && n < 20:
		conn, err := c.world.open()
		if err != nil {
			c.world.fail(fmt.Errorf("connect: %w", err))
			return
		}
		c.attacher, c.attached = conn, true
		c.doOver(&c.attacher, &operation{kind: attach, owner: c.owner})
	case c.attacher != nil && !c.attached && n < 4:
		c.attached = true
		c.doOver(&c.attacher, &operation{kind: attach, owner: c.owner})
	case c.attacher != nil && c.attached && n == 0:
		c.attached = false
		c.doOver(&c.attacher, &operation{kind: detach, owner: c.owner})
	case c.attacher != nil && n == 1:
		c.world.hangUp(c.attacher, c.random.IntN(2) == 0)
	}
}

// do runs an operation and records it.
func (c *client) do(op *operation) { c.doOver(&c.conn, op) }

// doOver is do on one of the client's connections.
func (c *client) doOver(over **connection, op *operation) {
	w, conn := c.world, *over
	op.conn = conn.number
	if op.kind == acquire && op.waitMS != noWait && c.random.IntN(8) == 0 {
		c.leaveLater(conn)
	}
	if c.random.IntN(4) != 0 {
		w.time.quiet()
	}
	op.call = w.time.now()
	v, err := conn.call(op.words()...)
	op.ret = w.time.now()
	switch {
	case errors.Is(err, errSilent):
		w.fail(fmt.Errorf("%s: no reply after %s\n%s", op, patience, w.situation()))
		*over = nil
		return
	case err != nil && !conn.hasEnded():
		w.fail(fmt.Errorf("%s: %w", op, err))
		*over = nil
		return
	case err != nil:
		<-conn.ended
		w.recordUnknown(op, conn)
		_ = conn.conn.Close()
		*over = nil
		return
	case v.IsError() && strings.HasPrefix(v.Str, "UNBLOCKED"):
		op.unblocked = true
		w.record(op)
		return
	}
	if err := op.answer(v); err != nil {
		w.fail(err)
		return
	}
	w.record(op)
	c.remember(op)
}

// leaveLater closes the connection at a random time, most likely while its command waits.
func (c *client) leaveLater(conn *connection) {
	afterMS, abruptly := int64(c.random.IntN(int(c.world.pace.longWaitMS))), c.random.IntN(2) == 0
	c.world.group.Go(func() {
		c.world.time.sleep(afterMS, c.world.stop)
		c.world.hangUp(conn, abruptly)
	})
}

// remember updates what the client believes.
func (c *client) remember(op *operation) {
	if op.owner != c.owner || op.refused || op.deadlock {
		return
	}
	for i, k := range op.keys {
		switch op.kind {
		case acquire:
			c.held[k] = op.values[i]
		case release:
			if op.values[i] != 0 && op.token == 0 && !(op.shared && op.values[i] == none) {
				delete(c.held, k)
			}
		case renew:
			if op.values[i] == 0 && op.token == 0 {
				delete(c.held, k)
			}
		}
	}
}

// choose returns the next operation, or nil if the client has only waited.
func (c *client) choose() *operation {
	op := c.chooseAlone()
	if op == nil || !c.world.shares {
		return op
	}
	switch op.kind {
	case acquire:
		op.shared, op.once = c.random.IntN(2) == 0, c.random.IntN(4) == 0
	case release:
		op.shared = c.random.IntN(4) == 0
	}
	return op
}

// chooseAlone is choose without the options for shared locks.
func (c *client) chooseAlone() *operation {
	if len(c.held) > 0 && c.random.IntN(100) < 75 {
		return c.chooseHolding()
	}
	key, owner, lease, wait, w := c.random.IntN(maxKeys), c.owner, c.lease(), c.wait(), c.world
	if c.random.IntN(12) == 0 {
		// One connection then acts for two owners. It might keep a lock of one owner alive while it waits
		// without limit for the other. That could make a cycle that no owner is part of, and that no server
		// could detect.
		owner, lease, wait = c.otherOwner(), max(lease, 1), max(wait, 1)
	}
	switch n := c.random.IntN(100); {
	case n < 24:
		return &operation{kind: acquire, keys: []int{key}, owner: owner, leaseMS: lease, waitMS: noWait}
	case n < 56:
		return &operation{kind: acquire, keys: []int{key}, owner: owner, leaseMS: lease, waitMS: wait}
	case n < 60:
		return &operation{kind: acquire, keys: c.several(), owner: owner, leaseMS: lease, waitMS: noWait}
	case n < 66 && w.manyWait:
		return &operation{kind: acquire, keys: c.several(), owner: owner, leaseMS: lease, waitMS: wait}
	case n < 71:
		return &operation{kind: c.view(), keys: []int{key}}
	case n < 76:
		return &operation{kind: ttl, keys: []int{key}}
	case n < 83:
		return &operation{kind: release, keys: []int{key}, owner: c.otherOwner()}
	case n < 88:
		return &operation{kind: renew, keys: []int{key}, owner: c.owner, leaseMS: c.lease()}
	case n < 91:
		return &operation{kind: remove, keys: []int{key}}
	case n < 94:
		return &operation{kind: force, keys: []int{key}}
	case n < 95 && c.random.IntN(4) == 0:
		return &operation{kind: flush}
	}
	c.world.time.sleep(1+int64(c.random.IntN(int(c.world.pace.longLeaseMS))), c.world.stop)
	return nil
}

// chooseHolding is choose for a client that holds a lock.
func (c *client) chooseHolding() *operation {
	key := c.anyHeld()
	token := int64(0)
	switch c.random.IntN(8) {
	case 0, 1:
		token = c.held[key]
	case 2:
		token = c.held[key] + int64(c.random.IntN(3)) - 1
	}
	switch n := c.random.IntN(100); {
	case n < 40:
		return &operation{kind: release, keys: []int{key}, owner: c.owner, token: token}
	case n < 46 && len(c.held) > 1:
		keys := c.several()
		return &operation{kind: release, keys: keys, owner: c.owner}
	case n < 60:
		return &operation{kind: renew, keys: []int{key}, owner: c.owner, leaseMS: c.lease(), token: token}
	case n < 70:
		return &operation{kind: acquire, keys: []int{key}, owner: c.owner, leaseMS: c.lease(), waitMS: noWait}
	case n < 78:
		return &operation{kind: ttl, keys: []int{key}}
	case n < 84:
		return &operation{kind: c.view(), keys: []int{key}}
	case n < 88: // a pause longer than any lease: only a watchdog keeps the lock
		c.world.time.sleep(c.world.pace.watchdogMS+int64(c.random.IntN(int(c.world.pace.watchdogMS))), c.world.stop)
		return nil
	}
	c.world.time.sleep(1+int64(c.random.IntN(int(c.world.pace.longLeaseMS))), c.world.stop)
	return nil
}

// view returns one of the operations that show the holder of a lock.
func (c *client) view() kind {
	if c.random.IntN(2) == 0 {
		return look
	}
	return inform
}

// anyHeld returns one of the locks that the client believes to hold. Its own random numbers choose it, and
// not the order of the map.
func (c *client) anyHeld() int {
	n := c.random.IntN(len(c.held))
	for k := range maxKeys {
		if _, ok := c.held[k]; ok {
			if n == 0 {
				return k
			}
			n--
		}
	}
	panic("no lock is held")
}

func (c *client) several() []int {
	return c.random.Perm(maxKeys)[:2+c.random.IntN(maxKeys-1)]
}

// otherOwner returns an owner that most likely does not hold the lock.
func (c *client) otherOwner() int { return 1 + c.random.IntN(c.world.pace.clients) }

// lease returns a time for PX, or 0 for the watchdog.
func (c *client) lease() int64 {
	if c.random.IntN(4) == 0 {
		return 0
	}
	return 1 + int64(c.random.IntN(int(c.world.pace.longLeaseMS)))
}

// wait returns a time for WAIT; 0 means no limit.
func (c *client) wait() int64 {
	if c.random.IntN(3) == 0 {
		return 0
	}
	return 1 + int64(c.random.IntN(int(c.world.pace.longWaitMS)))
}
