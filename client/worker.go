package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Work describes the work of a [Worker].
type Work struct {
	Stream, Group string
	// Handle processes an entry. If it returns nil the entry is acknowledged. If it fails, or panics, the
	// entry comes again after a pause, maybe to another worker. The pause is a second at first, then twice as
	// long each time, and at most ClaimAfter. ctx ends, with ErrLost, if another worker has got the entry
	// meanwhile. It does not end with the context of Run.
	Handle func(ctx context.Context, e Entry) error
	// Attempts is the number of attempts for an entry before it goes to the stream Dead; 0: 5 times.
	Attempts int
	// ClaimAfter is the time without a sign of life after which a worker counts as dead; 0: 30 s.
	ClaimAfter time.Duration
	// Parallel is the number of handlers that run at a time; 0: 1.
	Parallel int
	// Dead is the dead letter stream; empty: the name of Stream with the suffix ":dead". In a cluster both
	// share a slot ([ErrCrossSlot]): the dead letter stream of mails is {mails}:dead there.
	Dead string
	// Name is the name of the consumer, which no other worker may have; empty: a random name.
	Name string
}

// Entry is an entry of a stream that a worker is processing.
type Entry struct {
	Stream, Group string
	ID            string   // its id in the stream
	Fields        []string // fields and values in turn
	Attempt       int      // 1 for the first one
}

// Field returns the value of a field; empty if there is no such field.
func (e Entry) Field(name string) string {
	for i := 0; i+1 < len(e.Fields); i += 2 {
		if e.Fields[i] == name {
			return e.Fields[i+1]
		}
	}
	return ""
}

// Worker processes the entries of a stream for a consumer group.
type Worker struct {
	client  *Client
	work    Work
	cursor  string // of XAUTOCLAIM
	claimMS string

	mu   sync.Mutex
	hand map[string]context.CancelCauseFunc // entries that are being processed, by their ids
}

// Worker returns a worker for a stream, such as the stream of a sale or of delayed entries. Nothing is sent
// before [Worker.Run].
func (c *Client) Worker(w Work) (*Worker, error) {
	w.Attempts, w.Parallel = cmp.Or(w.Attempts, 5), cmp.Or(w.Parallel, 1)
	w.ClaimAfter = cmp.Or(w.ClaimAfter, 30*time.Second)
	w.Dead, w.Name = cmp.Or(w.Dead, w.Stream+":dead"), cmp.Or(w.Name, request())
	ms, odd := wholeMS("a time to claim after", w.ClaimAfter)
	if err := cmp.Or(named("a stream", w.Stream), named("a group", w.Group), atLeast(1, "a number of attempts", w.Attempts),
		atLeast(1, "a number of handlers", w.Parallel), odd); err != nil {
		return nil, err
	}
	switch {
	case w.Handle == nil:
		return nil, bad("no handler")
	case w.Dead == w.Stream:
		return nil, bad("the dead letter stream is the stream itself")
	}
	return &Worker{client: c, work: w, cursor: "0-0", claimMS: decimal(ms), hand: make(map[string]context.CancelCauseFunc)}, nil
}

// The scripts change only entries that the consumer still has: another worker may have taken them over.
const (
	mine = "local function mine(id) return #redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1, ARGV[2]) == 1 end\n"
	// signOfLife keeps the entries of this consumer, and returns those that another worker has got.
	signOfLife = mine + `
local gone = {}
for n = 3, #ARGV do
  if mine(ARGV[n]) then redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[n], 'JUSTID')
  else gone[#gone + 1] = ARGV[n] end
end
return gone`
	// comeAgain makes an entry count as idle for ARGV[4] ms, with so many deliveries.
	comeAgain = mine + `
if not mine(ARGV[3]) then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', ARGV[4], 'RETRYCOUNT', ARGV[5], 'JUSTID')
return 1`
	// bury moves an entry to the dead letter stream.
	bury = mine + `
if not mine(ARGV[3]) or redis.call('XACK', KEYS[1], ARGV[1], ARGV[3]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
return 1`
	// takeOver claims entries without a sign of life, with the numbers of their deliveries.
	takeOver = `
local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5])
local entries = {}
for _, entry in ipairs(found[2]) do
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
  entries[#entries + 1] = {entry[1], entry[2], pending[1] and pending[1][4] or 1}
end
return {found[1], entries}`
	// leave removes a consumer without pending entries.
	leave = `
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
return 1`
)

const (
	// readFor is how long one reading waits for new entries.
	readFor = time.Second
	// lastFor is how long a command is waited for after the end of Run's context.
	lastFor = time.Second
	// workPause is the time between attempts to reach the server.
	workPause = 200 * time.Millisecond
)

// Run makes the group, from the stream's first entry on, unless it exists, and works until the end of ctx. It
// then waits for the running handlers, gives back the entries that were not begun, and returns nil. A server
// that is silent by then delays that by three seconds at most. Run continues after times in which the server
// could not be reached. It returns [ErrClosed] after [Client.Close], or an error that the server replied.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.start(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	var handlers sync.WaitGroup
	over, end := context.WithCancel(context.Background())
	read, ended := &reading{worker: w}, make(chan struct{})
	go func() {
		defer close(ended)
		w.live(over)
	}()
	defer func() {
		handlers.Wait()
		end()
		<-ended
		read.close()
		w.report(ctx, w.script(leave, nil))
	}()
	free := make(chan struct{}, w.work.Parallel)
	for range w.work.Parallel {
		free <- struct{}{}
	}
	for {
		select {
		case <-free:
		case <-ctx.Done():
			return nil
		}
		found, err := w.next(ctx, read, 1+len(free))
		if err != nil && (errors.Is(err, ErrClosed) || isReply(err)) {
			return err
		}
		free <- struct{}{}
		for _, entry := range found {
			if ctx.Err() != nil {
				handlers.Add(1)
				go func() {
					defer handlers.Done()
					w.giveBack(ctx, entry)
				}()
				continue
			}
			<-free
			handlers.Add(1)
			go func() {
				defer handlers.Done()
				w.handle(ctx, entry)
				free <- struct{}{}
			}()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			select {
			case <-time.After(workPause):
			case <-ctx.Done():
			}
		}
	}
}

// start makes the group. Before that it asks for delayed entries of the stream, a command that only a
// lockserver has: streams alone would also work on a plain Redis. The user may lack the right to ask.
func (w *Worker) start(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := w.client.again(ctx, []string{"DELAY.COUNT", w.work.Stream}); errors.Is(err, ErrNotLockserver) {
			return err
		}
		if w.client.cluster != nil { // the worker says it now, and not with the first dead letter
			if _, err := w.client.again(ctx, []string{"EXISTS", w.work.Stream, w.work.Dead}); errors.Is(err, ErrCrossSlot) {
				return fmt.Errorf("%q, %q: %w", w.work.Stream, w.work.Dead, err)
			}
		}
		_, err := w.client.again(ctx, []string{"XGROUP", "CREATE", w.work.Stream, w.work.Group, "0", "MKSTREAM"})
		var refused ReplyError
		switch {
		case err == nil, errors.As(err, &refused) && strings.HasPrefix(string(refused), "BUSYGROUP"):
			return nil
		case errors.Is(err, ErrClosed), isReply(err):
			return err
		}
		select {
		case <-time.After(workPause):
		case <-ctx.Done():
		}
	}
	return nil
}

// next returns up to count entries: first the entries of workers that have died, then new entries.
func (w *Worker) next(ctx context.Context, read *reading, count int) ([]Entry, error) {
	for {
		reply, err := w.client.again(ctx, w.script(takeOver, []string{w.claimMS, w.cursor, strconv.Itoa(count)}))
		if err != nil {
			return nil, err
		}
		parts, _ := reply.([]any)
		if len(parts) != 2 {
			return nil, fmt.Errorf("XAUTOCLAIM: the reply is %v", reply)
		}
		w.cursor, _ = parts[0].(string)
		found := w.entries(parts[1])
		switch {
		case len(found) > 0:
			return found, nil
		case ctx.Err() != nil:
			return nil, nil
		case w.cursor == "0-0":
			return read.next(ctx, count)
		}
	}
}

// entries records the entries of a reply as being processed. Each has an id, its fields, and maybe the number
// of its deliveries.
func (w *Worker) entries(reply any) (found []Entry) {
	list, _ := reply.([]any)
	for _, item := range list {
		parts, _ := item.([]any)
		if len(parts) < 2 {
			continue
		}
		e := Entry{Stream: w.work.Stream, Group: w.work.Group, Attempt: 1}
		e.ID, _ = parts[0].(string)
		e.Fields, _ = textsOf(parts[1])
		if len(parts) > 2 {
			n, _ := parts[2].(int64)
			e.Attempt = int(n)
		}
		found = append(found, e)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range found {
		w.hand[e.ID] = func(error) {}
	}
	return found
}

// handle processes an entry, and sends the result to the server; ctx is that of Run.
func (w *Worker) handle(ctx context.Context, e Entry) {
	err := errors.New("the worker has ended abnormally")
	if e.Attempt <= w.work.Attempts { // otherwise its last worker has died with it
		if err = w.call(e); err == nil {
			w.drop(e)
			w.report(ctx, []string{"XACK", e.Stream, e.Group, e.ID})
			return
		}
		w.client.log(slog.LevelWarn, "a handler has failed", "stream", e.Stream, "entry", e.ID, "attempt", e.Attempt, "error", err)
	}
	w.drop(e)
	if e.Attempt < w.work.Attempts {
		pause := min(w.work.ClaimAfter, time.Second<<min(e.Attempt-1, 30))
		w.report(ctx, w.script(comeAgain, []string{e.ID, decimal((w.work.ClaimAfter - pause).Milliseconds()), strconv.Itoa(e.Attempt)}))
		return
	}
	words := append([]string{e.ID}, e.Fields...)
	words = append(words, "entry-id", e.ID, "entry-error", err.Error(), "entry-attempts", strconv.Itoa(e.Attempt))
	if w.report(ctx, w.script(bury, words, w.work.Dead)) == int64(1) {
		w.client.log(slog.LevelError, "an entry is in the dead letter stream", "stream", w.work.Dead, "entry", e.ID, "error", err)
	}
}

// call calls the handler. A handler that panics, or ends its goroutine, has failed.
func (w *Worker) call(e Entry) (err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w.mu.Lock()
	w.hand[e.ID] = cancel
	w.mu.Unlock()
	ended := make(chan error, 1)
	go func() {
		result := errors.New("the handler has ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				result = fmt.Errorf("panic: %v", p)
				w.client.log(slog.LevelError, "a handler has panicked", "stream", e.Stream, "entry", e.ID, "stack", string(debug.Stack()))
			}
			ended <- result
		}()
		result = w.work.Handle(ctx, e)
	}()
	return <-ended
}

// drop removes an entry from the entries that are being processed.
func (w *Worker) drop(e Entry) {
	w.mu.Lock()
	delete(w.hand, e.ID)
	w.mu.Unlock()
}

// giveBack lets another worker get an entry that was not begun at once.
func (w *Worker) giveBack(ctx context.Context, e Entry) {
	w.drop(e)
	w.report(ctx, w.script(comeAgain, []string{e.ID, w.claimMS, strconv.Itoa(e.Attempt - 1)}))
}

// live gives signs of life for the entries in hand, until the end of ctx.
func (w *Worker) live(ctx context.Context) {
	tick := time.NewTicker(max(w.work.ClaimAfter/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		ids := make([]string, 0, len(w.hand))
		for id := range w.hand {
			ids = append(ids, id)
		}
		w.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		reply, err := w.client.again(ctx, w.script(signOfLife, ids))
		if err != nil {
			continue // the next sign of life comes soon
		}
		gone, _ := textsOf(reply)
		w.mu.Lock()
		for _, id := range gone {
			if cancel := w.hand[id]; cancel != nil {
				cancel(fmt.Errorf("%w: another worker has the entry %s", ErrLost, id))
			}
		}
		w.mu.Unlock()
	}
}

// report sends a command that may fail: without it the entry comes again, but later. It is also sent after
// the end of ctx, which is that of Run, and then waits for lastFor at most.
func (w *Worker) report(ctx context.Context, words []string) any {
	limited, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastFor, func() { cancel(ErrNoAnswer) }) })()
	reply, err := w.client.again(limited, words)
	if err != nil {
		w.client.log(slog.LevelWarn, "an entry will come again", "stream", w.work.Stream, "error", err)
	}
	return reply
}

// script returns a command that runs a script.
func (w *Worker) script(text string, args []string, keys ...string) []string {
	words := append([]string{"EVAL", text, strconv.Itoa(1 + len(keys)), w.work.Stream}, keys...)
	return append(append(words, w.work.Group, w.work.Name), args...)
}

// reading is the connection over which a worker waits for new entries.
type reading struct {
	worker *Worker
	wire   *wire // nil: no connection
}

// next waits a while for new entries. At the end of ctx it waits for the answer, which may have entries.
func (r *reading) next(ctx context.Context, count int) ([]Entry, error) {
	w, c := r.worker, r.worker.client
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), readFor+c.limit, ErrNoAnswer)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(readFor, cancel) })()
	if r.wire == nil {
		wire, err := dialWire(limited, c.keeper.dialFor(w.work.Stream), c.name, func(*wire, push) {})
		if err != nil {
			return nil, err
		}
		r.wire = wire
	}
	reply, err := r.wire.do(limited, "XREADGROUP", "GROUP", w.work.Group, w.work.Name, "COUNT", strconv.Itoa(count),
		"BLOCK", decimal(readFor.Milliseconds()), "STREAMS", w.work.Stream, ">")
	if err != nil {
		c.keeper.follow(err, w.work.Stream, c.keeper.knownAddr(w.work.Stream))
		r.close()
		return nil, replied(err)
	}
	streams, _ := reply.([]any) // a map of one name
	if len(streams) != 2 {
		return nil, nil
	}
	return w.entries(streams[1]), nil
}

func (r *reading) close() {
	if r.wire != nil {
		r.wire.close(ErrClosed)
		r.wire = nil
	}
}
