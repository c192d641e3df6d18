package persistence

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// snapshotsOfRedis returns files that Redis 7.0 wrote.
func snapshotsOfRedis(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("rdb", "testdata", "redis-7.0", "*.rdb"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := map[string][]byte{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = b
	}
	return files
}

// offsetIn finds the offset in an error of Load.
var offsetIn = regexp.MustCompile(`rdb: offset (\d+): `)

// requireRefused checks the result for a damaged snapshot: no error, or an error with a valid offset.
func requireRefused(t testing.TB, err error, size int) {
	t.Helper()
	if err == nil {
		return
	}
	found := offsetIn.FindStringSubmatch(err.Error())
	require.NotNil(t, found, "an error without an offset: %v", err)
	at, convErr := strconv.Atoi(found[1])
	require.NoError(t, convErr)
	require.LessOrEqual(t, at, size, "%v", err)
}

// FuzzLoad: no file makes a load panic or allocate memory without need, and each error has an offset. The
// limit is the size of the decoder's buffers, plus the possible expansion of a compressed file.
func FuzzLoad(f *testing.F) {
	for _, b := range snapshotsOfRedis(f) {
		f.Add(b)
	}
	st := payloadStore()
	everyValue(st.DB(0))
	var own bytes.Buffer
	_, err := Save(&own, st.Cut(), SaveOptions{Version: "7.0.15", Compress: true})
	require.NoError(f, err)
	f.Add(own.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load(bytes.NewReader(data), payloadStore(), LoadOptions{NoChecksum: true})
		runtime.ReadMemStats(&after)
		requireRefused(t, err, len(data))
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20+1000*len(data)))
	})
}

// TestLoadOfDamage changes each byte of each file. Damage that passes the checksum is refused with an offset,
// or loads.
func TestLoadOfDamage(t *testing.T) {
	for name, data := range snapshotsOfRedis(t) {
		step := 1 + len(data)/2000
		for i := 0; i < len(data); i += step {
			data[i] ^= 1 << (i % 8)
			_, err := Load(bytes.NewReader(data), payloadStore(), LoadOptions{NoChecksum: true})
			data[i] ^= 1 << (i % 8)
			requireRefused(t, err, len(data))
		}
		_, err := Load(bytes.NewReader(data), payloadStore(), LoadOptions{})
		requireRefused(t, err, len(data))
		for n := 0; n < len(data); n += step {
			_, err := Load(bytes.NewReader(data[:n]), payloadStore(), LoadOptions{})
			require.Error(t, err, "%s cut to %d bytes", name, n)
			requireRefused(t, err, n)
		}
	}
}
