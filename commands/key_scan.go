package commands

import (
	"bytes"
	"slices"
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/glob"
	"lockserver/store"
)

func keys(c *Ctx) error {
	pattern := c.Argv[1]
	list, n := c.Out.DeferArray(), 0
	c.DB.Keys().Each(func(key string, r store.Ref) bool {
		if matchesKey(pattern, key) {
			c.Out.BulkString(key)
			n++
		}
		return true
	})
	c.Out.SetArray(list, n)
	return nil
}

// matchesKey checks for the pattern "*" itself, because no pattern matches the empty key.
func matchesKey(pattern []byte, key string) bool {
	return string(pattern) == "*" || glob.Match(pattern, []byte(key), false)
}

const scanDefaultCount = 10

func scan(c *Ctx) error {
	a := c.Args()
	cursor := a.Cursor()
	pattern, count := []byte("*"), int64(scanDefaultCount)
	var kind []byte // the type's name as TYPE replies it, in any case; nil means every type
	for a.More() {
		switch scanOption(a) {
		case "MATCH":
			pattern = a.Bytes()
		case "TYPE":
			kind = a.Bytes()
		case "COUNT":
			if count = a.Int(); count < 1 {
				a.Syntax()
			}
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	var found []string
	cursor = c.DB.Keys().Scan(cursor, int(count), func(key string, r store.Ref) {
		if matchesKey(pattern, key) {
			found = append(found, key)
		}
	})
	if kind != nil {
		found = slices.DeleteFunc(found, func(key string) bool { // each counts as a hit, as in Redis
			return !ascii.EqualFold(kind, c.DB.LookQuietly([]byte(key)).Kind().String())
		})
	}
	c.WritePiece(cursor, len(found))
	for _, key := range found {
		c.Out.BulkString(key)
	}
	return nil
}

// parseCursor parses a cursor like Redis, which works on C strings: a zero byte ends it.
func parseCursor(b []byte) (uint64, bool) { return parseUint(clip(b, len(b))) }

// Cursor reads a cursor.
func (s *Scanner) Cursor() uint64 {
	cursor, ok := parseCursor(s.Bytes())
	if !ok {
		s.Fail(ErrCursor)
	}
	return cursor
}

// PieceOf returns how many entries a command examines, if it lists in pieces and Redis has no limit for it.
// That is COUNT (-1 if it was not given), but at most the number that takes about a millisecond.
func PieceOf(count int64) int {
	const most = 1000
	if count < 0 {
		return scanDefaultCount
	}
	return int(min(count, most))
}

// WritePiece begins the reply of a command that lists in pieces: the next cursor, and the header of n
// elements. The caller writes the elements.
func (c *Ctx) WritePiece(next uint64, n int) {
	c.Out.Array(2)
	c.Out.Bulk(strconv.AppendUint(c.Scratch(), next, 10))
	c.Out.Array(n)
}

// parseUint parses a cursor, or one half of a stream's ID. It accepts a strict integer, and the form of C's
// strtoull: blanks, a sign and zeros may come first. There a negative number counts down from 2^64.
func parseUint(b []byte) (uint64, bool) {
	if n, ok := decimal.ParseUint(b); ok {
		return n, true
	}
	if _, ok := decimal.ParseInt(b); ok {
		return 0, false // a plain negative number
	}
	b = bytes.TrimLeft(b, " \t\n\v\f\r")
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	for len(b) > 1 && b[0] == '0' {
		b = b[1:]
	}
	n, ok := decimal.ParseUint(b)
	if negative {
		n = -n
	}
	return n, ok
}

func randomkey(c *Ctx) error {
	if key, ok := c.DB.Keys().Random(c.Rand.IntN); ok {
		c.Out.BulkString(key)
	} else {
		c.Out.Null()
	}
	return nil
}
