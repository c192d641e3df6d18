package sessions

import (
	"fmt"
	"slices"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// command is one command of a client.
type command struct {
	words   []string
	accepts accept
	// muted says that CLIENT REPLY keeps it from being answered.
	muted bool
	// key is what it waits for, if it may wait; empty: it does not.
	key place
	// waited says that the server was seen to let it wait: a grant that is not read is taken back.
	waited bool
	// parts are the commands that an EXEC runs.
	parts []*command
	// noReply: it is answered by pushes, or not at all.
	noReply bool
}

// accept says whether a reply may be a command's, and records its content in the book. answered is false if
// the command was perhaps run, but its reply was lost: v says nothing then.
type accept func(b *book, v resp.Value, answered bool) bool

// place is a key in a database.
type place struct {
	db  int
	key string
}

func (p place) String() string { return fmt.Sprintf("%d:%.12s", p.db, p.key) }

// String cuts long words off, so that a report can be read.
func (c *command) String() string {
	short := slices.Clone(c.words)
	for i, w := range short {
		if len(w) > 60 {
			short[i] = fmt.Sprintf("%s...(%d bytes)", w[:4], len(w))
		}
	}
	return testkit.Line(short)
}

// says accepts exactly one reply, as resp.Value.String writes it.
func says(want string) accept {
	return func(_ *book, v resp.Value, answered bool) bool { return !answered || v.String() == want }
}

// saysNumber accepts any number.
func saysNumber(_ *book, v resp.Value, answered bool) bool {
	return !answered || v.Kind == resp.Integer
}

// exec accepts what its parts do, together.
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
