package lockservertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/resp"
)

// reading is how the value of a type is read whole, and how many elements of the reply are one line. What has
// no order of its own is put in one.
type reading struct {
	words   []string // the key goes behind the first
	width   int
	ordered bool
}

var readings = map[string]reading{
	"string": {words: []string{"GET"}, width: 1, ordered: true},
	"hash":   {words: []string{"HGETALL"}, width: 2},
	"set":    {words: []string{"SMEMBERS"}, width: 1},
	"list":   {words: []string{"LRANGE", "0", "-1"}, width: 1, ordered: true},
	"zset":   {words: []string{"ZRANGE", "0", "-1", "WITHSCORES"}, width: 2, ordered: true},
	"stream": {words: []string{"XRANGE", "-", "+"}, width: 1, ordered: true},
}

// Dump shows the first database, for the reader of a failed test. Each key has its type and its deadline, if
// any; below it is the value, a line for each element. Keys are in order, and so are fields and members of
// sets; text is in quotes, with escapes. A Bloom filter shows its type only.
//
//	"cart" hash
//	  "apple" "2"
//	"door" string until 1970-01-01T00:17:10Z
//	  "alice"
func (s *Server) Dump() string {
	s.t.Helper()
	var b strings.Builder
	for _, key := range s.Keys() {
		kind := s.Do("TYPE", key)
		b.WriteString(strconv.Quote(key) + " " + kind)
		if at, _ := strconv.ParseInt(s.Do("PEXPIRETIME", key), 10, 64); at > 0 {
			b.WriteString(" until " + time.UnixMilli(at).UTC().Format(time.RFC3339Nano))
		}
		b.WriteByte('\n')
		if how, ok := readings[kind]; ok {
			for _, line := range s.read(key, how) {
				b.WriteString("  " + line + "\n")
			}
		}
	}
	return b.String()
}

// read returns a value, a line an element.
func (s *Server) read(key string, how reading) (list []string) {
	s.t.Helper()
	v := s.reply(append([]string{how.words[0], key}, how.words[1:]...)...)
	elements := v.Elems
	if v.Kind != resp.Array {
		elements = []resp.Value{v}
	}
	for line := range slices.Chunk(elements, how.width) {
		list = append(list, strings.Join(quoted(line), " "))
	}
	if !how.ordered {
		slices.Sort(list)
	}
	return list
}

// quoted are the texts of a reply, flat.
func quoted(values []resp.Value) (list []string) {
	for _, v := range values {
		switch v.Kind {
		case resp.Array:
			list = append(list, quoted(v.Elems)...)
		case resp.Integer:
			list = append(list, fmt.Sprint(v.Int))
		default:
			list = append(list, strconv.Quote(v.Str))
		}
	}
	return list
}
