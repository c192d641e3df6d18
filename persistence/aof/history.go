package aof

import (
	"bytes"
	"fmt"
	"strconv"
)

// historyAnnotation is the beginning of the line with the position of the data in a replication history
// (format, do not change). The line has the name of the history, the number of its bytes before this
// position, and the database of the commands that follow. Redis skips it.
const historyAnnotation = "lockserver-history:"

// HistoryPlace is a position in a replication history.
type HistoryPlace struct {
	ID     string
	Offset int64
	DB     int
}

// RecordHistory writes the position in the history that the appended commands lead to.
func (l *Log) RecordHistory(at HistoryPlace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.annotate(fmt.Appendf(nil, "#%s%s %d %d\r\n", historyAnnotation, at.ID, at.Offset, at.DB))
}

// annotate appends a line; under mu.
func (l *Log) annotate(line []byte) {
	if l.keep {
		l.buf = append(l.buf, line...)
		l.end += int64(len(line))
		l.setDue()
	}
}

// History parses the position in an annotation. ok is false for any other annotation.
func History(annotation []byte) (at HistoryPlace, ok bool) {
	text, ok := bytes.CutPrefix(annotation, []byte(historyAnnotation))
	words := bytes.Fields(text)
	if !ok || len(words) != 3 {
		return at, false
	}
	offset, err := strconv.ParseInt(string(words[1]), 10, 64)
	db, err2 := strconv.Atoi(string(words[2]))
	if err != nil || err2 != nil || offset < 0 || len(words[0]) != historyIDBytes {
		return at, false
	}
	return HistoryPlace{ID: string(words[0]), Offset: offset, DB: db}, true
}

// historyIDBytes is the length of the name of a history.
const historyIDBytes = 40
