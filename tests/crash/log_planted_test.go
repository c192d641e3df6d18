package crash

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/plant"
)

const (
	logDirFile     = "persistence/aof/dir.go"
	logLoadFile    = "persistence/aof/load.go"
	logRewriteFile = "persistence/aof/rewrite.go"
	logStartFile   = "persistence/aof/start.go"
	logUnitFile    = "persistence/aof/unit.go"
	logWriterFile  = "persistence/aof/writer.go"
)

// logFaults are mistakes in the log, each of which loses what was acknowledged, or
// makes up what was not done.
var logFaults = []plant.Fault{
	plant.New("the log is not synced", plant.Instead(logWriterFile,
		`if err := l.file.Sync(); err != nil {`,
		`if planted("the log is not synced") {
	} else if err := l.file.Sync(); err != nil {`)),
	plant.New("a failed sync is forgotten", plant.Instead(logWriterFile,
		`		if l.latch(err) {
			failed = err
		}
		return false, failed`,
		`		if !planted("a failed sync is forgotten") {
			if l.latch(err) {
				failed = err
			}
			return false, failed
		}`)),
	plant.New("a failed write is tried again", plant.Instead(logWriterFile,
		`	n, err := l.file.Write(b)
`,
		`	n, err := l.file.Write(b)
	if err != nil && planted("a failed write is tried again") {
		_, err = l.file.Write(b)
	}
`)),
	plant.New("replies leave before the sync", plant.Instead(logWriterFile,
		`	if l.Policy() == Always {
		durable = l.fsynced`,
		`	if l.Policy() == Always && !planted("replies leave before the sync") {
		durable = l.fsynced`),
		plant.Instead(logWriterFile,
			`	l.sizes.current += int64(len(b))
	l.mu.Unlock()
`,
			`	l.sizes.current += int64(len(b))
	l.mu.Unlock()
	if planted("replies leave before the sync") {
		l.report()
	}
`)),
	plant.New("the last effect of a unit is forgotten", plant.Instead(logUnitFile,
		`	for i := range effects {
		dst = e.effect(dst, &effects[i])`,
		`	for i := range effects {
		if i == 3 && planted("the last effect of a unit is forgotten") {
			continue
		}
		dst = e.effect(dst, &effects[i])`)),
	plant.New("a unit is no transaction", plant.Instead(logUnitFile,
		`	if len(effects) > 1 {
		dst = append(dst, "*1\r\n$5\r\nMULTI\r\n"...)`,
		`	if planted("a unit is no transaction") {
		for i := range effects {
			dst = e.effect(dst, &effects[i])
		}
		return dst
	}
	if len(effects) > 1 {
		dst = append(dst, "*1\r\n$5\r\nMULTI\r\n"...)`)),
	plant.New("a torn transaction is executed", plant.Instead(logLoadFile,
		`	case l.unit.open:
		l.unit.add(args)
		return nil`,
		`	case l.unit.open && planted("a torn transaction is executed"):
		l.unit.begin = r.offset()
		return l.execute(args)
	case l.unit.open:
		l.unit.add(args)
		return nil`)),
	plant.New("a torn end is left", plant.Instead(logLoadFile,
		`	err = f.Truncate(tear.offset)
`,
		`	if !planted("a torn end is left") {
		err = f.Truncate(tear.offset)
	}
`)),
	plant.New("a new file does not select its database", plant.Instead(logRewriteFile,
		`	l.enc.db = -1
`,
		`	if !planted("a new file does not select its database") {
		l.enc.db = -1
	}
`)),
	plant.New("the directory is not synced for a new file", plant.Instead(logStartFile,
		`	if err := d.place.FS.SyncDir(d.dir()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// writeBase`,
		`	if planted("the directory is not synced for a new file") {
		return f, nil
	}
	if err := d.place.FS.SyncDir(d.dir()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// writeBase`)),
	plant.New("a left file is used again", plant.Instead(logStartFile,
		`	if err := d.place.FS.Remove(d.path(e.Name)); err != nil && !isMissing(err) {`,
		`	if planted("a left file is used again") {
	} else if err := d.place.FS.Remove(d.path(e.Name)); err != nil && !isMissing(err) {`)),
	plant.New("the directory is not synced for the manifest", plant.Instead(logDirFile,
		`	return true, files.SyncDir(d.dir())
}

// writeSynced`,
		`	if planted("the directory is not synced for the manifest") {
		return true, nil
	}
	return true, files.SyncDir(d.dir())
}

// writeSynced`)),
	plant.New("the manifest is replaced before it is synced", plant.Instead(logDirFile,
		`	if err == nil {
		err = f.Sync()
	}
	if closeErr`,
		`	if err == nil && !(planted("the manifest is replaced before it is synced") && strings.HasSuffix(path, "manifest")) {
		err = f.Sync()
	}
	if closeErr`)),
	plant.New("the base gets its name before it is synced", plant.Instead(logStartFile,
		`	return writeSynced(d.place.FS, d.temporaryBase(), func(f disk.File) error {
`,
		`	if planted("the base gets its name before it is synced") {
		f, err := d.place.FS.Create(d.temporaryBase())
		if err == nil {
			err = base(f)
		}
		return err
	}
	return writeSynced(d.place.FS, d.temporaryBase(), func(f disk.File) error {
`)),
	plant.New("the base is listed before its name is synced", plant.Instead(logRewriteFile,
		`	err := d.place.FS.SyncDir(d.dir())
	seen := false`,
		`	var err error
	if !planted("the base is listed before its name is synced") {
		err = d.place.FS.SyncDir(d.dir())
	}
	seen := false`)),
	plant.New("the old files go before the manifest", plant.Before(logRewriteFile,
		`	// The name first: two renames may become durable in any order.
`,
		`	if planted("the old files go before the manifest") && d.manifest.Base != nil {
		_ = d.place.FS.Remove(d.path(d.manifest.Base.Name))
	}
`)),
	plant.New("a file is listed before the one before is synced", plant.Instead(logRewriteFile,
		`		if l.file == nil || !l.syncFile() {
			return false
		}`,
		`		if l.file == nil || !planted("a file is listed before the one before is synced") && !l.syncFile() {
			return false
		}`)),
	plant.New("what comes after the cut goes into the old file", plant.Instead(logWriterFile,
		`		ok = l.put(rest[:w.at], w.end-int64(len(rest)-w.at))
`,
		`		if planted("what comes after the cut goes into the old file") {
			w.at = len(rest)
		}
		ok = l.put(rest[:w.at], w.end-int64(len(rest)-w.at))
`)),
	plant.New("what comes before the cut goes into the new file", plant.Instead(logWriterFile,
		`		rest = rest[w.at:]
		close(w.rewrite.begun)`,
		`		if !planted("what comes before the cut goes into the new file") {
			rest = rest[w.at:]
		}
		close(w.rewrite.begun)`)),
	plant.New("a failed log is listed before it is whole again", plant.Instead(logRewriteFile,
		`asRDB: asRDB, listed: l.active}`,
		`asRDB: asRDB, listed: l.active || planted("a failed log is listed before it is whole again")}`),
		plant.Instead(logRewriteFile, `		if l.file == nil || `,
			`		if l.file == nil && planted("a failed log is listed before it is whole again") {
		} else if l.file == nil || `)),
	plant.New("a failed write is passed over", plant.Instead(logWriterFile,
		`	if err != nil {
		l.trim(b[:n])`,
		`	if err != nil && !planted("a failed write is passed over") {
		l.trim(b[:n])`)),
	plant.New("a new directory is not synced", plant.Instead(logDirFile,
		`	if err := p.FS.SyncDir(p.Dir); err != nil {`,
		`	if planted("a new directory is not synced") {
	} else if err := p.FS.SyncDir(p.Dir); err != nil {`)),
}

// TestPlantedLogFaultsAreFound shows that a log that loses something is found out: each of logFaults that is
// drawn, in the real sources, by the very tests above.
func TestPlantedLogFaultsAreFound(t *testing.T) {
	if !plant.Wanted(t, "../..", logFaults) {
		return
	}
	program := plant.Build(t, "../..", logFaults)
	hunt := func(fault string, args ...string) (string, error) {
		args = append(args, "-test.run", "^TestLog", "-test.failfast", "-test.timeout", "200s", "-log-rounds", "3")
		out, err := plant.Command(program, fault, args...).CombinedOutput()
		return string(out), err
	}
	t.Run(plant.None, func(t *testing.T) {
		t.Parallel()
		out, err := hunt(plant.None)
		require.NoError(t, err, "the patches alone break something:\n%s", out)
	})
	for _, f := range logFaults {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			out, err := hunt(f.Name, "-shrink-time", "0")
			require.Error(t, err, "not found")
			require.Contains(t, out, "--- FAIL: TestLog", "it ended in another way")
			require.NotContains(t, out, "panic:", "it ended in another way")
		})
	}
	t.Run("shrunk", func(t *testing.T) {
		t.Parallel()
		var out string
		left := math.MaxInt
		for range shrinkHunts {
			var err error
			out, err = hunt("a new file does not select its database")
			require.Error(t, err)
			if said := regexp.MustCompile(`(\d+) of \d+ steps`).FindStringSubmatch(out); said != nil {
				left, err = strconv.Atoi(said[1])
				require.NoError(t, err)
			}
			if left <= mostShown {
				break
			}
		}
		require.LessOrEqual(t, left, mostShown, "%s", out)
		t.Log(out)
	})
}

// shrinkHunts is how often the fault is looked for, until it is found in a workload that fails as reliably
// as shrinking needs: it may have taken goroutines in an order that does not come back.
const shrinkHunts = 5

// mostShown is how many actions of a workload of a hundred a report may have.
const mostShown = 10
