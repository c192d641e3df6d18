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

// client is a client of the group. It sends one command at a time. Its id is the owner of its locks.
type client struct {
	world  *world
	number int
	chance *chance
	values int
	tokens map[int]int64 // the last token that it got for each lock
	routes map[int]int   // in a cluster of groups: the member to which clients were last sent, by slot

	at    int // the member to which it is connected
	conn  *caller
	broke *moment // the end of conn, shared with its operations
}

// fresh returns a value that no other client writes.
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

// leave closes the connection.
func (c *client) leave() {
	if c.conn != nil {
		_ = c.conn.conn.Close()
		c.conn = nil
		*c.broke = c.world.now()
	}
}

// patience is how long a client waits for a reply.
const patience = 2 * time.Second

// do asks one member after the other until one has run the operation, or until the result is unknown.
func (c *client) do(o *operation) {
	for c.route(o); !c.world.over(); {
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
			c.at = c.next(v)
			time.Sleep(c.chance.between(time.Millisecond, 50*time.Millisecond))
			continue
		}
		o.reply = v
		c.record(o)
		return
	}
}

// record adds an operation to the history, and its tokens to those of the client. An MLOCK is one operation
// on each of its locks, all at the same time.
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

// connect opens a connection if there is none. It returns false if that is not possible now.
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

// delay waits for the way between client and member.
func (c *client) delay() { time.Sleep(c.chance.between(50*time.Microsecond, time.Millisecond)) }

var errLate = errors.New("the answer was lost")

// lostMeanwhile sometimes loses a reply.
func (c *client) lostMeanwhile() error {
	if c.chance.oneIn(300) {
		return errLate
	}
	return nil
}

// elsewhere reports whether a reply says that the command did not run, and that another member may run it.
func elsewhere(v resp.Value) bool {
	if !v.IsError() {
		return false
	}
	word, _, _ := strings.Cut(v.Str, " ")
	return word == "READONLY" || word == "CLUSTERDOWN" || word == "LOADING" || word == "UNBLOCKED" || word == "MOVED"
}

// history holds all commands and replies of all clients.
type history struct {
	mu        sync.Mutex
	events    int64
	begun     time.Time
	all       []*operation
	incidents []string // the faults that the members had

	undecided int // the number of keys without a result of the checker
}

// now returns the next event.
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
