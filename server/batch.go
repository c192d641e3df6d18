package server

import (
	"lockserver/commands"
	"lockserver/internal/resp"
)

// batch has the memory for decoded commands, reused by every batch of one owner.
type batch struct {
	args     [][]byte
	commands [][][]byte
	rows     [batchCommands]*commands.Row // of the commands, where already looked up
	keys     [batchCommands][]byte        // their first keys
	slots    [batchCommands]int           // where these probably are
	ahead    bool                         // slots are known, of the commands that have keys in their order
	out      []byte                       // memory for replies
	buffers  buffers                      // of a loop, where out comes from
}

// A loop holds these buffers for replies until the end of a round, and then uses them again.
type buffers struct {
	loop       bool // the batch is a loop's: what it sends may be held
	free, used [][]byte
}

const (
	bufferBytes = 32 << 10
	mostBuffers = 16
)

// next is a piece for the replies that come; nil if the batch is no loop's.
func (r *buffers) next() []byte {
	if !r.loop {
		return nil
	}
	var buf []byte
	if n := len(r.free); n > 0 {
		buf, r.free = r.free[n-1], r.free[:n-1]
	} else {
		buf = make([]byte, 0, bufferBytes)
	}
	r.used = append(r.used, buf)
	return buf
}

// Recycle implements transport.Scratch.
func (b *batch) Recycle() {
	b.out = nil
	r := &b.buffers
	r.free = append(r.free, r.used...)
	clear(r.used)
	r.used = r.used[:0]
	if len(r.free) > mostBuffers {
		clear(r.free[mostBuffers:])
		r.free = r.free[:mostBuffers]
	}
}

// Trim implements transport.Scratch.
func (b *batch) Trim(most int) {
	if cap(b.out) > most {
		b.out = nil
	}
}

// reuse takes back the memory of a reply, or the rest behind it if the reply is still to be written.
func (b *batch) reuse(out []byte, held bool) {
	switch {
	case held && cap(out)-len(out) >= max(leastSpace, len(out)): // the next reply may be as long
		b.out = out[len(out):]
	case held || cap(out) > batchOutput:
		b.out = nil
	default:
		b.out = out[:0]
	}
}

// leastSpace is the size of the smallest reply buffer that is worth keeping.
const leastSpace = 1 << 10

// decode fills the batch with at most that many commands; more says that there may be
// another whole one behind them.
func (b *batch) decode(d *resp.Decoder, most int) (more bool, err error) {
	b.args, b.commands = b.args[:0], b.commands[:0]
	for len(b.commands) < most {
		from := len(b.args)
		args, ok, e := d.Next(b.args)
		if e != nil {
			err = e
			break
		}
		if !ok {
			break
		}
		// plant:batch-words
		b.args = args // perhaps elsewhere now: the commands before stay where they are
		b.commands = append(b.commands, args[from:len(args):len(args)])
	}
	return len(b.commands) == most, err
}

// prefetchLeast is the least number of commands that are worth looking ahead for.
const prefetchLeast = 4

// lookAhead finds the rows of a batch of commands, and lets the database fetch their first keys together. It
// does the same for members that several commands look for at one key. So pipelined look-ups wait for memory
// once instead of one after the other. If it panics, the commands do without.
func (b *batch) lookAhead(ex *executor, s *session, todo [][][]byte) {
	defer b.lookNoMore(s)
	n, removals, members := 0, 0, 0
	var row *commands.Row
	var last [][]byte // the command that row belongs to
	for i, argv := range todo {
		switch {
		case repeats(row, argv, last): // pipelines repeat commands
		case i > 1 && repeats(b.rows[i-2], argv, todo[i-2]): // or two of them in turn
			row, last = b.rows[i-2], argv
		default:
			var err error
			if row, err = ex.Table.Resolve(argv); err != nil {
				row = nil
			}
			last = argv
		}
		if b.rows[i] = row; row == nil {
			continue
		}
		if key, ok := row.FirstKeyIn(argv); ok {
			b.keys[n] = key
			n++
			if row.Removes() {
				removals++
			}
			if row.NamesMember() {
				members++
			}
		}
	}
	if n >= prefetchLeast && s.DB.WorthPrefetching() {
		b.ahead = true
		s.DB.Prefetch(b.keys[:n], b.slots[:n], removals)
	}
	clear(b.keys[:n])
	for rest := 0; members >= prefetchLeast && rest < len(todo); {
		rest += b.prefetchMembers(s, todo[rest:], b.rows[rest:])
	}
}

// repeats reports whether a command is of the row of another one, for all that their words tell.
func repeats(row *commands.Row, argv, other [][]byte) bool {
	return row != nil && row.Parent() == nil && len(argv) == len(other) && string(argv[0]) == string(other[0])
}

// lookNoMore is deferred by lookAhead. It makes a panic cost no more than that the session
// does not look ahead from now on.
func (b *batch) lookNoMore(s *session) {
	if p := recover(); p != nil {
		s.Panicked(p)
		s.in.noLookAhead, b.ahead = true, false
		clear(b.rows[:])
		clear(b.keys[:])
	}
}

// prefetchMembers looks ahead for the commands at the beginning of todo that name a member of the same key,
// and returns how many they are, at least 1.
func (b *batch) prefetchMembers(s *session, todo [][][]byte, rows []*commands.Row) int {
	if rows[0] == nil {
		return 1
	}
	key, _, ok := rows[0].MemberIn(todo[0])
	if !ok {
		return 1
	}
	n := 0
	for n < len(todo) && rows[n] != nil {
		same, member, ok := rows[n].MemberIn(todo[n])
		if !ok || string(same) != string(key) {
			break
		}
		b.keys[n] = member
		n++
	}
	if n >= prefetchLeast {
		s.DB.PrefetchMembers(key, b.keys[:n])
	}
	clear(b.keys[:n])
	return n
}

const (
	// batchCommands is how many commands are decoded and run in one hold of the executor.
	batchCommands = 128
	// batchOutput ends a batch when its replies have grown to this many bytes, so that they are sent before
	// more are made.
	batchOutput = 1 << 20
)

// forget drops what a batch holds, except the buffers that may still be sent from.
func (b *batch) forget() { *b = batch{buffers: b.buffers} }
