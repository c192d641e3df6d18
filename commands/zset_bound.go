package commands

import (
	"bytes"
	"errors"
	"strconv"

	"lockserver/internal/resp"
	"lockserver/store/zset"
)

// scoreRange parses the two ends of an interval of scores: "1.5", "(1.5", "-inf", "+inf".
func scoreRange(least, most []byte) (r zset.ScoreRange, err error) {
	var ok, ok2 bool
	r.Min, r.MinOpen, ok = scoreBound(least)
	r.Max, r.MaxOpen, ok2 = scoreBound(most)
	if !ok || !ok2 {
		return r, ErrMinMaxFloat
	}
	return r, nil
}

func scoreBound(text []byte) (f float64, open, ok bool) {
	if len(text) > 0 && text[0] == '(' {
		text, open = text[1:], true
	}
	f, ok = looseFloat(text)
	return f, open, ok
}

// looseFloat parses a number like C's strtod without a check of errno. Leading spaces are skipped, a number
// out of range is infinite or zero, a zero byte ends the text, and an empty text is 0. Redis parses the ends
// of a score interval in this way.
func looseFloat(text []byte) (float64, bool) {
	text = clip(text, len(text))
	if len(text) == 0 {
		return 0, true
	}
	text = bytes.TrimLeft(text, " \t\n\v\f\r")
	if f, ok := resp.ParseFloat(text); ok {
		return f, true
	}
	spelled := string(text)
	if bytes.IndexByte(text, '_') >= 0 {
		return 0, false // C has no digit separators
	}
	if bytes.ContainsAny(text, "xX") && !bytes.ContainsAny(text, "pP") {
		spelled += "p0" // the exponent is optional in C, but not in Go
	}
	f, err := strconv.ParseFloat(spelled, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return f, f == f
}

// lexRange parses the two ends of an interval of members: "[a", "(a", "-", "+".
func lexRange(least, most []byte) (r zset.LexRange, err error) {
	var ok, ok2 bool
	r.Min, ok = lexBound(least)
	r.Max, ok2 = lexBound(most)
	if !ok || !ok2 {
		return r, ErrMinMaxLex
	}
	return r, nil
}

func lexBound(text []byte) (b zset.LexBound, ok bool) {
	if len(text) == 0 {
		return b, false
	}
	switch text[0] {
	case '[':
		return zset.LexBound{Member: text[1:]}, true
	case '(':
		return zset.LexBound{Member: text[1:], Open: true}, true
	case '-':
		b.Infinite = -1
	case '+':
		b.Infinite = 1
	}
	return b, b.Infinite != 0 && (len(text) == 1 || text[1] == 0)
}

// rankRange converts an inclusive interval of ranks into the ranks from..to-1 of a sorted set of n members.
// Negative ranks count from the end.
func rankRange(start, stop int64, n int) (from, to int) {
	size := int64(n)
	if start < 0 {
		start = max(start+size, 0)
	}
	if stop < 0 {
		stop += size
	}
	if start > stop || start >= size {
		return 0, 0
	}
	return int(start), int(min(stop, size-1)) + 1
}
