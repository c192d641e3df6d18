package admin

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDebug: profiles and the log are served only when that was asked for, in the forms of 'go tool pprof'.
func TestDebug(t *testing.T) {
	off := open(t, new(fakeSource))
	status, _ := get(t, off, "/debug/pprof/heap")
	require.NotEqual(t, 200, status)
	status, text := get(t, off, "/debug/log")
	require.NotEqual(t, 200, status)
	require.NotContains(t, text, "a line")

	p, err := Open([]Source{new(fakeSource)}, Options{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		Debug: &Debug{Log: func() []byte { return []byte("a line\n") }}})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	status, text = get(t, p, "/debug/log")
	require.Equal(t, 200, status)
	require.Equal(t, "a line\n", text)
	for _, path := range []string{"heap", "goroutine", "profile?seconds=1"} {
		status, text := get(t, p, "/debug/pprof/"+path)
		require.Equal(t, 200, status, path)
		packed, err := gzip.NewReader(bytes.NewReader([]byte(text)))
		require.NoError(t, err, path)
		plain, err := io.ReadAll(packed)
		require.NoError(t, err, path)
		require.NotEmpty(t, plain, path)
	}
	status, text = get(t, p, "/debug/pprof/goroutine?debug=2")
	require.Equal(t, 200, status)
	require.Contains(t, text, "goroutine ")
	for path, want := range map[string]int{"cmdline": 404, "nosuch": 404, "heap?debug=3": 400, "profile?seconds=0": 400, "profile?seconds=61": 400, "profile?seconds=x": 400} {
		status, _ = get(t, p, "/debug/pprof/"+path)
		require.Equal(t, want, status, path)
	}
}
