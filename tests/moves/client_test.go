//go:build raft && linux

package moves

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
)

// replyWithin is how long a client waits for a reply before it asks elsewhere.
const replyWithin = 1500 * time.Millisecond

var errSilent = errors.New("there is no reply")

// conn is a connection that keeps pushes apart from replies.
type conn struct {
	nc      net.Conn
	replies chan resp.Value // closed with the connection
	pushes  chan resp.Value // some are dropped if the client takes none
}

// connect connects, and speaks version 3 of the protocol.
func connect(addr string) (*conn, error) {
	d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: clientIP}}
	nc, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, replies: make(chan resp.Value, 16), pushes: make(chan resp.Value, 64)}
	go c.read()
	if _, err := c.call(replyWithin, "HELLO", "3"); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) close() { _ = c.nc.Close() }

func (c *conn) read() {
	defer close(c.replies)
	for in := bufio.NewReader(c.nc); ; {
		v, err := resp.ReadValue(in)
		switch {
		case err != nil:
			return
		case v.Kind != resp.Push:
			c.replies <- v
			continue
		}
		select {
		case c.pushes <- v:
		default: // the client takes none: it asks again
		}
	}
}

// call sends a command and waits for its reply. After an error the connection must be closed.
func (c *conn) call(within time.Duration, words ...string) (v resp.Value, err error) {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(within))
	if _, err := c.nc.Write(resp.AppendCommand(nil, args...)); err != nil {
		return v, err
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case v, ok := <-c.replies:
		if !ok {
			return v, net.ErrClosed
		}
		return v, nil
	case <-late.C:
		return v, errSilent
	}
}

// ask sends a command to an address on a connection of its own. Without a reply the value has no kind.
func ask(addr string, words ...string) (v resp.Value) {
	c, err := connect(addr)
	if err != nil {
		return v
	}
	defer c.close()
	v, _ = c.call(10*time.Second, words...)
	return v
}

// tally counts what the clients have seen.
type tally struct {
	requests, unknown, redirected, refused atomic.Int64

	mu   sync.Mutex
	most int    // redirections of one request that no member refused meanwhile
	way  string // the members that it went to
}

func (y *tally) sentOn(times int, way string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if times > y.most {
		y.most, y.way = times, way
	}
}

// client is a client of the cluster. It goes where it is redirected, and belongs to one goroutine.
type client struct {
	*histories
	*tally
	who    int
	random *rand.Rand
	all    []string        // the addresses of all members
	ended  <-chan struct{} // it gives up when this is closed
	routes map[int]string
	conns  map[string]*conn
	turn   int
	serial int
}

func newClient(h *histories, y *tally, who int, seed uint64, all []string, ended <-chan struct{}) *client {
	return &client{histories: h, tally: y, who: who, random: rand.New(rand.NewPCG(seed, uint64(who))), all: all, ended: ended,
		routes: map[int]string{}, conns: map[string]*conn{}}
}

func (c *client) leave() {
	for _, conn := range c.conns {
		conn.close()
	}
	clear(c.conns)
}

// drop closes the connection to an address.
func (c *client) drop(addr string) {
	if conn := c.conns[addr]; conn != nil {
		conn.close()
		delete(c.conns, addr)
	}
}

// to returns the connection to the member that is said to lead the slot, and its address.
func (c *client) to(slot int) (*conn, string, error) {
	addr := c.routes[slot]
	if addr == "" {
		c.turn++
		addr = c.all[c.turn%len(c.all)]
		c.routes[slot] = addr
	}
	if c.conns[addr] == nil {
		conn, err := connect(addr)
		if err != nil {
			delete(c.routes, slot)
			return nil, addr, err
		}
		c.conns[addr] = conn
	}
	return c.conns[addr], addr, nil
}

// unserved are the beginnings of errors that say that nothing was done.
var unserved = []string{"MOVED ", "CLUSTERDOWN", "READONLY", "LOADING", "TRYAGAIN", "MASTERDOWN"}

// over reports whether the client must give up.
func (c *client) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// once sends a command to the shard of the slot, until a member takes it. The outcome is done with a reply,
// refused if no member took it until the end, and unknown without a reply. sentUS is when it was sent last.
func (c *client) once(slot int, within time.Duration, words ...string) (v resp.Value, o outcome, sentUS int64) {
	sent, way := 0, ""
	for !c.over() {
		conn, addr, err := c.to(slot)
		if err != nil {
			sent, way = 0, ""
			time.Sleep(5 * time.Millisecond)
			continue
		}
		sentUS = c.nowUS()
		c.requests.Add(1)
		v, err = conn.call(within, words...)
		if err != nil {
			c.unknown.Add(1)
			c.drop(addr)
			delete(c.routes, slot)
			return v, unknown, sentUS
		}
		if !v.IsError() || !begins(v.Str, unserved...) {
			return v, done, sentUS
		}
		delete(c.routes, slot)
		if f := strings.Fields(v.Str); f[0] == "MOVED" && len(f) == 3 {
			c.redirected.Add(1)
			c.routes[slot] = f[2]
			sent++
			way += " " + f[2]
			c.sentOn(sent, words[0]+" from "+addr+":"+way)
			if sent%8 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			continue
		}
		c.refused.Add(1)
		sent, way = 0, ""
		time.Sleep(10 * time.Millisecond)
	}
	return v, refused, c.nowUS()
}

// until sends a command until there is a reply, and returns it as an event.
func (c *client) until(a act, id string, slot int, words ...string) (e event, v resp.Value) {
	e = event{act: a, id: id, who: c.who, first: c.nowUS(), outcome: unknown}
	for !c.over() {
		var o outcome
		v, o, e.call = c.once(slot, replyWithin, words...)
		if o == refused {
			break
		}
		e.times++
		if o == done && !v.IsError() {
			e.outcome, e.n = done, v.Int
			break
		}
		if v.IsError() && !begins(v.Str, "UNBLOCKED") {
			c.wrong(words[1], "unexpected reply to "+strings.Join(words, " ")+": "+v.Str)
			break
		}
	}
	e.ret = c.nowUS()
	return e, v
}

// try sends a command once, and returns it as an event.
func (c *client) try(a act, id string, slot int, words ...string) (e event, v resp.Value) {
	e = event{act: a, id: id, who: c.who, first: c.nowUS(), times: 1}
	v, e.outcome, e.call = c.once(slot, replyWithin, words...)
	e.n, e.ret = v.Int, c.nowUS()
	if e.outcome == done && v.IsError() {
		e.outcome = refused
		if !begins(v.Str, "STALETOKEN") {
			c.wrong(words[1], "unexpected reply to "+strings.Join(words, " ")+": "+v.Str)
		}
	}
	return e, v
}

// name returns a name that no other client uses.
func (c *client) name(prefix string) string {
	c.serial++
	return prefix + strconv.Itoa(c.who) + "-" + strconv.Itoa(c.serial)
}

func begins(text string, with ...string) bool {
	for _, w := range with {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// tags has a hash tag for each slot.
var tags = sync.OnceValue(func() (all [keyslot.Count]string) {
	for i, n := 0, 0; n < keyslot.Count; i++ {
		tag := "k" + strconv.Itoa(i)
		if slot := keyslot.Of([]byte(tag)); all[slot] == "" {
			all[slot] = tag
			n++
		}
	}
	return all
})
