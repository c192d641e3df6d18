package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"

	"lockserver/internal/config"
)

// lineLog writes a log in redis-server's line format, so that programs which read its logs can read this log:
//
//	4711:M 21 Nov 2026 01:10:33.632 * message key=value
//
// The character before the message is the severity: '.' debug, '-' verbose, '*' notice, '#' warning and
// above.
type lineLog struct {
	out    *lockedWriter
	level  slog.Leveler
	prefix string // the attributes of With, rendered, with a blank before each
	group  string // the names of WithGroup, with a dot after each
	stamp  config.LogTimestamp
}

// lockedWriter writes one line at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(line)
}

// Enabled implements slog.Handler.
func (l *lineLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

// Handle implements slog.Handler.
func (l *lineLog) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d:M %s %c %s%s", os.Getpid(), stampText(r.Time, l.stamp, legacyStamp), mark(r.Level), oneLine(r.Message), l.prefix)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, l.group, a)
		return true
	})
	b.WriteByte('\n')
	_, err := l.out.Write(b.Bytes())
	return err
}

// WithAttrs implements slog.Handler.
func (l *lineLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b bytes.Buffer
	for _, a := range attrs {
		appendAttr(&b, l.group, a)
	}
	n := *l
	n.prefix += b.String()
	return &n
}

// WithGroup implements slog.Handler.
func (l *lineLog) WithGroup(name string) slog.Handler {
	if name == "" {
		return l
	}
	n := *l
	n.group += name + "."
	return &n
}

func mark(level slog.Level) byte {
	switch {
	case level <= slog.LevelDebug:
		return '.'
	case level < slog.LevelInfo:
		return '-'
	case level < slog.LevelWarn:
		return '*'
	}
	return '#'
}

func appendAttr(b *bytes.Buffer, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			appendAttr(b, group, inner)
		}
		return
	}
	if a.Equal(slog.Attr{}) {
		return
	}
	text := v.String()
	// People read a stack: its line breaks are kept.
	if a.Key == "stack" {
		fmt.Fprintf(b, "\n%s", strings.TrimRight(text, "\n"))
		return
	}
	if text == "" || strings.ContainsAny(text, " =\"") || oneLine(text) != text {
		text = strconv.Quote(text)
	}
	fmt.Fprintf(b, " %s%s=%s", group, a.Key, text)
}

// oneLine replaces line breaks, so that text of clients and files cannot make lines of its own.
func oneLine(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// reopened is a log file that is opened anew for each line, as in redis-server. So a log rotation that moves
// the file needs no signal.
type reopened string

func (name reopened) open() (*os.File, error) {
	return os.OpenFile(string(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
}

// Write implements io.Writer.
func (name reopened) Write(line []byte) (int, error) {
	f, err := name.open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	return f.Write(line)
}
