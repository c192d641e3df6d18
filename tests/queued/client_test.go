package queued

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// client is a goroutine that acquires and releases, each time as a new owner.
type client struct {
	world    *world
	random   *rand.Rand
	prefix   string
	conn     *conn
	attaches bool  // it has a second connection, which attaches its prefix
	second   *conn // that connection; nil while it is broken
	pushes   *outcomes
}

// request is one acquisition.
type request struct {
	number  int
	owner   string
	permits int64 // 1 for a reader; in a world with several locks the set of locks, a bit for each
	waitMS  int64 // 0 means that it does not wait
	notify  bool
	brokeAt int64 // the time at which its connection broke while it was queued, until it asks again; otherwise 0
	call    int64 // the time of the first call
	// doubts holds the times at which the server may have granted the request, and given it back by itself
	// later.
	doubts []string
	// abandoned means that the request was granted, and the client does nothing about it.
	abandoned bool
}

func (c *client) live() {
	for range c.world.requests {
		if c.world.failed() {
			break
		}
		if c.random.IntN(4) == 0 {
			c.look()
		}
		r := c.newRequest()
		if c.acquire(r) {
			c.sleepUS(3000)
			c.release(r)
		}
	}
	for _, conn := range []*conn{c.conn, c.second} {
		if conn != nil {
			_ = conn.nc.Close()
		}
	}
}

func (c *client) newRequest() *request {
	n := int(c.world.owners.Add(1)) - 1
	r := &request{number: n, owner: c.prefix + strconv.Itoa(n), permits: 1, call: c.world.now()}
	switch {
	case c.world.semaphore:
		r.permits = 1 + c.random.Int64N(limit)
	case c.world.several:
		r.permits = 1 + c.random.Int64N(1<<locks-1)
	case c.world.shared && c.random.IntN(2) == 0:
		r.permits = writer
	}
	c.world.permits[n] = r.permits
	if c.random.IntN(5) > 0 {
		r.waitMS = 1 + c.random.Int64N(60)
		r.notify = c.random.IntN(3) > 0
	}
	return r
}

func (c *client) sleepUS(most int) {
	time.Sleep(time.Duration(c.random.IntN(most)) * time.Microsecond)
}

// connect opens the missing connections. It returns false if the world has failed.
func (c *client) connect() bool {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		c.world.mu.RLock() // waits while the server restarts
		err := c.open()
		c.world.mu.RUnlock()
		if err == nil {
			return true
		}
		if c.world.failed() || time.Now().After(end) {
			c.world.fail(fmt.Errorf("connect: %w", err))
			return false
		}
	}
}

func (c *client) open() (err error) {
	if c.conn == nil {
		if c.conn, err = open(c.world.dial, c.pushes, false); err != nil {
			return err
		}
		c.world.count("connection")
	}
	if c.second != nil && c.second.hasEnded() {
		_ = c.second.nc.Close()
		c.second = nil
	}
	if c.attaches && c.second == nil {
		conn, err := open(c.world.dial, c.pushes, true)
		if err != nil {
			return err
		}
		if _, err = conn.call("LOCK.ATTACH", "PREFIX", c.prefix); err != nil {
			return err
		}
		c.second = conn
		c.world.count("connection")
	}
	return nil
}

// call sends a command, again and again until a connection lives long enough for the reply. broken says that
// an earlier attempt may have had an effect.
func (c *client) call(words ...string) (v resp.Value, broken, ok bool) {
	for {
		v, err := c.once(words...)
		if err == nil {
			return v, broken, true
		}
		if broken = true; c.world.failed() {
			return v, true, false
		}
	}
}

// once sends a command once. An error means that the connection broke.
func (c *client) once(words ...string) (resp.Value, error) {
	if !c.connect() {
		return resp.Value{}, errSilent
	}
	v, err := c.conn.call(words...)
	switch {
	case errors.Is(err, errSilent):
		c.world.fail(err)
	case err != nil:
		_ = c.conn.nc.Close()
		c.conn = nil
	}
	return v, err
}

// look asks how many permits are in use.
func (c *client) look() {
	for !c.world.failed() {
		op := &operation{kind: used, call: c.world.now()}
		words := []string{"LOCK.INFO", key}
		switch {
		case c.world.semaphore:
			words[0] = "SEM.INFO"
		case c.world.several:
			words = append([]string{"EXISTS"}, c.world.keys()...)
		}
		v, err := c.once(words...)
		op.ret = c.world.now()
		if err != nil {
			continue
		}
		if v.Kind == resp.Integer {
			op.reply = v.Int
		} else if v.Kind == resp.Map || len(v.Elems) > 0 {
			op.reply = c.world.used(v)
		}
		c.world.add(op)
		return
	}
}

// used returns the number of permits in use, from LOCK.INFO or SEM.INFO of an existing key.
func (w *world) used(info resp.Value) (permits int64) {
	permits = 1
	if w.shared {
		permits = writer
	}
	for i := 0; i+1 < len(info.Elems); i += 2 {
		switch info.Elems[i].Str {
		case "used":
			permits = info.Elems[i+1].Int
		case "holders":
			if !w.semaphore {
				permits = int64(len(info.Elems[i+1].Elems))
			}
		}
	}
	return permits
}

// words returns the command of a request.
func (c *client) words(r *request) []string {
	words := []string{"LOCK", key, r.owner}
	switch {
	case c.world.semaphore:
		words = []string{"SEM.ACQUIRE", key, r.owner, "LIMIT", strconv.Itoa(limit), "PERMITS", strconv.FormatInt(r.permits, 10)}
	case c.world.several:
		words = append(manyWords("MLOCK", r), r.owner)
	case c.world.shared && r.permits == 1:
		words = append(words, "SHARED")
	}
	words = append(words, "PX", "3600000", "ONCE")
	if r.waitMS > 0 {
		words = append(words, "WAIT", strconv.FormatInt(r.waitMS, 10))
		if level := int(r.owner[len(r.owner)-1]) % 10; level%2 == 0 { // the same when it is sent again
			words = append(words, "PRIORITY", strconv.Itoa(level))
		}
	}
	if r.notify {
		words = append(words, "NOTIFY")
	}
	return words
}

// manyWords returns the first words of a command for several locks.
func manyWords(command string, r *request) []string {
	keys := keysOf(r.permits)
	return append([]string{command, strconv.Itoa(len(keys))}, keys...)
}

// key returns the key, or the first of several keys.
func (c *client) key(r *request) string {
	if c.world.several {
		return keysOf(r.permits)[0]
	}
	return key
}

// tokens returns the tokens in a reply or a push: an integer, or an array.
func tokens(v resp.Value) (list []int64) {
	if v.Kind == resp.Integer {
		return []int64{v.Int}
	}
	for _, elem := range v.Elems {
		list = append(list, elem.Int)
	}
	return list
}

// maybe records that the server may have granted a request since it was asked. The server may give it back by
// itself until the request is over.
func (c *client) maybe(r *request, why string) { r.doubts = append(r.doubts, why) }

// writeDoubts adds the doubts of a request that is over to the history.
func (c *client) writeDoubts(r *request) {
	now := c.world.now()
	for _, why := range r.doubts {
		c.world.add(&operation{kind: take, owner: r.number, permits: r.permits, call: r.call, ret: now, unknown: true, why: why},
			&operation{kind: back, owner: r.number, permits: r.permits, call: r.call, ret: now, unknown: true, why: why})
	}
}

// had adds to the history that a request was granted.
func (c *client) had(r *request, tokens []int64, how string) bool {
	c.world.add(&operation{kind: take, owner: r.number, permits: r.permits, call: r.call, ret: c.world.now(), token: slices.Min(tokens),
		last: slices.Max(tokens), why: how})
	c.world.count(how)
	c.world.count(how + ": " + c.world.form())
	return true
}

// acquire asks until the request is granted (true), or over.
func (c *client) acquire(r *request) bool {
	defer func() {
		if r.abandoned {
			c.world.abandon(c, r)
		} else {
			c.writeDoubts(r)
		}
		if r.waitMS > 0 {
			c.world.record.Lock()
			c.world.spans = append(c.world.spans, span{r.number, r.call, c.world.now()})
			c.world.record.Unlock()
		}
	}()
	for !c.world.failed() {
		v, err := c.once(c.words(r)...)
		switch {
		case err != nil:
			c.maybe(r, "broken")
			if c.random.IntN(3) == 0 {
				return c.giveUp(r)
			}
			c.world.count("asked again")
		case v.Kind == resp.Integer || v.Kind == resp.Array && len(v.Elems) > 0:
			c.askedAgain(r, grantBeforeReconnect)
			return c.had(r, tokens(v), "granted at once")
		case v.IsNull():
			c.world.add(&operation{kind: none, owner: r.number, permits: r.permits, call: r.call, ret: c.world.now()})
			return false
		case v.Str == "QUEUED":
			c.askedAgain(r, reconnectBeforeGrant)
			over, held := c.awaitOutcome(r)
			if over {
				return held
			}
		default:
			c.world.fail(fmt.Errorf("%v: %s", c.words(r), v))
		}
	}
	return false
}

// awaitOutcome waits for the outcome of a queued request. over says that there is one; otherwise the caller
// asks again.
func (c *client) awaitOutcome(r *request) (over, held bool) {
	leave := time.After(time.Duration(c.random.IntN(80_000)) * time.Microsecond)
	if c.random.IntN(3) > 0 {
		leave = time.After(patience)
	}
	conn := c.conn
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	began := time.Now()
	for {
		select {
		case v := <-c.pushes.await(r.owner):
			if v.Elems[0].Str == "lock-granted" && c.world.abandons && c.random.IntN(8) == 0 {
				c.maybe(r, "abandoned")
				r.abandoned = true
				return true, false
			}
			if v.Elems[0].Str == "lock-granted" {
				return c.confirm(r, tokens(v.Elems[2]))
			}
			return c.refused(r, v.Elems[2].Str)
		case <-leave:
			if time.Since(began) > patience/2 {
				c.world.fail(fmt.Errorf("%w: no outcome for %s", errSilent, r.owner))
				return true, false
			}
			return true, c.cancel(r)
		case <-look.C:
			if _, err := conn.call("PING"); err != nil { // the connection is broken: the caller asks again
				c.conn = nil
				_ = conn.nc.Close()
				c.maybe(r, "broken while it waited")
				r.brokeAt = c.world.now()
				c.sleepUS(2 * confirmMS * 1000)
				c.world.count("asked again")
				return false, false
			}
		}
	}
}

// confirm confirms a grant, in time or too late.
func (c *client) confirm(r *request, tokens []int64) (over, held bool) {
	late := false
	switch c.random.IntN(6) {
	case 0: // at about the end of the time
		late = true
		time.Sleep(time.Duration(confirmMS-2)*time.Millisecond + time.Duration(c.random.IntN(4000))*time.Microsecond)
	case 1:
		c.sleepUS(5000)
	}
	words := []string{"LOCK.CONFIRM", c.key(r), r.owner, strconv.FormatInt(tokens[0], 10)}
	defer c.confirmTwice(r, words)()
	op := &operation{kind: check, owner: r.number, permits: r.permits, call: c.world.now()}
	v, broken, ok := c.call(words...)
	op.ret, op.reply = c.world.now(), v.Int
	if !ok {
		return true, false
	}
	if !broken {
		c.world.add(op)
	}
	if late {
		c.world.count([]string{timeoutBeforeConfirm, confirmBeforeTimeout}[v.Int])
	}
	if v.Int == 1 {
		return true, c.had(r, tokens, "confirmed")
	}
	c.maybe(r, "confirmed too late")
	c.world.count("confirmed too late")
	return true, c.giveUp(r)
}

// refused handles the reason of a refusal.
func (c *client) refused(r *request, reason string) (over, held bool) {
	c.world.count(reason)
	switch {
	case len(r.doubts) > 0: // it may be the outcome of an earlier wait, while the request is queued again
		return true, c.giveUp(r)
	case reason == "timeout":
		c.world.add(&operation{kind: none, owner: r.number, permits: r.permits, call: r.call, ret: c.world.now()})
		return true, false
	case reason == "unconfirmed", reason == "cancelled":
		c.maybe(r, reason)
		return true, c.giveUp(r)
	}
	c.world.fail(fmt.Errorf("%s was refused: %s", r.owner, reason))
	return true, false
}

// confirmTwice sometimes confirms a grant over the attached connection, too, at the same time. The returned
// function waits for the reply.
func (c *client) confirmTwice(r *request, words []string) (wait func()) {
	second := c.second
	if second == nil || c.random.IntN(2) == 0 {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		op := &operation{kind: check, owner: r.number, permits: r.permits, call: c.world.now(), why: "attached"}
		if v, err := second.call(words...); err == nil {
			op.ret, op.reply = c.world.now(), v.Int
			c.world.add(op)
			c.world.count("confirmed by two connections")
		}
	}()
	return func() { <-done }
}

// cancel leaves the queue at a time when the request may be granted.
func (c *client) cancel(r *request) bool {
	v, broken, ok := c.call("LOCK.CANCEL", c.key(r), r.owner)
	if !ok {
		return false
	}
	c.world.count("given up")
	c.maybe(r, "given up")
	released := c.release(r)
	switch {
	case broken:
	case v.Int == 1:
		c.world.count(cancelBeforeGrant)
	case released:
		c.world.count(grantBeforeCancel)
	}
	return false
}

// askedAgain counts in which order the grant and a reconnection came. If the place was no longer kept, that
// is unknown.
func (c *client) askedAgain(r *request, order string) {
	if r.brokeAt != 0 && c.world.now()-r.brokeAt < int64(confirmMS*3/4)*int64(time.Millisecond) {
		c.world.count(order)
	}
	r.brokeAt = 0
}

// giveUp leaves the queue, and releases a possible grant. It returns false.
func (c *client) giveUp(r *request) bool {
	c.world.count("given up")
	if _, _, ok := c.call("LOCK.CANCEL", c.key(r), r.owner); !ok {
		return false
	}
	c.maybe(r, "given up")
	c.release(r)
	return false
}

// release releases the permits of a request, and reports whether the server said that it held them.
func (c *client) release(r *request) bool {
	words := []string{"UNLOCK", key, r.owner}
	switch {
	case c.world.semaphore:
		words[0] = "SEM.RELEASE"
	case c.world.several:
		words = append(manyWords("MUNLOCK", r), r.owner)
	case c.world.shared && r.permits == 1:
		words = append(words, "SHARED")
	}
	for first := c.world.now(); !c.world.failed(); {
		op := &operation{kind: back, owner: r.number, permits: r.permits, call: c.world.now()}
		v, err := c.once(words...)
		if op.ret = c.world.now(); err != nil {
			c.world.add(&operation{kind: back, owner: r.number, permits: r.permits, call: first, ret: op.ret, unknown: true, why: "broken"})
			continue
		}
		switch {
		case v.Kind == resp.Integer:
			op.reply = 1
		case c.world.several && len(v.Elems) > 0:
			op.reply = c.releasedAll(words, v)
		case !v.IsNull() && (!v.IsError() || v.Str[:9] != "WRONGTYPE"):
			c.world.fail(fmt.Errorf("%v: %s", words, v))
		}
		c.world.add(op)
		return op.reply == 1
	}
	return false
}

// releasedAll returns 1 if all of several locks were released, and 0 if no lock was. Any other reply is an
// error.
func (c *client) releasedAll(words []string, v resp.Value) int64 {
	released := 0
	for _, elem := range v.Elems {
		if !elem.IsNull() {
			released++
		}
	}
	if released != 0 && released != len(v.Elems) {
		c.world.fail(fmt.Errorf("%v: %s: a part was held", words, v))
	}
	return int64(min(released, 1))
}
