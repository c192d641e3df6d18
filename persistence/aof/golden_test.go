package aof

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/tests/lossy"
)

// goldens are directories that Redis 7.0.15 wrote: after a rewrite, without a rewrite, and with a base that
// is not a snapshot.
var goldens = []string{"rewritten", "incremental", "commands"}

// golden reads the files of a golden directory.
func golden(t testing.TB, name string) map[string]string {
	t.Helper()
	dir := filepath.Join("testdata", "redis-7.0", name)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files["log/"+e.Name()] = string(b)
	}
	require.NotEmpty(t, files)
	return files
}

// keyLines is lines with real snapshots: each key becomes a line.
type keyLines struct{ lines }

// Snapshot implements Input.
func (k *keyLines) Snapshot(r io.Reader) (int64, error) {
	in := rdb.NewReader(r, rdb.ReaderOptions{})
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return in.Offset(), nil
		}
		if err != nil {
			return 0, err
		}
		k.got = append(k.got, fmt.Sprintf("(%d %s %s)", e.DB, e.Kind, e.Key))
	}
}

func realPlace(files *lossy.Disk) Location {
	return Location{FS: files, Dir: ".", Sub: "log", Filename: "appendonly.aof"}
}

func loadReal(t testing.TB, files map[string]string, o LoadOptions) ([]string, Loaded, error) {
	t.Helper()
	d, err := OpenDir(realPlace(logDisk(t, files)))
	require.NoError(t, err)
	in := &keyLines{}
	got, err := d.Load(in, o)
	return in.got, got, err
}

// TestGolden: the files of Redis load completely, and no end is torn.
func TestGolden(t *testing.T) {
	for name, want := range map[string]string{
		"rewritten": "(0 string later)|SELECT 0|SET b 2|LPOP l 2|SET c 3|SELECT 2|SET d 4|SWAPDB 2 4",
		"incremental": "SELECT 0|SET a 1|SET gone x PXAT 1|SET later x PXAT 4102444800000|INCR n|RPUSH l a b c|SADD s 1 2 3 x|ZADD z 1.5 m 2 n|" +
			"HSET h f v g w|XADD st 1-1 f v|XGROUP CREATE st g 0|XCLAIM st g c 0 1-1 TIME 1|SET lua1 a|INCR lua2|FUNCTION LOAD|SET byfunction x|SELECT 3|" +
			"SET in3 y PXAT 4102444800000|RENAME in3 other3",
		"commands": "FUNCTION LOAD|SELECT 0|SET later x|PEXPIREAT later 4102444800000|SELECT 3|SELECT 0|SET b 2",
	} {
		t.Run(name, func(t *testing.T) {
			got, loaded, err := loadReal(t, golden(t, name), LoadOptions{})
			require.NoError(t, err)
			require.Nil(t, loaded.Cut)
			all := strings.Join(got, "|") + "|"
			for _, w := range strings.Split(want, "|") {
				at := strings.Index(all, w)
				require.GreaterOrEqual(t, at, 0, "%q in its turn; left is %s", w, all)
				all = all[at+len(w):]
			}
		})
	}
}

// TestGoldenSingleFile: the single file of Redis 6, with a snapshot and commands, is moved into the
// directory.
func TestGoldenSingleFile(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "redis-7.0", "single.aof"))
	require.NoError(t, err)
	got, loaded, err := loadReal(t, map[string]string{"appendonly.aof": string(b)}, LoadOptions{})
	require.NoError(t, err)
	require.True(t, loaded.Upgraded)
	same, _, err := loadReal(t, golden(t, "rewritten"), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, same, got)
}

// TestGoldenTornAnywhere: a log that is cut at any byte loads, with the data before the cut.
func TestGoldenTornAnywhere(t *testing.T) {
	for _, name := range goldens {
		files := golden(t, name)
		last := ""
		for path := range files {
			if strings.HasSuffix(path, ".incr.aof") {
				last = path
			}
		}
		all, _, err := loadReal(t, files, LoadOptions{})
		require.NoError(t, err)
		text := files[last]
		units := 0
		for n := range len(text) {
			files[last] = text[:n]
			got, loaded, err := loadReal(t, files, LoadOptions{CutTorn: true})
			require.NoError(t, err, "%s cut to %d bytes", last, n)
			require.Equal(t, strings.Join(all[:len(got)], "|"), strings.Join(got, "|"))
			if loaded.Cut == nil {
				units++
			} else {
				require.Equal(t, wholeUnits([]byte(text[:n])), int(loaded.Cut.Offset))
			}
		}
		require.Greater(t, units, 1)
	}
}

// TestGoldenFlippedAnywhere: a changed byte gives an error with its file and a valid offset, or another
// command. It never makes a load panic.
func TestGoldenFlippedAnywhere(t *testing.T) {
	for _, name := range goldens {
		files := golden(t, name)
		for path, text := range files {
			for i := range len(text) {
				changed := []byte(text)
				changed[i] ^= 1 << (i % 8)
				files[path] = string(changed)
				_, _, err := loadReal(t, files, LoadOptions{CutTorn: true})
				requireLocated(t, err, path, len(text))
			}
			files[path] = text
		}
	}
}

// requireLocated checks that an error names a file and a valid offset.
func requireLocated(t testing.TB, err error, path string, size int) {
	t.Helper()
	if err == nil {
		return
	}
	var at *Error
	var inSnapshot *rdb.Error
	switch {
	case errors.As(err, &at):
		require.GreaterOrEqual(t, at.Offset, int64(0))
		require.LessOrEqual(t, at.Offset, int64(size))
		if errors.Is(err, ErrMissing) {
			return // the error names the file that the manifest now lists
		}
		require.Equal(t, path, at.File)
	case errors.As(err, &inSnapshot):
		require.ErrorContains(t, err, path+": rdb: offset ")
		require.LessOrEqual(t, inSnapshot.Offset, int64(size))
	default:
		require.Fail(t, "without file and offset", "%v", err)
	}
}
