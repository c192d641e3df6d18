package stats

import (
	"fmt"
	"slices"
)

// mostArgs and mostBytes limit the words of a command in the slow log, and the bytes of a word, as in Redis.
const (
	mostArgs  = 32
	mostBytes = 128
)

// SlowLog holds the last commands that took long, or had a large request or reply.
type SlowLog struct {
	Most    int64       // limit of entries
	entries []SlowEntry // oldest first
	nextID  int64
}

// SlowEntry is a command in such a log.
type SlowEntry struct {
	ID, AtS    int64
	Figure     int64    // its running time in microseconds, or the size of its request or reply
	Args       [][]byte // the beginning of the command
	Addr, Name string   // of the client
}

// Add adds a command. It copies the beginning, and sets the ID. If there are more than Most entries, the
// oldest are removed. If Most is 0, nothing is added or removed, as in Redis.
func (l *SlowLog) Add(e SlowEntry) {
	if l.Most == 0 {
		return
	}
	e.ID, e.Args = l.nextID, shorten(e.Args)
	l.nextID++
	l.entries = append(l.entries, e)
	if over := int64(len(l.entries)) - l.Most; over > 0 {
		clear(l.entries[:over])
		l.entries = l.entries[over:]
	}
}

// Len returns the number of entries.
func (l *SlowLog) Len() int { return len(l.entries) }

// Latest returns the i-th entry from the newest, 0..Len-1.
func (l *SlowLog) Latest(i int) *SlowEntry { return &l.entries[len(l.entries)-1-i] }

// Reset removes all entries; IDs continue.
func (l *SlowLog) Reset() { l.entries = nil }

// shorten copies the beginning of a command, with a word about the missing part.
func shorten(args [][]byte) [][]byte {
	n := min(len(args), mostArgs)
	short := make([][]byte, n)
	for i := range short {
		switch arg := args[i]; {
		case i == n-1 && n < len(args):
			short[i] = fmt.Appendf(nil, "... (%d more arguments)", len(args)-n+1)
		case len(arg) > mostBytes:
			short[i] = fmt.Appendf(slices.Clone(arg[:mostBytes]), "... (%d more bytes)", len(arg)-mostBytes)
		default:
			short[i] = append(make([]byte, 0, len(arg)), arg...)
		}
	}
	return short
}
