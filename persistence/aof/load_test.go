package aof

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/lossy"
)

const twoFiles = "file a.aof.1.base.rdb seq 1 type b\nfile a.aof.1.incr.aof seq 1 type i\n"

// TestLoadsWhatRedisLeaves: Load reads directories in all forms that Redis 7.0 writes.
func TestLoadsWhatRedisLeaves(t *testing.T) {
	set := func(n int) string { return fmt.Sprintf("SET a %d", n) }
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"base and increments": {
			map[string]string{
				"log/a.aof.manifest": "file b.rdb seq 4 type b\nfile x seq 7 type i\nfile y seq 9 type i\n",
				"log/b.rdb":          "REDIS snap.", "log/x": inFile(set(1)), "log/y": inFile("select 2", set(2)),
			}, []string{"REDIS snap", set(1), "select 2", set(2)}},
		"comments, quotes, unknown words, capitals, history": {
			map[string]string{
				"log/a.aof.manifest": "# by hand\nTYPE b SEQ 1 FILE \"my \\x62ase\" startoffset 5\n  file 'old one' seq 1 type h\t\nfile i seq 1 type incr\r\n",
				"log/my base":        inFile(set(1)), "log/i": inFile(set(2)),
			}, []string{set(1), set(2)}},
		"an empty file": {
			map[string]string{"log/a.aof.manifest": twoFiles, "log/a.aof.1.base.rdb": "", "log/a.aof.1.incr.aof": inFile(set(1))},
			[]string{set(1)}},
		"a base with commands behind the snapshot": {
			map[string]string{"log/a.aof.manifest": manifestOf("b b"), "log/b": "REDIS x." + inFile(set(1))},
			[]string{"REDIS x", set(1)}},
		"annotations and transactions": {
			map[string]string{"log/a.aof.manifest": manifestOf("b b", "i c"), "log/b": "REDIS x.",
				"log/c": "#TS:17\r\n" + inFile("multi", set(1)) + "#TS:18\r\n" + inFile(set(2), "Exec") + "# end\n" + inFile("MULTI", "EXEC")},
			[]string{"REDIS x", set(1), set(2)}},
		"no base": {
			map[string]string{"log/a.aof.manifest": "file c seq 3 type i\n", "log/c": inFile(set(1))}, []string{set(1)}},
		"a single file, no directory of a log": {
			map[string]string{"a.aof": inFile(set(1))}, []string{set(1)}},
		"a single file with a snapshot": {
			map[string]string{"a.aof": "REDIS old." + inFile(set(1))}, []string{"REDIS old", set(1)}},
		"a single file that is about to be moved": {
			map[string]string{"a.aof": inFile(set(1)), "log/a.aof.manifest": manifestOf("b a.aof")}, []string{set(1)}},
		"a single file beside a newer log": {
			map[string]string{"a.aof": inFile(set(1)), "log/a.aof.manifest": manifestOf("b new"), "log/new": inFile(set(2))},
			[]string{set(2)}},
		"a single file that was moved already": {
			map[string]string{"a.aof": inFile(set(1)), "log/a.aof.manifest": manifestOf("b a.aof"), "log/a.aof": inFile(set(2))},
			[]string{set(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			files := logDisk(t, c.files)
			w := newWatch()
			l, in, got := open(t, placeOn(files), w.options(Always))
			require.Equal(t, c.want, in.got)
			require.True(t, got.Exists)
			// The loaded log continues, and the next start has all data.
			l.Append(unit("SET more 1"))
			require.NoError(t, l.Close())
			require.Empty(t, w.warned)
			in, _, err := load(t, placeOn(files.Crash(lossy.LoseAll, nil)), LoadOptions{})
			require.NoError(t, err)
			require.Equal(t, append(c.want, "SELECT 0", "SET more 1"), in.got)
			require.NotContains(t, content(t, files, "log/a.aof.manifest"), "type h")
		})
	}
}

// TestTornEndIsCut: D90 concerns the zeros.
func TestTornEndIsCut(t *testing.T) {
	whole := inFile("SET a 1", "SET a 2")
	long := "SET long " + strings.Repeat("x", 300_000)
	for name, tail := range map[string]string{
		"command":             inFile("SET a 3")[:20],
		"first byte":          "*",
		"count":               "*12",
		"half of CR LF":       "*3\r",
		"value":               inFile(long)[:200_000],
		"last byte":           inFile("SET a 3")[:len(inFile("SET a 3"))-1],
		"transaction":         inFile("MULTI", "SET a 3"),
		"in a transaction":    inFile("MULTI", "SET a 3", "SET a 4", "EXEC")[:60],
		"transaction's end":   inFile("MULTI", "SET a 3", "EXEC")[:len(inFile("MULTI", "SET a 3", "EXEC"))-1],
		"annotation":          "#TS:123",
		"zeros":               strings.Repeat("\x00", 5000),
		"zeros in a command":  inFile("SET a 3")[:10] + strings.Repeat("\x00", 600_000),
		"zeros in a value":    inFile(long)[:200_000] + strings.Repeat("\x00", 150_000),
		"zeros in annotation": "#TS" + strings.Repeat("\x00", 50),
		"zeros behind MULTI":  inFile("MULTI", "SET a 3") + "\x00\x00",
		"a value like a log":  "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$500\r\nno\r\n*1\r\nlog",
		"a command in it":     "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$500\r\nsee\r\n" + inFile("SET a 1") + "as an example",
	} {
		t.Run(name, func(t *testing.T) {
			disk := map[string]string{"log/a.aof.manifest": twoFiles, "log/a.aof.1.base.rdb": "REDIS x.", "log/a.aof.1.incr.aof": whole + tail}
			files := logDisk(t, disk)
			_, _, err := load(t, placeOn(files), LoadOptions{})
			require.ErrorIs(t, err, ErrTorn)
			var at *Error
			require.ErrorAs(t, err, &at)
			require.EqualValues(t, len(whole), at.Offset)
			require.Equal(t, "log/a.aof.1.incr.aof", at.File)

			in, got, err := load(t, placeOn(files), LoadOptions{CutTorn: true})
			require.NoError(t, err)
			require.Equal(t, []string{"REDIS x", "SET a 1", "SET a 2"}, in.got)
			require.NotNil(t, got.Cut)
			require.EqualValues(t, len(tail), got.Cut.Bytes)
			require.EqualValues(t, len(whole), got.Cut.Offset)
			left := files.Crash(lossy.LoseAll, nil)
			require.Equal(t, whole, content(t, left, "log/a.aof.1.incr.aof"), "the cut is durable")

			// Empty files do not count, because a rewrite may have begun.
			disk["log/a.aof.manifest"] += "file next seq 2 type i\n"
			disk["log/next"] = ""
			_, got, err = load(t, placeOn(logDisk(t, disk)), LoadOptions{CutTorn: true})
			require.NoError(t, err)
			require.NotNil(t, got.Cut)
			// In any file but the last a torn end is damage.
			disk["log/next"] = inFile("SET a 5")
			_, _, err = load(t, placeOn(logDisk(t, disk)), LoadOptions{CutTorn: true})
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorAs(t, err, &at)
			require.EqualValues(t, len(whole), at.Offset)
		})
	}
}

// TestDamageIsRefused: D91 concerns the last cases.
func TestDamageIsRefused(t *testing.T) {
	good := inFile("SET a 1")
	for name, c := range map[string]struct {
		bad    string
		offset int // offset in bad where the fault begins
		reason string
	}{
		"garbage":              {"garbage\r\n", 0, "begins with *"},
		"count":                {"*x\r\n", 1, "digits"},
		"negative count":       {"*-1\r\n", 1, "digits"},
		"no arguments":         {"*0\r\n", 1, "name"},
		"leading zero":         {"*01\r\n$1\r\na\r\n", 2, "digits"},
		"a huge count":         {"*1000000000000000000\r\n", 19, "digits"},
		"no dollar":            {"*1\r\n:1\r\n", 4, "begins with $"},
		"a line end":           {"*1\r\n$1\r\naxx", 9, "CR LF"},
		"a bare line feed":     {"*1\n$1\na\n", 2, "CR LF"},
		"a length too short":   {"*1\r\n$3\r\nPING\r\n", 11, "CR LF"},
		"zeros in the middle":  {"\x00\x00\x00", 0, "begins with *"},
		"EXEC alone":           {inFile("EXEC"), 0, "EXEC"},
		"MULTI twice":          {inFile("MULTI", "MULTI"), len(inFile("MULTI")), "MULTI"},
		"EXEC with words":      {inFile("MULTI", "EXEC now"), len(inFile("MULTI")), "EXEC"},
		"a long annotation":    {"#" + strings.Repeat("x", 2*maxAnnotation) + "\r\n", maxAnnotation, "annotation"},
		"a length far too big": {"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$9999999\r\nxyz\r\n", 0, "runs over others"},
	} {
		t.Run(name, func(t *testing.T) {
			files := logDisk(t, map[string]string{"log/a.aof.manifest": twoFiles, "log/a.aof.1.base.rdb": "REDIS x.",
				"log/a.aof.1.incr.aof": good + c.bad + strings.Repeat(good, 3)})
			_, _, err := load(t, placeOn(files), LoadOptions{CutTorn: true})
			require.ErrorIs(t, err, ErrCorrupt)
			var at *Error
			require.ErrorAs(t, err, &at)
			require.Equal(t, "log/a.aof.1.incr.aof", at.File)
			require.EqualValues(t, len(good)+c.offset, at.Offset, err)
			require.ErrorContains(t, err, c.reason)
			require.Equal(t, good+c.bad+strings.Repeat(good, 3), content(t, files, "log/a.aof.1.incr.aof"), "nothing was cut")
		})
	}
}

func TestOtherRefusals(t *testing.T) {
	_, _, err := load(t, placeOn(logDisk(t, map[string]string{"log/a.aof.manifest": twoFiles, "log/a.aof.1.base.rdb": ""})), LoadOptions{})
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "log/a.aof.1.incr.aof")

	_, _, err = load(t, placeOn(logDisk(t, map[string]string{"log/a.aof.manifest": manifestOf("b b"), "log/b": "REDIS without end"})), LoadOptions{CutTorn: true})
	require.EqualError(t, err, "log/b: offset 5: a snapshot without end")

	d, err := OpenDir(placeOn(logDisk(t, map[string]string{"a.aof": inFile("SET a 1", "BAD x", "SET a 2")})))
	require.NoError(t, err)
	_, err = d.Load(&lines{fail: "BAD x"}, LoadOptions{})
	require.ErrorIs(t, err, errRefused)
	require.EqualError(t, err, fmt.Sprintf("log/a.aof: offset %d: refused", len(inFile("SET a 1"))))
}

func TestProgress(t *testing.T) {
	text := strings.Repeat(inFile("SET a 1"), 20_000)
	files := logDisk(t, map[string]string{"log/a.aof.manifest": twoFiles, "log/a.aof.1.base.rdb": "REDIS" + strings.Repeat("x", 200_000) + ".", "log/a.aof.1.incr.aof": text})
	var all []Progress
	_, got, err := load(t, placeOn(files), LoadOptions{Progress: func(p Progress) error {
		all = append(all, p)
		return nil
	}})
	require.NoError(t, err)
	require.Greater(t, len(all), 8)
	require.True(t, all[0].InSnapshot)
	last := all[len(all)-1]
	require.False(t, last.InSnapshot)
	require.Equal(t, "log/a.aof.1.incr.aof", last.File)
	require.Equal(t, got.Bytes, last.TotalBytes)
	require.LessOrEqual(t, last.Bytes, last.TotalBytes)
	require.Greater(t, last.Commands, int64(10_000))
	for i := range all[1:] {
		require.Greater(t, all[i+1].Bytes, all[i].Bytes)
	}
	stop := fmt.Errorf("stop")
	_, _, err = load(t, placeOn(files), LoadOptions{Progress: func(Progress) error { return stop }})
	require.ErrorIs(t, err, stop)
}

// TestUpgradeSurvivesACrash at each of its operations.
func TestUpgradeSurvivesACrash(t *testing.T) {
	files := logDisk(t, nil)
	write(t, files, "a.aof", inFile("SET a 1"))
	require.NoError(t, files.SyncDir("."))
	before := files.Ops()
	_, _, err := load(t, placeOn(files), LoadOptions{})
	require.NoError(t, err)
	tape := files.Tape()
	for tape.Next() {
		if tape.At() < before {
			continue
		}
		for _, loss := range []lossy.Loss{lossy.LoseNothing, lossy.LoseAll} {
			in, _, err := load(t, placeOn(tape.Crash(loss, nil)), LoadOptions{})
			require.NoError(t, err, "after %v", tape.Last())
			require.Equal(t, []string{"SET a 1"}, in.got, "after %v", tape.Last())
		}
	}
}
