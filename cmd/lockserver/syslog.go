package main

import (
	"bytes"
	"context"
	"log/slog"
)

// severities are the functions of a system log, by severity.
type severities interface {
	Debug(line string) error
	Info(line string) error
	Notice(line string) error
	Warning(line string) error
}

// systemLog is a handler that sends lines to the system's log (syslog-enabled). That log adds the time and
// the process.
type systemLog struct {
	to     severities
	level  slog.Leveler
	prefix string // as lineLog.prefix
	group  string // as lineLog.group
}

// Enabled implements slog.Handler.
func (l *systemLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= l.level.Level()
}

// Handle implements slog.Handler.
func (l *systemLog) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(oneLine(r.Message))
	b.WriteString(l.prefix)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, l.group, a)
		return true
	})
	switch line := b.String(); mark(r.Level) {
	case '.':
		return l.to.Debug(line)
	case '-':
		return l.to.Info(line)
	case '*':
		return l.to.Notice(line)
	default:
		return l.to.Warning(line)
	}
}

// WithAttrs implements slog.Handler.
func (l *systemLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b bytes.Buffer
	for _, a := range attrs {
		appendAttr(&b, l.group, a)
	}
	n := *l
	n.prefix += b.String()
	return &n
}

// WithGroup implements slog.Handler.
func (l *systemLog) WithGroup(name string) slog.Handler {
	n := *l
	if name != "" {
		n.group += name + "."
	}
	return &n
}
