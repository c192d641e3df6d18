package aof

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
)

func reportText(t *testing.T, r Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func TestCheckADirectory(t *testing.T) {
	files := golden(t, "rewritten")
	files["log/appendonly.aof.manifest"] += "file old seq 1 type h\n"
	files["dump.rdb"] = files["log/appendonly.aof.2.base.rdb"]
	d := logDisk(t, files)
	got, err := Check(d, ".")
	require.NoError(t, err)
	text := reportText(t, got)
	require.Contains(t, text, "dump.rdb: 381 bytes\n  a snapshot of RDB version 10, written by or for Redis \"7.0.15\": 13 keys in 2 databases, 1 with a deadline: ")
	require.Contains(t, text, "log/appendonly.aof.manifest: the manifest of a log\n")
	require.Contains(t, text, "log/appendonly.aof.2.incr.aof: 230 bytes\n  7 commands in 5 units: 3 SET, 2 SELECT, 1 LPOP, 1 SWAPDB\n")
	require.Contains(t, text, "log/old: replaced, deleted at the next start\n")
	require.Len(t, got.Files, 3)

	// Check also accepts the manifest, and each file by itself.
	same, err := Check(d, "log/appendonly.aof.manifest")
	require.NoError(t, err)
	require.Len(t, same.Files, 2)
	one, err := Check(d, "log/appendonly.aof.2.incr.aof")
	require.NoError(t, err)
	require.Len(t, one.Files, 1)
	require.EqualValues(t, 5, one.Files[0].Units)
}

func TestCheckARealFile(t *testing.T) {
	got, err := Check(disk.OS{}, filepath.Join("testdata", "redis-7.0", "single.aof"))
	require.NoError(t, err)
	require.NotNil(t, got.Files[0].Snapshot)
	require.EqualValues(t, 5, got.Files[0].Units)
	_, err = Check(disk.OS{}, t.TempDir())
	require.ErrorContains(t, err, "no log and no snapshot")
	_, err = Check(disk.OS{}, "nowhere")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	files := golden(t, "rewritten")
	const base, incr = "log/appendonly.aof.2.base.rdb", "log/appendonly.aof.2.incr.aof"
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"a damaged base":   {func(f map[string]string) { f[base] = f[base][:200] + "x" + f[base][201:] }, base + ": rdb: offset "},
		"a short base":     {func(f map[string]string) { f[base] = f[base][:200] }, base + ": rdb: offset "},
		"a damaged middle": {func(f map[string]string) { f[incr] = f[incr][:60] + "?" + f[incr][61:] }, incr + ": offset 60: corrupt: "},
		"a missing file":   {func(f map[string]string) { delete(f, incr) }, incr + ": offset 0: a file that the manifest lists is missing"},
		"a torn file that is not the last": {func(f map[string]string) {
			f[incr] = f[incr][:100]
			f["log/appendonly.aof.manifest"] += "file more seq 3 type i\n"
			f["log/more"] = inFile("SET a 1")
		}, incr + ": offset 94: corrupt: the file ends in the middle of a command: the truncated file is not the last file"},
		"EXEC alone":  {func(f map[string]string) { f[incr] += inFile("EXEC") }, incr + ": offset 230: corrupt: EXEC where it cannot stand"},
		"no snapshot": {func(f map[string]string) { f["log/dump.rdb"] = "nothing" }, "log/dump.rdb: rdb: offset 0: "},
		"a manifest":  {func(f map[string]string) { f["log/appendonly.aof.manifest"] = "file\n" }, "log/appendonly.aof.manifest: offset 0: corrupt: "},
	} {
		t.Run(name, func(t *testing.T) {
			bad := map[string]string{}
			for k, v := range files {
				bad[k] = v
			}
			c.change(bad)
			_, err := Check(logDisk(t, bad), "log")
			require.ErrorContains(t, err, c.want)
		})
	}
	files[incr] = files[incr][:len(files[incr])-3]
	got, err := Check(logDisk(t, files), "log")
	require.NoError(t, err, "a start would cut it off")
	require.Contains(t, reportText(t, got), "torn at offset 200: the file ends in the middle of a command; a start cuts off 27 bytes\n")
}
