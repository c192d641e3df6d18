package engine

import (
	"bytes"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// newLogger makes the lines of the library lines of the server's log.
func newLogger(to *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: lines{to}, Level: hclog.Info, DisableTime: true})
}

// lines are the lines of a log; each begins with its level in brackets.
type lines struct{ to *slog.Logger }

// Write implements io.Writer.
func (l lines) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		level, text, ok := strings.Cut(strings.TrimSpace(string(line)), "]")
		if !ok {
			level, text = "", string(line)
		}
		text = "raft: " + strings.TrimSpace(text)
		switch level {
		case "[ERROR":
			l.to.Error(text)
		case "[WARN":
			l.to.Warn(text)
		default:
			l.to.Info(text)
		}
	}
	return len(b), nil
}
