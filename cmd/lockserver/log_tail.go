package main

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// logTailBytes bounds how much of the log is kept in memory for admin-debug.
const logTailBytes = 256 << 10

// logTail passes a log to another writer, and stores its last lines.
type logTail struct {
	to   io.Writer
	most int

	mu   sync.Mutex
	last []byte
}

// Write implements io.Writer. It gets whole lines.
func (t *logTail) Write(line []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, line...)
	if over := len(t.last) - t.most; over > 0 {
		cut := len(t.last) // the line may be longer than all that is stored
		if end := bytes.IndexByte(t.last[over-1:], '\n'); end >= 0 {
			cut = over + end
		}
		t.last = append(t.last[:0], t.last[cut:]...)
	}
	t.mu.Unlock()
	return t.to.Write(line)
}

// Lines returns the last lines.
func (t *logTail) Lines() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.last)
}
