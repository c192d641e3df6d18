//go:build simulation

package simulation

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"lockserver/internal/resp"
)

// client is one of those who use the group, one command at a time. Its id is the owner of its locks.
type client struct {
	world  *world
	number int
	chance *chance
	values int
	tokens map[int]int64 // the last token that it got, by lock

	at    int // the member that it asks
	conn  *caller
	broke *moment // when conn ends; it is what operations have
}

// fresh is a value that no other client writes.
func (c *client) fresh() string {
	c.values++
	return fmt.Sprintf("%d.%d", c.number, c.values)
}

// live uses the group until the run is over.
func (c *client) live(families []family) {
	for !c.world.over() {
		f := &families[c.chance.below(len(families))]
		o := f.draw(c, c.chance.below(f.keys))
		c.do(o)
		if c.chance.oneIn(60) {
			c.leave()
		}
		time.Sleep(c.chance.between(time.Millisecond, 80*time.Millisecond))
	}
}

// leave ends the connection.
func (c *client) leave() {
	if c.conn != nil {
		_ = c.conn.conn.Close()
		c.conn = nil
		*c.broke = c.world.now()
	}
}

// patience is how long a client waits for an answer.
const patience = 2 * time.Second

// do asks one member after the other until one does it, or until it is not known whether it was done.
func (c *client) do(o *operation) {
	for !c.world.over() {
		if !c.connect() {
			continue
		}
		o.client, o.member, o.call = c.number, c.world.group.all[c.at].peer.ID, c.world.now()
		if o.asked == 0 {
			o.asked = o.call.event
		}
		if o.lease == 0 && o.acquires() {
			o.broke = c.broke
		}
		c.delay()
		v, err := c.conn.call(patience, o.words...)
		if err == nil {
			c.delay()
			err = c.lostMeanwhile()
		}
		o.ret = c.world.now()
		switch {
		case err != nil:
			o.unknown, o.ret = true, moment{never, 1 << 62}
			c.leave()
			c.record(o)
			return
		case elsewhere(v):
			c.leave()
			c.at = c.chance.below(len(c.world.group.all))
			time.Sleep(c.chance.between(time.Millisecond, 50*time.Millisecond))
			continue
		}
		o.reply = v
		c.record(o)
		return
	}
}

// record adds an operation to the history, and what it got to the client's tokens. An MLOCK is one
// operation on each of its locks, all at the same time.
func (c *client) record(o *operation) {
	all := []*operation{o}
	if o.locks != nil {
		all = all[:0]
		for i, n := range o.locks {
			one := *o
			one.about, one.part = aboutLock(n), true
			if len(o.reply.Elems) == len(o.locks) {
				one.reply = o.reply.Elems[i]
			}
			all = append(all, &one)
		}
	}
	for _, o := range all {
		if o.owner > 0 && o.reply.Kind == resp.Integer && o.acquires() {
			var n int
			_, _ = fmt.Sscanf(o.about, "lock %d", &n)
			c.tokens[n] = o.reply.Int
		}
		c.world.record(o)
	}
}

// never is later than all events.
const never = int64(1) << 60

// connect makes a connection where there is none; false: there is none yet.
func (c *client) connect() bool {
	if c.conn != nil {
		return true
	}
	conn, err := c.world.group.all[c.at].dial()
	if err != nil {
		c.at = c.chance.below(len(c.world.group.all))
		time.Sleep(c.chance.between(time.Millisecond, 50*time.Millisecond))
		return false
	}
	c.conn, c.broke = newCaller(conn), &moment{never, 1 << 62}
	return true
}

// delay is the way between client and member.
func (c *client) delay() { time.Sleep(c.chance.between(50*time.Microsecond, time.Millisecond)) }

var errLate = errors.New("the answer was lost")

// lostMeanwhile loses an answer now and then.
func (c *client) lostMeanwhile() error {
	if c.chance.oneIn(300) {
		return errLate
	}
	return nil
}

// elsewhere reports whether a reply says that nothing was done, and that another member may do it.
func elsewhere(v resp.Value) bool {
	if !v.IsError() {
		return false
	}
	word, _, _ := strings.Cut(v.Str, " ")
	return word == "READONLY" || word == "CLUSTERDOWN" || word == "LOADING" || word == "UNBLOCKED"
}

// history is all commands and replies of all clients.
type history struct {
	mu        sync.Mutex
	events    int64
	begun     time.Time
	all       []*operation
	incidents []string // what befell the members

	undecided int // of what the checker found neither
}

// now is the next event.
func (h *history) now() moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events++
	return moment{h.events, time.Since(h.begun)}
}

// record adds an operation.
func (h *history) record(o *operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, o)
	if os.Getenv("RAFT_LOG") != "" {
		fmt.Fprintln(os.Stderr, o)
	}
}

// say records events of the members.
func (h *history) say(format string, args ...any) {
	at := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.incidents = append(h.incidents, fmt.Sprintf("%5d        %9.3fs --- %s", at.event, at.after.Seconds(), fmt.Sprintf(format, args...)))
}
