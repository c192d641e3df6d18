package sessions

import (
	"fmt"
	"slices"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// command is a command of a client.
type command struct {
	words   []string
	accepts accept
	// muted says that it gets no reply because of CLIENT REPLY.
	muted bool
	// key is the key for which it may wait, or empty.
	key place
	// waited says that the server reported it as waiting: its grant is taken back if it is not read.
	waited bool
	// parts holds the commands of an EXEC.
	parts []*command
	// noReply says that it is answered by pushes, or not at all.
	noReply bool
}

// accept reports whether a reply is possible for a command, and records its content in the book. answered is
// false if the command may have run, but its reply was lost: then v has no meaning.
type accept func(b *book, v resp.Value, answered bool) bool

// place is a key in a database.
type place struct {
	db  int
	key string
}

func (p place) String() string { return fmt.Sprintf("%d:%.12s", p.db, p.key) }

// String returns the command with long words cut off.
func (c *command) String() string {
	short := slices.Clone(c.words)
	for i, w := range short {
		if len(w) > 60 {
			short[i] = fmt.Sprintf("%s...(%d bytes)", w[:4], len(w))
		}
	}
	return testkit.Line(short)
}

// says accepts exactly one reply, in the form of resp.Value.String.
func says(want string) accept {
	return func(_ *book, v resp.Value, answered bool) bool { return !answered || v.String() == want }
}

// saysNumber accepts any number.
func saysNumber(_ *book, v resp.Value, answered bool) bool {
	return !answered || v.Kind == resp.Integer
}

// exec returns an EXEC that accepts the replies that its parts accept.
func exec(parts []*command) *command {
	return &command{words: []string{"EXEC"}, parts: parts, accepts: func(b *book, v resp.Value, answered bool) bool {
		if answered && (v.Kind != resp.Array || len(v.Elems) != len(parts)) {
			return false
		}
		for i, part := range parts {
			var of resp.Value
			if answered {
				of = v.Elems[i]
			}
			if !part.accepts(b, of, answered) {
				return false
			}
		}
		return true
	}}
}
