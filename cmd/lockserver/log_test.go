package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newLineLog(w io.Writer, level slog.Leveler) slog.Handler {
	return &lineLog{out: &lockedWriter{w: w}, level: level}
}

func TestLogLines(t *testing.T) {
	var out strings.Builder
	level := new(slog.LevelVar)
	level.Set(slog.LevelDebug)
	h := newLineLog(&out, level)
	log := func(h slog.Handler, l slog.Level, text string, attrs ...slog.Attr) string {
		out.Reset()
		r := slog.NewRecord(time.Date(2026, 11, 5, 1, 2, 3, 4_000_000, time.UTC), l, text, 0)
		r.AddAttrs(attrs...)
		require.NoError(t, h.Handle(t.Context(), r))
		return out.String()
	}
	head := fmt.Sprintf("%d:M 05 Nov 2026 01:02:03.004 ", os.Getpid())
	require.Equal(t, head+"* hello\n", log(h, slog.LevelInfo, "hello"))
	require.Equal(t, head+"# bad cause=\"it broke\" n=5\n", log(h, slog.LevelWarn, "bad", slog.Any("cause", errors.New("it broke")), slog.Int("n", 5)))
	require.Equal(t, head+"# bad\n", log(h, slog.LevelError, "bad", slog.Attr{}))
	require.Equal(t, head+". x e=\"\"\n", log(h, slog.LevelDebug, "x", slog.String("e", "")))
	require.Equal(t, head+"- x\n", log(h, slog.LevelDebug/2, "x"))
	require.Equal(t, head+"* a\\nb c=\"d\\r\\n\"\n", log(h, slog.LevelInfo, "a\nb", slog.String("c", "d\r\n")),
		"what clients send makes no lines of its own")
	require.Equal(t, head+"# p v=1\none\ntwo\n", log(h, slog.LevelError, "p", slog.Int("v", 1), slog.String("stack", "one\ntwo\n")))
	with := h.WithAttrs([]slog.Attr{slog.Int("a", 1)}).WithGroup("g").WithGroup("").WithAttrs([]slog.Attr{slog.Int("b", 2)})
	require.Equal(t, head+"* x a=1 g.b=2 g.c=3 g.k.d=4\n", log(with, slog.LevelInfo, "x", slog.Int("c", 3), slog.Group("k", slog.Int("d", 4))))

	require.True(t, h.Enabled(t.Context(), slog.LevelDebug))
	level.Set(slog.LevelWarn)
	require.False(t, h.Enabled(t.Context(), slog.LevelInfo), "the level may change at run time")
}

func TestLogFileMayBeMovedAway(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.log")
	log := slog.New(newLineLog(reopened(name), slog.LevelInfo))
	log.Info("one")
	require.NoError(t, os.Rename(name, name+".1"))
	log.Info("two")
	for file, want := range map[string]string{name + ".1": "* one\n", name: "* two\n"} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(data), want), "%s", data)
		require.Equal(t, 1, strings.Count(string(data), "\n"))
	}
}
