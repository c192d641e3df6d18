package decimal

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseInt(t *testing.T) {
	for _, text := range []string{
		"0", "1", "-1", "9", "10", "-10", "123456789", "9223372036854775807", "-9223372036854775808",
		"9223372036854775806", "-9223372036854775807", "1000000000000000000", "999999999999999999",
	} {
		n, ok := ParseInt([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, text, strconv.FormatInt(n, 10))
	}
	for _, text := range []string{
		"", "-", "+1", "01", "00", "-0", "-01", " 1", "1 ", "1a", "a", "--1", "1.0", "1e3", "0x1", "1\x00", "1_0",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999",
		"100000000000000000000", "-99999999999999999999", "/", ":",
	} {
		_, ok := ParseInt([]byte(text))
		require.False(t, ok, text)
	}
}

func TestParseUint(t *testing.T) {
	for _, text := range []string{"0", "1", "18446744073709551615", "18446744073709551610", "9223372036854775808"} {
		n, ok := ParseUint([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, text, strconv.FormatUint(n, 10))
	}
	for _, text := range []string{"", "-1", "-0", "01", "18446744073709551616", "18446744073709551620", "20000000000000000000", "99999999999999999999", "100000000000000000000"} {
		_, ok := ParseUint([]byte(text))
		require.False(t, ok, text)
	}
}

// FuzzParseInt: exactly what strconv prints is accepted.
func FuzzParseInt(f *testing.F) {
	f.Add([]byte("-9223372036854775808"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := strconv.ParseInt(string(b), 10, 64)
		want := err == nil && strconv.FormatInt(n, 10) == string(b)
		got, ok := ParseInt(b)
		require.Equal(t, want, ok)
		if ok {
			require.Equal(t, n, got)
		}
	})
}
