package aof

import "bytes"

// rulesBytes is the length of the line before the first delayed entry that recurs in a file. Versions that do
// not know such entries take no line of this length, so they do not load the file (format, do not change).
// Redis reads a line in pieces of 1023 bytes, and skips the pieces that begin with '#'.
const rulesBytes = 1100

// AppendRulesMark appends that line.
func AppendRulesMark(dst []byte) []byte {
	const text = "#lockserver: entries recur "
	dst = append(append(dst, text...), bytes.Repeat([]byte{'#'}, rulesBytes-len(text)-2)...)
	return append(dst, "\r\n"...)
}

// MarkRules appends that line to the current file, once. The next unit stores an entry that recurs.
func (l *Log) MarkRules() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.marked {
		l.marked = l.keep
		l.annotate(AppendRulesMark(nil))
	}
}
