package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/tracecontext"
)

const validTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParseTrace(t *testing.T) {
	c, ok := tracecontext.Parse([]byte(validTrace))
	require.True(t, ok)
	require.True(t, c.Sampled())
	require.Equal(t, validTrace, c.String())
	require.Equal(t, byte(0x4b), c.Trace[0])
	require.Equal(t, byte(0xb7), c.Span[7])
	c, ok = tracecontext.Parse([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02"))
	require.True(t, ok)
	require.False(t, c.Sampled())
	for _, later := range []string{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"} {
		c, ok = tracecontext.Parse([]byte(later))
		require.True(t, ok, later)
		require.Equal(t, validTrace, c.String())
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { tracecontext.Parse([]byte(validTrace)) }))
}

// TestParseTraceRefuses has the invalid headers that the recommendation names.
func TestParseTraceRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "short": validTrace[:54], "more in version 00": validTrace + "-00", "a longer one": validTrace + "0",
		"version ff": "ff" + validTrace[2:], "no trace": "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"no span": "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "upper case": "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
		"no digit": "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "no digit in the flags": validTrace[:53] + "0x",
		"another separator": "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "separators": "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
		"the last separator": validTrace[:52] + "_01", "later, without a separator": "cc" + validTrace[2:] + "x",
	} {
		_, ok := tracecontext.Parse([]byte(text))
		require.False(t, ok, name)
	}
}
