package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"lockserver/internal/config"
)

// Formats of the log for programs (log-format). Each event is one line.

// place is the server of a group that writes a line. The role changes while the process runs.
type place struct {
	role   atomic.Pointer[string] // nil: not known yet
	member string                 // raft-id; empty: the server is in no group
}

func (p *place) setRole(role string) { p.role.Store(&role) }

func (p *place) roleText() string {
	if role := p.role.Load(); role != nil {
		return *role
	}
	return "starting"
}

// styledLog writes a log as logfmt or as JSON.
type styledLog struct {
	out    *lockedWriter
	level  slog.Leveler
	format config.LogFormat
	stamp  config.LogTimestamp
	place  *place
	attrs  []slog.Attr // of With, flat
	group  string      // the names of WithGroup, with a dot after each
}

// newLog returns the handler of the log in the format that the configuration asks for.
func newLog(out *lockedWriter, level slog.Leveler, c *config.Config, at *place) slog.Handler {
	if c.LogFormat == config.LogLegacy {
		return &lineLog{out: out, level: level, stamp: c.LogTimestamp}
	}
	return &styledLog{out: out, level: level, format: c.LogFormat, stamp: c.LogTimestamp, place: at}
}

// stampText is a time in the form that log-timestamp-format asks for; legacy is the layout of the format.
func stampText(t time.Time, stamp config.LogTimestamp, legacy string) string {
	switch stamp {
	case config.TimestampISO:
		return t.Format("2006-01-02T15:04:05.000Z07:00")
	case config.TimestampMillis:
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.Format(legacy)
}

const legacyStamp = "02 Jan 2006 15:04:05.000"

// levelName returns the name of a severity, as in the directive loglevel.
func levelName(level slog.Level) string {
	switch mark(level) {
	case '.':
		return "debug"
	case '-':
		return "verbose"
	case '*':
		return "notice"
	}
	return "warning"
}

// Enabled implements slog.Handler.
func (l *styledLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= l.level.Level()
}

// Handle implements slog.Handler.
func (l *styledLog) Handle(_ context.Context, r slog.Record) error {
	line := newLine(l.format)
	line.add("pid", os.Getpid())
	line.add("role", l.place.roleText())
	if l.place.member != "" {
		line.add("member", l.place.member)
	}
	line.add("timestamp", stampText(r.Time, l.stamp, legacyStamp))
	line.add("level", levelName(r.Level))
	line.add("message", r.Message)
	for _, a := range l.attrs {
		line.add(a.Key, a.Value.Any())
	}
	r.Attrs(func(a slog.Attr) bool {
		eachAttr(l.group, a, line.add)
		return true
	})
	_, err := l.out.Write(line.end())
	return err
}

// WithAttrs implements slog.Handler.
func (l *styledLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *l
	n.attrs = append([]slog.Attr(nil), l.attrs...)
	for _, a := range attrs {
		eachAttr(l.group, a, func(name string, value any) { n.attrs = append(n.attrs, slog.Any(name, value)) })
	}
	return &n
}

// WithGroup implements slog.Handler.
func (l *styledLog) WithGroup(name string) slog.Handler {
	if name == "" {
		return l
	}
	n := *l
	n.group += name + "."
	return &n
}

// eachAttr visits an attribute, or the attributes of a group, with their whole names.
func eachAttr(group string, a slog.Attr, visit func(name string, value any)) {
	v := a.Value.Resolve()
	switch {
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			eachAttr(group, inner, visit)
		}
	case !a.Equal(slog.Attr{}):
		visit(group+a.Key, v.Any())
	}
}

// logLine is a line that is being written.
type logLine struct {
	format config.LogFormat
	b      bytes.Buffer
	seen   map[string]bool // names: an object has no name twice
}

func newLine(format config.LogFormat) *logLine {
	return &logLine{format: format, seen: make(map[string]bool)}
}

// add adds a field. If the name exists already it gets a number.
func (l *logLine) add(name string, value any) {
	for base, i := name, 2; l.seen[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	l.seen[name] = true
	if l.format == config.LogJSON {
		l.addJSON(name, value)
		return
	}
	if l.b.Len() > 0 {
		l.b.WriteByte(' ')
	}
	l.b.WriteString(name)
	l.b.WriteByte('=')
	switch v := value.(type) {
	case int, int64, uint64, bool:
		fmt.Fprint(&l.b, v)
	default:
		text := fmt.Sprint(v)
		if b, ok := v.([]byte); ok {
			text = string(b)
		}
		if plainWord(text) {
			l.b.WriteString(text)
		} else {
			l.b.WriteString(strconv.Quote(text))
		}
	}
}

// plainWord reports whether a value of logfmt needs no quotes.
func plainWord(text string) bool {
	for _, r := range text {
		if r <= ' ' || r == '"' || r == '=' || r == '\\' || r >= 0x7f {
			return false
		}
	}
	return text != ""
}

func (l *logLine) addJSON(name string, value any) {
	if l.b.Len() == 0 {
		l.b.WriteByte('{')
	} else {
		l.b.WriteByte(',')
	}
	key, _ := json.Marshal(name)
	l.b.Write(key)
	l.b.WriteByte(':')
	switch v := value.(type) {
	case int, int64, uint64, bool, float64:
	case []byte:
		value = string(v)
	default:
		value = fmt.Sprint(v)
	}
	text, err := json.Marshal(value)
	if err != nil {
		text, _ = json.Marshal(fmt.Sprint(value))
	}
	l.b.Write(text)
}

// end returns the line.
func (l *logLine) end() []byte {
	if l.format == config.LogJSON {
		l.b.WriteByte('}')
	}
	l.b.WriteByte('\n')
	return l.b.Bytes()
}
