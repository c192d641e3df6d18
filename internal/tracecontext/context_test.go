package tracecontext

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParse(t *testing.T) {
	c, ok := Parse([]byte(valid))
	require.True(t, ok)
	require.True(t, c.Sampled())
	require.Equal(t, valid, c.String())
	require.Equal(t, byte(0x4b), c.Trace[0])
	require.Equal(t, byte(0xb7), c.Span[7])
	c, ok = Parse([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02"))
	require.True(t, ok)
	require.False(t, c.Sampled())
	for _, later := range []string{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"} {
		c, ok = Parse([]byte(later))
		require.True(t, ok, later)
		require.Equal(t, valid, c.String())
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { Parse([]byte(valid)) }))
}

// TestParseRefuses has the invalid headers that the recommendation names.
func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "short": valid[:54], "more in version 00": valid + "-00", "a longer one": valid + "0",
		"version ff": "ff" + valid[2:], "no trace": "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"no span": "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "upper case": "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
		"no digit": "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "no digit in the flags": valid[:53] + "0x",
		"another separator": "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "separators": "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
		"the last separator": valid[:52] + "_01", "later, without a separator": "cc" + valid[2:] + "x",
	} {
		_, ok := Parse([]byte(text))
		require.False(t, ok, name)
	}
}
