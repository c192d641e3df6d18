package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// TestLogStyles: the same event in each format, one line each.
func TestLogStyles(t *testing.T) {
	line := func(format config.LogFormat, stamp config.LogTimestamp, member string) string {
		c := config.Default()
		c.LogFormat, c.LogTimestamp = format, stamp
		var out strings.Builder
		at := &place{member: member}
		at.setRole("leader")
		h := newLog(&lockedWriter{w: &out}, slog.LevelDebug, c, at).WithAttrs([]slog.Attr{slog.Int("a", 1)}).WithGroup("g")
		r := slog.NewRecord(time.Date(2026, 11, 5, 1, 2, 3, 4_000_000, time.UTC), slog.LevelWarn, "it \"broke\"\nhere", 0)
		r.AddAttrs(slog.Any("cause", errors.New("a b")), slog.String("e", ""))
		require.NoError(t, h.Handle(t.Context(), r))
		require.Equal(t, 1, strings.Count(out.String(), "\n"))
		return strings.TrimSuffix(out.String(), "\n")
	}
	pid := os.Getpid()
	require.Equal(t, fmt.Sprintf(`pid=%d role=leader member=n1 timestamp="05 Nov 2026 01:02:03.004" level=warning message="it \"broke\"\nhere" a=1 g.cause="a b" g.e=""`, pid),
		line(config.LogFmt, config.TimestampLegacy, "n1"))
	require.Contains(t, line(config.LogFmt, config.TimestampISO, ""), "timestamp=2026-11-05T01:02:03.004Z level")
	require.Contains(t, line(config.LogFmt, config.TimestampMillis, ""), "timestamp=1793840523004 level")
	require.Contains(t, line(config.LogLegacy, config.TimestampISO, ""), fmt.Sprintf("%d:M 2026-11-05T01:02:03.004Z # it", pid))
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(line(config.LogJSON, config.TimestampISO, "n1")), &object))
	require.Equal(t, map[string]any{"pid": float64(pid), "role": "leader", "member": "n1", "timestamp": "2026-11-05T01:02:03.004Z", "level": "warning",
		"message": "it \"broke\"\nhere", "a": 1.0, "g.cause": "a b", "g.e": ""}, object)
}

// severityRecord is a system log that keeps its lines.
type severityRecord []string

func (s *severityRecord) Debug(l string) error   { *s = append(*s, "debug "+l); return nil }
func (s *severityRecord) Info(l string) error    { *s = append(*s, "info "+l); return nil }
func (s *severityRecord) Notice(l string) error  { *s = append(*s, "notice "+l); return nil }
func (s *severityRecord) Warning(l string) error { *s = append(*s, "warning "+l); return nil }

// TestSystemLog: what goes to syslog, beside the log.
func TestSystemLog(t *testing.T) {
	var out strings.Builder
	var lines severityRecord
	log := slog.New(slog.NewMultiHandler(newLineLog(&out, slog.LevelInfo), &systemLog{to: &lines, level: slog.LevelDebug}))
	log.Debug("a")
	log.Info("b\nc", "n", 5)
	log.With("x", 1).Warn("d")
	require.Equal(t, severityRecord{"debug a", `notice b\nc n=5`, "warning d x=1"}, lines)
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
}

// TestRotated: a full file gets a number, and a limited number of files stay.
func TestRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	r, err := openRotated(path, 25, 2)
	require.NoError(t, err)
	for i := range 9 {
		_, err := fmt.Fprintf(r, "line number %d\n", i) // 14 bytes
		require.NoError(t, err)
	}
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for name, want := range map[string]string{path: "line number 8\n", path + ".1": "line number 7\n", path + ".2": "line number 6\n"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, auditMode, info.Mode().Perm())
	r, err = openRotated(path, 1000, 2) // it goes on with the file that is there
	require.NoError(t, err)
	_, err = r.Write([]byte("more\n"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "line number 8\nmore\n", string(text))
}

// TestHistoryOfAProgram: the commands about the past and the audit log, with a server process.
func TestHistoryOfAProgram(t *testing.T) {
	dir := t.TempDir()
	_, addr := startReady(t, dir, "--save", "", "--audit-log", "audit.log", "--requirepass", "sesame")
	ops := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	defer ops.Close()
	for _, line := range []string{"AUTH wrong", "AUTH sesame", "LOCK order:1 alice PX 60000", "CONFIG SET requirepass sesame2", "ACL SETUSER u on >hidden ~*",
		"LOCK.FORCE order:1", "LOCK order:1 bob PX 60000"} {
		require.Equal(t, line == "AUTH wrong", ops.Do(strings.Fields(line)...).IsError(), line)
	}
	code, out, _ := inspected(t, "history", "--addr", addr, "--password", "sesame2", "--lock", "order:1", "--json")
	require.Zero(t, code)
	recorded := filepath.Join(dir, "locks.jsonl")
	require.NoError(t, os.WriteFile(recorded, []byte(out), 0o600))
	code, out, _ = inspected(t, "check-history", recorded)
	require.Zero(t, code, out)
	require.Contains(t, out, "3 events, 2 grants, 0 writes\n")
	require.NoError(t, os.WriteFile(recorded, []byte(strings.Replace(readText(t, recorded), `"forced"`, `"renewed-by-hand"`, 1)), 0o600))
	code, out, _ = inspected(t, "check-history", recorded)
	require.Equal(t, 1, code)
	require.Contains(t, out, `OVERLAP  "order:1": alice held it`)
	code, _, stderr := inspected(t, "check-history", filepath.Join(dir, "nothing"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "no such file")
	code, out, _ = inspected(t, "why", "--addr", addr, "--password", "sesame2", "order:1", "--at", "0s")
	require.Zero(t, code)
	require.Contains(t, out, "held by   bob, token")
	code, _, stderr = inspected(t, "why", "--addr", addr, "--password", "sesame2", "order:1", "--at", "noon")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "is no time")
	for at, fault := range map[string]string{"": `"" is no time`, "2999-01-01 10:00": "is still to come"} {
		code, _, stderr = inspected(t, "why", "--addr", addr, "--password", "sesame2", "order:1", "--at", at)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, fault)
	}
	code, _, stderr = inspected(t, "history", "--addr", addr, "--password", "sesame2", "--since", "")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, `"" is no time`)

	var events []string
	audit := readText(t, filepath.Join(dir, "audit.log"))
	for line := range strings.Lines(audit) {
		var e struct{ Time, Event, Command, Call, User string }
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		require.NotEmpty(t, e.Time)
		if event := strings.TrimSpace(e.Event + " " + e.User + " " + e.Call); event != "login default" || len(events) < 2 { // the inspections log in, too
			events = append(events, event)
		}
	}
	require.Equal(t, []string{"failed-login default", "login default", "command default CONFIG SET requirepass (redacted)", "command default ACL SETUSER u on >(redacted) ~*",
		"command default LOCK.FORCE order:1"}, events)
	for _, secret := range []string{"sesame", "hidden", "wrong"} {
		require.NotContains(t, audit, secret)
	}
}

// TestLogAsJSON: each line of a server process is an object.
func TestLogAsJSON(t *testing.T) {
	dir := t.TempDir()
	c := start(t, dir, "--port", "0", "--save", "", "--log-format", "json", "--logfile", "server.log")
	log := filepath.Join(dir, "server.log")
	c.eventually(t, func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), "Server initialized")
	}, "the server is initialized")
	for line := range strings.Lines(readText(t, log)) {
		var e map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		require.Contains(t, []any{"starting", "primary"}, e["role"])
		require.NotEmpty(t, e["message"])
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
