package aof

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzManifest: any text is read, or refused with a valid offset. A manifest that was read can be written,
// and reads back equal.
func FuzzManifest(f *testing.F) {
	for _, name := range goldens {
		f.Add([]byte(golden(f, name)["log/appendonly.aof.manifest"]))
	}
	f.Add([]byte("# by hand\nTYPE b SEQ 1 FILE \"my \\x62ase\" startoffset 5\n  file 'old one' seq 1 type h\t\nfile i seq 1 type incr\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest("m", text)
		if err != nil {
			requireLocated(t, err, "m", len(text))
			return
		}
		again, err := ParseManifest("m", m.AppendText(nil))
		if m.isEmpty() && len(m.History) == 0 {
			return
		}
		// A name may have had nearly the longest allowed line before it was quoted.
		if err != nil && strings.Contains(err.Error(), "more than") {
			return
		}
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}

// FuzzLoad: a prefix of any file loads, or the file is refused at an offset. After the torn end was cut off,
// it loads without a fault and gives the same data; and Check reports the same.
func FuzzLoad(f *testing.F) {
	for _, name := range goldens {
		for path, text := range golden(f, name) {
			if strings.HasSuffix(path, "incr.aof") || strings.HasSuffix(path, "base.aof") {
				f.Add([]byte(text))
				f.Add([]byte(text[:len(text)*2/3]))
			}
		}
	}
	f.Add([]byte(inFile("MULTI", "SET a 1", "EXEC") + "#TS:1\r\n*1\r\n$0\r\n\r\n" + strings.Repeat("\x00", 20)))
	f.Fuzz(func(t *testing.T, text []byte) {
		files := logDisk(t, map[string]string{"log/a.aof.manifest": manifestOf("i x"), "log/x": string(text)})
		report, checkErr := Check(files, "log")
		in, got, err := load(t, placeOn(files), LoadOptions{CutTorn: true})
		if err != nil {
			requireLocated(t, err, "log/x", len(text))
			if isSnapshot(string(text)) { // the test's own Snapshot reads it
				return
			}
			require.EqualError(t, checkErr, err.Error())
			return
		}
		if isSnapshot(string(text)) {
			return
		}
		require.NoError(t, checkErr)
		require.Equal(t, got.Cut, report.Files[0].Torn)
		require.Equal(t, got.Units, report.Files[0].Units)
		again, once, err := load(t, placeOn(files), LoadOptions{})
		require.NoError(t, err)
		require.Nil(t, once.Cut)
		require.Equal(t, in.got, again.got)
		if got.Cut == nil {
			require.Equal(t, len(text), wholeUnits(text))
		}
	})
}

// TestLiesDoNotAllocate feeds impossible lengths, and checks that they allocate no memory.
func TestLiesDoNotAllocate(t *testing.T) {
	for name, text := range map[string]string{
		"arguments":    "*999999999999999999\r\n$1\r\na\r\n",
		"an argument":  "*1\r\n$999999999999999999\r\nabc",
		"within":       inFile("MULTI", "SET a 1") + "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4294967296\r\nabc",
		"nearly there": "*1\r\n$99999\r\n" + strings.Repeat("a", 90_000),
		"like a log":   "*1\r\n$999999\r\n" + strings.Repeat("\r\n"+inFile("SET a 1"), 10_000) + "end",
	} {
		files := logDisk(t, map[string]string{"log/a.aof.manifest": manifestOf("i x"), "log/x": text})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := load(t, placeOn(files), LoadOptions{})
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrTorn, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
}
