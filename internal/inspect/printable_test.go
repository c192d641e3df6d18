package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"order:42": "order:42", "Übung 1": "Übung 1", "": "",
		"a\x1b[2Jb": `a\x1b[2Jb`, "tab\there": `tab\x09here`, "\xff\xfe": `\xff\xfe`, "ok\xc3": `ok\xc3`, "\u202e": `\xe2\x80\xae`, "\ufffd": "\ufffd",
	} {
		require.Equal(t, want, printable(in), "%q", in)
	}
}

func TestNumbers(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0ms", 850 * time.Millisecond: "850ms", 12345 * time.Millisecond: "12.3s", 59990 * time.Millisecond: "59.9s",
		245 * time.Second: "4m05s", 3*time.Hour + 12*time.Minute: "3h12m", 122 * time.Hour: "5d02h",
	} {
		require.Equal(t, want, span(d))
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -4321: "-4,321"} {
		require.Equal(t, want, count(n))
	}
	for f, want := range map[float64]string{0: "0", 0.25: "0.2", 9.96: "10.0", 12.6: "13", 20500: "20,500"} {
		require.Equal(t, want, rate(f))
	}
	for n, want := range map[int64]string{12: "12 B", 2048: "2.0 KiB", 5 << 20: "5.0 MiB", 3 << 29: "1.5 GiB"} {
		require.Equal(t, want, size(n))
	}
}
