package linearizability

import (
	"fmt"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// kind is the kind of an operation.
type kind uint8

const (
	acquire  kind = iota // LOCK, or MLOCK if there are several keys
	release              // UNLOCK, or MUNLOCK
	renew                // RENEW
	remove               // DEL
	force                // LOCK.FORCE
	flush                // FLUSHALL
	look                 // HGETALL
	inform               // LOCK.INFO
	ttl                  // PTTL
	attach               // LOCK.ATTACH
	detach               // LOCK.DETACH
	takeBack             // the server finds that a client cannot have read a grant; no command: see record
)

const (
	maxKeys   = 3
	maxOwners = 8
	// noWait is the waitMS of a LOCK without WAIT.
	noWait = -1
	// ever is later than any time and greater than any token.
	ever = int64(1) << 60
)

// moment is a reading of two clocks.
type moment struct {
	ns int64 // monotonic: the order of the events of a history
	ms int64 // the server's clock
}

// operation is an entry of a history: a command, its reply, and their times.
type operation struct {
	kind    kind
	keys    []int // numbers of locks
	owner   int   // a number, from 1
	conn    int   // the number of its connection, from 1
	leaseMS int64 // 0 means that none was given, so the server renews the lease
	waitMS  int64 // noWait means without WAIT, 0 without a limit
	token   int64 // 0 means without TOKEN
	shared  bool  // SHARED
	once    bool  // ONCE

	call, ret moment

	// The reply.
	unknown  bool // no reply: the connection broke
	refused  bool // nil
	deadlock bool // -DEADLOCK
	// unblocked means -UNBLOCKED. The operation had no effect, but others may have been refused because it
	// waited.
	unblocked bool
	values    []int64      // one for each key, tokens or integers; none for a nil of MUNLOCK; the milliseconds of PTTL
	holders   []seenHolder // for HGETALL and LOCK.INFO, sorted by owner
	waiting   []string     // for LOCK.INFO: the ids of the connections that wait
	// excused has a bit for each key that an MLOCK may have been waiting for when this operation was refused.
	// Such a key is kept for the MLOCK even if it is free.
	excused uint
	undoes  int // for takeBack: the connection that loses its grant
	// queuedNS is the time when the operation was first seen in a queue, or 0. If it was seen, place has a
	// bit that represents it, for the first 64 of a history. behind has the bits of all waiters that this
	// operation may not pass.
	queuedNS      int64
	place, behind uint64
}

// seenHolder is a holder of a lock as a reply shows it.
type seenHolder struct {
	owner     int
	holds     int64 // number of holds of both kinds
	exclusive int64 // number of exclusive ones; some means at least one
	token     int64
	watched   bool // only in HGETALL: the server renews the lease
}

// some represents a positive number that LOCK.INFO does not show.
const some = int64(-1)

// none represents a nil among values.
const none = int64(-1000)

func keyName(key int) string     { return "lock:" + strconv.Itoa(key) }
func ownerName(owner int) string { return "owner-" + strconv.Itoa(owner) }

// words returns the operation as a command.
func (op *operation) words() []string {
	var w []string
	several := len(op.keys) > 1
	names := func(one, more string) {
		if w = append(w, one); several {
			w = []string{more, strconv.Itoa(len(op.keys))}
		}
		for _, k := range op.keys {
			w = append(w, keyName(k))
		}
	}
	switch op.kind {
	case acquire:
		names("LOCK", "MLOCK")
	case release:
		names("UNLOCK", "MUNLOCK")
	case renew:
		names("RENEW", "")
	case remove:
		names("DEL", "")
	case force:
		names("LOCK.FORCE", "")
	case look:
		names("HGETALL", "")
	case ttl:
		names("PTTL", "")
	case inform:
		names("LOCK.INFO", "")
	case flush:
		w = append(w, "FLUSHALL")
	case attach:
		w = append(w, "LOCK.ATTACH")
	case detach:
		w = append(w, "LOCK.DETACH")
	}
	if op.owner != 0 {
		w = append(w, ownerName(op.owner))
	}
	if op.shared {
		w = append(w, "SHARED")
	}
	if op.once {
		w = append(w, "ONCE")
	}
	if op.leaseMS > 0 {
		w = append(w, "PX", strconv.FormatInt(op.leaseMS, 10))
	}
	if op.kind == acquire && op.waitMS != noWait {
		w = append(w, "WAIT", strconv.FormatInt(op.waitMS, 10))
	}
	if op.token != 0 {
		w = append(w, "TOKEN", strconv.FormatInt(op.token, 10))
	}
	return w
}

// earliestMS returns the first millisecond at which the operation can have taken effect. A waiter that was
// refused was refused at the end of its time, not before.
func (op *operation) earliestMS() int64 {
	if op.refused && op.waitMS > 0 {
		return op.call.ms + op.waitMS
	}
	return op.call.ms
}

// answer stores the reply. It returns an error if the reply is wrong in any history.
func (op *operation) answer(v resp.Value) error {
	wrong := fmt.Errorf("%s: unexpected reply %s", strings.Join(op.words(), " "), v)
	switch {
	case v.IsError() && op.kind == acquire && strings.HasPrefix(v.Str, "DEADLOCK"):
		op.deadlock = true
	case v.IsError():
		return wrong
	case op.kind == flush:
		return nil
	case op.kind == attach || op.kind == detach:
		if v.Kind != resp.Integer {
			return wrong
		}
	case op.kind == look:
		return op.answerLook(v, wrong)
	case op.kind == inform:
		return op.answerInform(v, wrong)
	case v.IsNull():
		if op.kind != acquire && op.kind != release {
			return wrong
		}
		op.refused = true
		if op.kind == release {
			op.refused, op.values = false, []int64{none}
		}
	case v.Kind == resp.Integer && len(op.keys) == 1:
		op.values = []int64{v.Int}
	case v.Kind == resp.Array && len(op.keys) > 1 && len(v.Elems) == len(op.keys):
		for _, e := range v.Elems {
			switch {
			case e.Kind == resp.Integer:
				op.values = append(op.values, e.Int)
			case e.IsNull() && op.kind == release:
				op.values = append(op.values, none)
			default:
				return wrong
			}
		}
	default:
		return wrong
	}
	if op.kind == acquire && op.waitMS > 0 && op.refused && op.ret.ms < op.call.ms+op.waitMS {
		return fmt.Errorf("%s: nil after %d ms", strings.Join(op.words(), " "), op.ret.ms-op.call.ms)
	}
	return nil
}

// String returns the operation as a line of a report.
func (op *operation) String() string {
	what := strings.Join(op.words(), " ")
	if op.kind == takeBack {
		what = "(grant taken back?)"
	}
	var result string
	switch {
	case op.unknown:
		result = "?"
	case op.deadlock:
		result = "-DEADLOCK"
	case len(op.holders) > 0:
		for _, h := range op.holders {
			result += h.String() + " "
		}
		result += fmt.Sprintf("waiting %v", op.waiting)
	case op.refused, op.kind == look, op.kind == inform:
		result = "nil"
	case op.kind == attach, op.kind == detach, op.kind == flush:
		result = "done"
	default:
		result = strings.ReplaceAll(fmt.Sprint(op.values), strconv.FormatInt(none, 10), "nil")
	}
	return fmt.Sprintf("conn %d, %d..%d ms: %s -> %s", op.conn, op.call.ms, op.ret.ms, what, result)
}

// outcome returns a name for what happened. The count of the names shows whether a run had all outcomes.
func (op *operation) outcome() string {
	name := map[kind]string{acquire: "lock", release: "unlock", renew: "renew", remove: "del", force: "force",
		flush: "flushall", look: "look", inform: "info", ttl: "pttl", attach: "attach", detach: "detach", takeBack: "take back"}[op.kind]
	if len(op.keys) > 1 && op.kind != flush {
		name = "m" + name
	}
	if op.shared {
		name += " shared"
	}
	if op.once {
		name += " once"
	}
	if op.kind == acquire && op.waitMS != noWait {
		name += " wait"
	}
	switch {
	case op.unknown:
		return name + ": unknown"
	case op.deadlock:
		return name + ": deadlock"
	case op.unblocked:
		return name + ": unblocked"
	case op.kind == look, op.kind == inform:
		return name + ": " + op.whoHolds()
	case op.refused, len(op.values) == 1 && op.values[0] == none:
		return name + ": nil"
	case op.kind == acquire:
		return name + ": token"
	case op.kind == ttl && op.values[0] >= 0:
		return name + ": ms"
	case len(op.values) == 1:
		return name + ": " + strconv.FormatInt(op.values[0], 10)
	}
	return name
}
