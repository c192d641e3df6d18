//go:build netns

package vanish

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
)

// tally counts what the visitors of a cluster have seen, and keeps the violations.
type tally struct {
	requests, granted, pushed, read atomic.Int64

	mu         sync.Mutex
	violations []string
	most       int    // redirections of one request
	way        string // the members that it went to
	long       int    // requests with more than usualRedirections
}

// violated records that something happened which never may.
func (y *tally) violated(format string, args ...any) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.violations = append(y.violations, fmt.Sprintf(format, args...))
}

// found returns the violations so far.
func (y *tally) found() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]string(nil), y.violations...)
}

// visitor is a client of the cluster that goes where it is redirected. It belongs to one goroutine.
type visitor struct {
	*tally
	of   *machines
	at   string // the member that it asks
	conn *caller
	turn int

	refused, redirected, lost atomic.Int64 // requests that a member refused, redirected, or did not answer
}

// usualRedirections is how often one request is redirected at most after a failover. If several leads change
// during the request there may be more, but never as many as tooMany.
const usualRedirections, tooMany = 2, 10

// rest is the time between two requests of a visitor.
const rest = 15 * time.Millisecond

// ask sends a request and follows redirections. After an error it asks another member the next time.
func (v *visitor) ask(words ...string) (resp.Value, error) {
	v.requests.Add(1)
	sent, way := 0, v.at
	value, err := v.send(words...)
	for ; err != nil && value.IsError() && strings.HasPrefix(value.Str, "MOVED ") && sent < tooMany; sent++ {
		v.leave(strings.Fields(value.Str)[2])
		way += " " + v.at
		value, err = v.send(words...)
	}
	v.mu.Lock()
	if sent > usualRedirections {
		v.long++
	}
	if sent > v.most {
		v.most, v.way = sent, fmt.Sprint(words, ": ", way, ": ", value.Str, " ", err)
	}
	v.mu.Unlock()
	if sent > 0 {
		v.redirected.Add(1)
	}
	if err == nil {
		return value, nil
	}
	if value.IsError() {
		v.refused.Add(1)
	} else {
		v.lost.Add(1)
	}
	v.turn++
	v.leave(v.of.members[v.turn%members][v.turn/members%len(slotsOf)].client)
	return value, err
}

// leave makes it ask another member.
func (v *visitor) leave(to string) {
	if v.conn != nil {
		_ = v.conn.nc.Close()
	}
	v.conn, v.at = nil, to
}

// send sends a request to the member at v.at.
func (v *visitor) send(words ...string) (value resp.Value, err error) {
	if v.conn == nil {
		if err := v.connect(); err != nil {
			return value, err
		}
	}
	return v.conn.call(words...)
}

// connect connects to the member at v.at.
func (v *visitor) connect() (err error) {
	var nc net.Conn
	bad := v.of.hosts[outside].enter(func() { nc, err = net.DialTimeout("tcp", v.at, callWithin) })
	if bad == nil && err == nil {
		v.conn = &caller{nc, bufio.NewReader(nc), callWithin}
	}
	return errors.Join(bad, err)
}

// counter counts the number of a key up, and other visitors read it.
type counter struct {
	key          string
	acked, begun atomic.Int64 // the last number that was acknowledged, and how many requests there were
}

// count adds one to the number. A request without a reply may be executed at any time: TCP sends it again
// when the network is mended.
func (c *counter) count(v *visitor) {
	most := c.begun.Add(1)
	value, err := v.ask("INCR", c.key)
	if err != nil {
		return
	}
	if before := c.acked.Load(); value.Int <= before || value.Int > most {
		v.violated("%s is %d, after %d was acknowledged and %d at most", c.key, value.Int, before, most)
	}
	c.acked.Store(value.Int)
}

// read reads the number: it has all that was acknowledged before.
func (c *counter) read(v *visitor) {
	before := c.acked.Load()
	value, err := v.ask("GET", c.key)
	if err != nil {
		return
	}
	v.tally.read.Add(1)
	if n, _ := strconv.ParseInt(value.Str, 10, 64); n < before {
		v.violated("%s was read as %d, after %d was acknowledged", c.key, n, before)
	}
}

// door is a lock with a list of the tokens of its holders.
type door struct {
	lock, list string

	mu      sync.Mutex
	highest int64     // the highest token that was acknowledged
	until   time.Time // the lock is held until then, unless its holder gives it back before
	holder  string
	pushed  []int64 // tokens that the list has: their writes were acknowledged
}

// lease is long enough that a holder mostly gives the lock back itself.
const lease = 5 * time.Second

// visit takes the lock, writes its token to the list, and gives the lock back. Each visit has its own owner.
func (d *door) visit(v *visitor, owner string) {
	d.mu.Lock()
	before := d.highest
	d.mu.Unlock()
	asked := time.Now()
	value, err := v.ask("LOCK", d.lock, owner, "PX", strconv.FormatInt(lease.Milliseconds(), 10), "WAIT", "1000", "ONCE")
	if err != nil || value.Int == 0 {
		return
	}
	v.granted.Add(1)
	d.enter(v, owner, value.Int, before, asked)
	token := strconv.FormatInt(value.Int, 10)
	if _, err = v.ask("GUARD", d.lock, token, "RPUSH", d.list, token); err == nil {
		v.tally.pushed.Add(1)
		d.mu.Lock()
		d.pushed = append(d.pushed, value.Int)
		d.mu.Unlock()
	}
	_, _ = v.ask("LLEN", d.list) // another visitor may come in meanwhile
	d.mu.Lock()
	if d.holder == owner {
		d.holder = ""
	}
	d.mu.Unlock()
	_, _ = v.ask("UNLOCK", d.lock, owner) // without a reply the lease ends later
}

// enter checks a grant. The last holder has given the lock back, or its lease has ended. A lease ends at the
// earliest when it would have ended if it had been granted when it was asked for. The token is higher than
// those of earlier grants.
func (d *door) enter(v *visitor, owner string, token, before int64, asked time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holder != "" && time.Now().Before(d.until) {
		v.violated("%s is held by %s for %v, and %s gets it", d.lock, d.holder, time.Until(d.until), owner)
	}
	if token <= before {
		v.violated("%s has the token %d, after %d", d.lock, token, before)
	}
	d.holder, d.until, d.highest = owner, asked.Add(lease), max(d.highest, token)
}

// keyOf returns a key of a shard with a hash tag, which differs for each number.
func keyOf(shard, n int) string {
	for i := 0; ; i++ {
		tag := fmt.Sprintf("{%d-%d}", n, i)
		if keyslot.Of([]byte(tag))*len(slotsOf)/keyslot.Count == shard {
			return tag
		}
	}
}
