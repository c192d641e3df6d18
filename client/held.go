package client

import (
	"context"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
)

// held is the content of a [Lock]. It is apart from the Lock, and nothing here refers to the Lock. So the
// package can detect that a program has forgotten a Lock.
type held struct {
	hold   *hold
	keys   []string // of the hold's
	ctx    context.Context
	cancel context.CancelCauseFunc
	outer  *held       // the lock with the context that was used to acquire this lock; nil: none
	site   []uintptr   // where it was acquired: the callers, the innermost first
	calls  []Call      // observe it; guarded by hold.mu
	why    error       // of its end; guarded by hold.mu
	asked  chan string // of capacity 1; written with hold.mu held
}

// end ends the context, and says so to the hooks of the call.
func (l *held) end(why error) {
	l.cancel(why)
	l.hold.mu.Lock()
	l.why = why
	calls := l.calls
	l.hold.mu.Unlock()
	sayOver(calls, why)
}

// watch has the hooks of the call hear of the end, which may be over already.
func (l *held) watch(calls []Call) {
	l.hold.mu.Lock()
	l.calls = calls
	why := l.why
	l.hold.mu.Unlock()
	if why != nil {
		sayOver(calls, why)
	}
}

func sayOver(calls []Call, why error) {
	for _, call := range calls {
		if call.Over != nil {
			call.Over(why)
		}
	}
}

// heldKey is the key of a context's value: the *held that it belongs to.
type heldKey struct{ client *Client }

// heldOf returns the lock to which ctx, or a context that ctx comes from, belongs; nil if there is no such
// lock.
func (c *Client) heldOf(ctx context.Context) *held {
	h, _ := ctx.Value(heldKey{c}).(*held)
	return h
}

// take adds a Lock for some of its keys to the hold; nil if the hold is over.
func (h *hold) take(ctx context.Context, keys []string) *Lock {
	c := h.task.client
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.locks == nil || h.over {
		return nil
	}
	one := &held{hold: h, keys: keys, outer: c.heldOf(ctx), site: callers(), asked: make(chan string, 1)}
	one.ctx, one.cancel = context.WithCancelCause(context.WithValue(ctx, heldKey{c}, one))
	h.locks[one] = true
	l := &Lock{one}
	runtime.AddCleanup(l, (*held).forgotten, one)
	return l
}

// isHeld reports whether the lock is held, as far as is known.
func (l *held) isHeld() bool {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	return l.hold.locks[l]
}

// forgotten is called when the program has no reference to a Lock any more.
func (l *held) forgotten() {
	if c := l.hold.task.client; l.isHeld() && !c.keeper.isClosed() {
		go c.log(slog.LevelWarn, "a lock was not released, and stays held", append(l.hold.attributes(l.keys[0]), "acquired", siteOf(l.site))...)
	}
}

// attributes returns the attributes of a hold for the log.
func (h *hold) attributes(key string) []any {
	return []any{"key", key, "owner", h.task.owner, "token", h.token(key), "lease", leaseText(h.lease)}
}

// here is the path of this package.
var here = reflect.TypeFor[Client]().PkgPath()

// callers returns the callers of this package and the functions in it, the innermost first.
func callers() []uintptr {
	var pcs [12]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}

// siteOf returns the file and line of the first of these callers that is not in this package.
func siteOf(pcs []uintptr) string {
	for frames := runtime.CallersFrames(pcs); ; {
		frame, more := frames.Next()
		inside := strings.HasPrefix(frame.Function, here+".") || strings.HasPrefix(frame.Function, here+"/")
		if !inside || !more {
			return frame.File + ":" + decimal(int64(frame.Line))
		}
	}
}

// Stats are figures of a client.
type Stats struct {
	Held    int           // held acquisitions; locks that were taken together count once
	Waiting int           // calls for locks, permits or units that are not over
	Oldest  time.Duration // the age of the oldest hold; 0: there is no hold
}

// Stats returns the client's present figures. If the age of the oldest hold only rises, the program has
// forgotten a lock.
func (c *Client) Stats() Stats {
	k := c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Stats{Waiting: len(k.waits)}
	for _, h := range k.heldAt(nil) {
		s.Held++
		s.Oldest = max(s.Oldest, time.Since(h.since))
	}
	return s
}
