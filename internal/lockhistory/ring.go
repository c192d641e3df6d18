package lockhistory

import "lockserver/internal/tracecontext"

// Unknown is the value of Event.TookUS if the time is not known.
const Unknown = -1

// Names are a key and an owner.
type Names struct{ Key, Owner []byte }

// Event is one event of one lock.
type Event struct {
	ID     int64 // the number of the event: one higher than that of the event before it, since the ring was made
	AtUS   int64 // microseconds since 1970
	DB     int
	Kind   Kind
	Reason Reason
	Mode   Mode
	// Permits is the number of a semaphore's permits that the event is about. It is 0 for a lock.
	Permits int32
	// Key and Owner are valid until the next Add or AddBrief. Key is nil if the event is about all locks of
	// the database.
	Key, Owner []byte
	Token      int64 // 0: the event has no token
	Client     int64 // the number of the connection; 0: no client
	Address    string
	// TookUS is the length of the hold or the wait that the event ended, in microseconds, or Unknown.
	TookUS int64
	// Trace is the trace of the owner's call, or nil. Add copies it.
	Trace *tracecontext.Context
}

const (
	// MinBytes is the smallest size of a ring.
	MinBytes = 64 << 10
	chunks   = 16
	// mostText is the limit of the bytes that are kept of a key, an owner or an address.
	mostText = 1 << 10
	// tokens and clients are the numbers of grants and of clients that the ring remembers. They are powers of
	// two.
	tokens, clients = 1024, 256
)

// Ring holds the latest events. The zero value has no bytes and keeps no event.
type Ring struct {
	size   int     // bytes
	chunks []chunk // oldest first
	last   *chunk  // the chunk that is being written, one of chunks; nil: there is no chunk yet
	nextID int64
	// startID is the number of the first event since the ring was emptied.
	startID int64
	// sinceUS: no event after this time is missing, apart from events that were dropped for lack of space.
	sinceUS int64
	why     string
	// named holds the offset of names in the last chunk, for the latest events with tokens, by the lowest
	// bits of the token; 0: not known. Most holds are short, so the end of a hold finds the names that its
	// grant has written. latest holds the latest clients in the last chunk, by the lowest bits of their
	// numbers. A grant leaves no names in latest: the next grant of the client is mostly of another lock.
	named  [tokens]uint32
	latest [clients]place
}

// place holds two offsets in the last chunk: a client, and the names of the client's latest event; 0: not
// known.
type place struct {
	number int64
	offset uint32
	names  uint32
}

// chunk is a part of the ring. Its events follow each other in buf from the front.
type chunk struct {
	buf     []byte
	end     int // the end of the latest event
	firstID int64
	count   int   // the number of events
	baseUS  int64 // the time of the first event
}

// New returns a ring of no bytes.
func New() *Ring { return &Ring{nextID: 1, startID: 1} }

// Resize sets the size of the ring in bytes; 0 turns the ring off. A change of the size empties the ring.
// nowUS is the time from which events are kept.
func (r *Ring) Resize(bytes int, nowUS int64, why string) {
	if bytes != r.size {
		r.size = bytes
		r.Restart(nowUS, why)
	}
}

// Restart drops all events. why says why events before nowUS are not known.
func (r *Ring) Restart(nowUS int64, why string) {
	r.chunks, r.last, r.startID, r.sinceUS, r.why = nil, nil, r.nextID, nowUS, why
}

// On reports whether events are kept.
func (r *Ring) On() bool { return r.size > 0 }

// Bytes returns the memory that the ring takes.
func (r *Ring) Bytes() int { return len(r.chunks) * (r.size / chunks) }

// Since returns the time from which on the ring has all events, in microseconds since 1970. why says why
// earlier events are missing: the text given to Resize or Restart, or "full" if older events were dropped.
func (r *Ring) Since() (us int64, why string) {
	if len(r.chunks) > 0 && r.chunks[0].firstID > r.startID {
		return max(r.sinceUS, r.chunks[0].baseUS), "full"
	}
	return r.sinceUS, r.why
}

// LastID returns the number of the latest event, or 0 if there was no event.
func (r *Ring) LastID() int64 { return r.nextID - 1 }

// Add adds an event. It sets the ID itself.
func (r *Ring) Add(e *Event) {
	if r.size == 0 {
		return
	}
	c := r.last
	if c == nil || len(c.buf)-c.end < mostRecord+min(len(e.Key), mostText)+min(len(e.Owner), mostText)+min(len(e.Address), mostText) {
		r.turn(e.AtUS)
		c = r.last
	}
	r.write(c, e)
	c.count++
	r.nextID++
}

// turn makes an empty chunk the last chunk: a new chunk, or the oldest chunk without its events.
func (r *Ring) turn(nowUS int64) {
	if n := len(r.chunks); n < chunks {
		r.chunks = append(r.chunks, chunk{buf: make([]byte, r.size/chunks)})
	} else {
		oldest := r.chunks[0]
		copy(r.chunks, r.chunks[1:])
		r.chunks[n-1] = oldest
	}
	c := &r.chunks[len(r.chunks)-1]
	c.end, c.firstID, c.count, c.baseUS = 0, r.nextID, 0, nowUS
	r.last = c
	clear(r.named[:])
	clear(r.latest[:])
	r.latest[0].number = -1 // no client has this number
}
