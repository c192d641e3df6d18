package sales

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"lockserver/internal/resp"
)

// link is a connection.
type link struct {
	conn net.Conn
	in   *bufio.Reader
	id   string // the id that the server gave it
}

// dial connects, over the port or within the process.
func (w *world) dial() (*link, error) {
	conn, err := net.Conn(nil), error(nil)
	if w.seed%2 == 0 {
		conn, err = w.srv.Dial()
	} else {
		conn, err = net.Dial(w.srv.Addr().Network(), w.srv.Addr().String())
	}
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, in: bufio.NewReader(conn)}
	v, err := l.call("CLIENT", "ID")
	l.id = v.String()
	return l, err
}

func (l *link) hangUp() { _ = l.conn.Close() }

// send sends commands in one write.
func (l *link) send(commands ...[]string) error {
	var out []byte
	for _, args := range commands {
		words := make([][]byte, len(args))
		for i, a := range args {
			words[i] = []byte(a)
		}
		out = resp.AppendCommand(out, words...)
	}
	_, err := l.conn.Write(out)
	return err
}

// receive reads n replies and returns the last one.
func (l *link) receive(n int) (v resp.Value, err error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		return v, err
	}
	for range n {
		if v, err = resp.ReadValue(l.in); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (l *link) call(args ...string) (resp.Value, error) {
	if err := l.send(args); err != nil {
		return resp.Value{}, err
	}
	return l.receive(1)
}

// client is a random user of the sale. Its user name changes from call to call.
type client struct {
	world  *world
	number int
	random *rand.Rand
	link   *link
}

// live makes n calls, and reconnects whenever its connection is gone.
func (c *client) live(n int) {
	defer func() {
		if c.link != nil {
			c.link.hangUp()
		}
	}()
	for range n {
		if c.link == nil {
			var err error
			if c.link, err = c.world.dial(); err != nil {
				if c.link == nil {
					c.world.fail(err)
					return
				}
				c.link.hangUp() // killed before the client had begun
				c.link = nil
				continue
			}
			c.world.enter(c.number, c.link.id)
		}
		c.do(c.next())
		if c.random.IntN(2) == 0 { // so that other clients come in between
			time.Sleep(time.Duration(c.random.IntN(300)) * time.Microsecond)
		}
	}
}

// next returns the client's next operation.
func (c *client) next() *operation {
	r, w := c.random, c.world
	op := &operation{kind: sell, client: c.number, qty: 1, inMulti: r.IntN(8) == 0, user: fmt.Sprint("u", r.IntN(users))}
	if r.IntN(3) == 0 {
		op.qty = 1 + r.IntN(w.terms.limit+r.IntN(2))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial++
	op.order = fmt.Sprint("o", w.serial)
	what := r.IntN(20)
	if what >= 9 && what < 17 && len(w.known) > 0 {
		recent := w.known[max(0, len(w.known)-12):]
		other := recent[r.IntN(len(recent))]
		op.order = other.order
		if r.IntN(12) > 0 { // otherwise an order of another user
			op.user = other.user
		}
	}
	switch {
	case what < 12:
		op.cart = place(max(0, r.IntN(6)-3))
	case what < 14:
		op.kind = confirm
	case what < 15:
		op.kind, op.ms = extend, 1+r.Int64N(60)
	case what < 17:
		op.kind = cancel
		if r.IntN(2) > 0 {
			op.part = 1 + r.IntN(2)
		}
	case what < 18:
		op.kind, op.qty = restock, r.IntN(6)-2
	default:
		op.kind = look
	}
	return op
}

// do makes one call and records it.
func (c *client) do(op *operation) {
	w := c.world
	commands := [][]string{op.args()}
	if op.inMulti {
		commands = [][]string{{"MULTI"}, op.args(), {"EXEC"}}
	}
	op.call = w.stamps.Add(1)
	err := c.link.send(commands...)
	if err == nil && c.random.IntN(200) == 0 {
		err = net.ErrClosed // the client does not wait for the reply
	}
	var v resp.Value
	if err == nil {
		v, err = c.link.receive(len(commands))
	}
	if err != nil {
		c.link.hangUp()
		w.awaitGone(c.link.id) // until then the call may still have its effect
		c.link = nil
		op.ret = w.stamps.Add(1)
		if w.mayHaveHappened(op) {
			op.unknown = true
			w.record(op)
		}
		return
	}
	op.ret = w.stamps.Add(1)
	if op.inMulti && len(v.Elems) == 1 {
		v = v.Elems[0]
	}
	op.reply = v.String()
	w.record(op)
}

// mayHaveHappened checks whether a call with a lost reply had an effect, at a time when it can no longer get
// one. A call without effect is not recorded, because the checker takes long for many calls of unknown
// outcome.
func (w *world) mayHaveHappened(op *operation) bool {
	switch {
	case op.kind == look:
		return false
	case op.kind == restock, op.kind == extend, op.part > 0:
		return true // the record does not tell
	}
	v, err := w.ask("HGET", "seckill:orders:"+voucher, op.order)
	if err != nil {
		w.fail(err)
	}
	state, _, _ := strings.Cut(v.Str, " ")
	switch op.kind {
	case confirm:
		return state == "paid"
	case cancel:
		return state == "gone"
	}
	return !v.IsNull()
}

// ask makes a call that is not part of the history.
func (w *world) ask(args ...string) (resp.Value, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	return w.admin.call(args...)
}

// awaitGone waits until the server no longer lists a connection: its commands have run by then, or never
// will.
func (w *world) awaitGone(id string) {
	for late := time.Now().Add(soon); ; time.Sleep(100 * time.Microsecond) {
		v, err := w.ask("CLIENT", "LIST", "ID", id)
		if err == nil && v.Str == "" && !v.IsError() {
			return
		}
		if err != nil || v.IsError() || time.Now().After(late) {
			w.fail(fmt.Errorf("connection %s does not go: %s, %v", id, v, err))
			return
		}
	}
}

// record adds an operation to the history.
func (w *world) record(op *operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, op)
	if op.kind == sell && (op.reply == "0" || op.unknown || len(w.history)%8 == 0) {
		w.known = append(w.known, op)
	}
	if op.kind != tick && op.kind != look && op.kind != restock {
		what := op.reply
		if op.unknown {
			what = "unknown"
		}
		w.counts[fmt.Sprint(op.args()[0], " ", what[:min(len(what), 16)])]++
	}
}

// fail records an error of the world itself.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// enter records the present connection of a client.
func (w *world) enter(number int, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[number] = id
}

// pass advances the clock by single milliseconds until stop is closed.
func (w *world) pass(random *rand.Rand, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(20+random.IntN(300)) * time.Microsecond):
		}
		op := &operation{kind: tick, client: clients, call: w.stamps.Add(1)}
		w.clock.Advance(time.Millisecond)
		op.ret = w.stamps.Add(1)
		w.record(op)
	}
}

// disturb kills a few connections, and takes a snapshot if half is set, until stop is closed.
func (w *world) disturb(random *rand.Rand, half bool, stop <-chan struct{}) {
	const most = 2
	for n := range most {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(1+random.IntN(5_000)) * time.Microsecond):
		}
		if half && n == 0 {
			if err := w.save("BGSAVE"); err != nil {
				w.fail(err)
			}
		}
		w.mu.Lock()
		id := w.links[random.IntN(clients)]
		w.mu.Unlock()
		if id != "" {
			if _, err := w.ask("CLIENT", "KILL", "ID", id); err != nil {
				w.fail(err)
			}
		}
	}
}
