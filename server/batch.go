package server

import (
	"lockserver/commands"
	"lockserver/internal/resp"
)

// batch is room for decoded commands, reused by every batch of one owner.
type batch struct {
	args     [][]byte
	commands [][][]byte
	rows     [batchCommands]*commands.Row // of the commands, where already looked up
	keys     [batchCommands][]byte        // their first keys
	slots    [batchCommands]int           // where these probably are
	ahead    bool                         // slots are known, of the commands that have keys in their order
	out      []byte                       // room for replies
	rooms    rooms                        // of a loop, where out comes from
}

// rooms are pieces of memory for replies that a loop holds until the end of a round, and then uses again.
type rooms struct {
	loop       bool // the batch is a loop's: what it sends may be held
	free, used [][]byte
}

const (
	roomBytes = 32 << 10
	mostRooms = 16
)

// next is a piece for the replies that come; nil if the batch is no loop's.
func (r *rooms) next() []byte {
	if !r.loop {
		return nil
	}
	var room []byte
	if n := len(r.free); n > 0 {
		room, r.free = r.free[n-1], r.free[:n-1]
	} else {
		room = make([]byte, 0, roomBytes)
	}
	r.used = append(r.used, room)
	return room
}

// recycle ends a round: nothing that was sent is held any more.
func (b *batch) recycle() {
	b.out = nil
	r := &b.rooms
	r.free = append(r.free, r.used...)
	clear(r.used)
	r.used = r.used[:0]
	if len(r.free) > mostRooms {
		clear(r.free[mostRooms:])
		r.free = r.free[:mostRooms]
	}
}

// reuse takes the room of a reply back, or what is left behind it if the reply is still to be written.
func (b *batch) reuse(out []byte, held bool) {
	switch {
	case held && cap(out)-len(out) >= max(leastRoom, len(out)): // the next reply may be as long
		b.out = out[len(out):]
	case held || cap(out) > batchOutput:
		b.out = nil
	default:
		b.out = out[:0]
	}
}

// leastRoom is the least room for replies that is worth keeping.
const leastRoom = 1 << 10

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
		b.args = args // perhaps elsewhere now: the commands before stay where they are
		b.commands = append(b.commands, args[from:len(args):len(args)])
	}
	return len(b.commands) == most, err
}
