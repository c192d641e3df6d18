// Package monitor is MONITOR: the line of each command that a server runs, and the clients that get it.
//
// It owns the command, the list of the clients, and the bytes of a line. It must not know what a client is,
// or how output is sent to it. Nothing here locks; its owner does.
//
// To show something else of a command, add it to Line.
package monitor

import (
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// List is the clients that monitor.
type List[C comparable] []C

// Remove removes a client from the list. It does nothing if the client is not in it.
func (l *List[C]) Remove(client C) {
	*l = slices.DeleteFunc(*l, func(other C) bool { return other == client })
}

// Rows returns the commands of this package. begin adds the calling client to the list; already says that the
// client was in it before.
func Rows(begin func(c *commands.Ctx) (already bool)) []commands.Row {
	return []commands.Row{{Name: "monitor", Group: commands.Server, Since: "1.0.0",
		Flags:   commands.NoScript | commands.Loading | commands.Stale | commands.Admin,
		Summary: "Shows every command that the server runs.", Complexity: "O(1) here, and for each command that is run",
		Run: func(c *commands.Ctx) error {
			if !c.MayBlock {
				return commands.ErrMonitorDenied
			}
			if !begin(c) { // a monitoring client gets no second answer
				c.Out.OK()
			}
			return nil
		}}}
}

// IsShown reports whether a command is shown when it is not called by a script.
func IsShown(row *commands.Row) bool { return row.Flags&(commands.SkipMonitor|commands.Admin) == 0 }

// Line returns the line of a command that ran at us (microseconds since 1970) in a database. origin is
// Script, or a client's Origin.
func Line(us int64, db int, origin string, row *commands.Row, argv [][]byte) []byte {
	w := resp.Writer{Buf: append(make([]byte, 0, 128), '+')}
	w.Buf = appendPadded(w.Buf, us/1_000_000, 1)
	w.Buf = appendPadded(append(w.Buf, '.'), us%1_000_000, 6)
	w.Buf = appendPadded(append(w.Buf, " ["...), int64(db), 1)
	w.Buf = append(append(w.Buf, ' '), origin...)
	w.Buf = append(w.Buf, ']')
	for _, arg := range row.Redact(argv) {
		w.Buf = resp.AppendQuoted(append(w.Buf, ' '), arg)
	}
	w.Buf = append(w.Buf, "\r\n"...)
	return w.Buf
}

// Script is the origin of a command that a script has called.
const Script = "lua"

// Origin returns the form of a client's address in the line; addr is the address in CLIENT LIST.
func Origin(addr string) string {
	if path, ok := strings.CutSuffix(addr, ":0"); ok {
		return "unix:" + path
	}
	return addr
}

// appendPadded appends n with at least digits digits.
func appendPadded(dst []byte, n int64, digits int) []byte {
	var space [20]byte
	i := len(space)
	for ; n > 0 || digits > 0; digits-- {
		i--
		space[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, space[i:]...)
}
