package durability

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server/gate"
	"lockserver/store"
)

// logs is a directory with a log that is synced before anything leaves.
func logs(c *config.Config) { c.AppendOnly, c.AppendFsync, c.DBFilename = true, "always", "" }

// plain is a directory with snapshots that are as long as their data.
func plain(c *config.Config) { c.RDBCompression = false }

// eventually waits until something is so.
func eventually(t *testing.T, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, 30*time.Second, time.Millisecond, what)
}

// A client that wrote waits for its place in the log. So does a client that got output because of it, and a
// later client that sees the write. When the log has got there, no client waits.
func TestMarks(t *testing.T) {
	h := startHost(t, t.TempDir(), logs)
	var writer, touched, reader, early gate.Mark
	var wrote, got, saw int64
	release := h.hold()
	h.Do(func() {
		log := h.storage.Log()
		require.Zero(t, log.Due(&early))
		require.False(t, log.Filled())
		h.store.DB(0).EditString([]byte("k")).Set([]byte("v"), store.NoTTL)
		h.HandOn()
		log.Credit(&writer)
		wrote = log.Due(&writer)
		require.True(t, log.Filled())
		log.Floor(&touched)
		require.Equal(t, wrote, touched.Floor)
		log.EndSlice()
		require.False(t, log.Filled())
		got, saw = log.Due(&touched), log.Due(&reader)
		require.Zero(t, early.Written)
		require.Equal(t, wrote, writer.Written)
		log.Wake()
	})
	release()
	require.Positive(t, wrote)
	require.Equal(t, []int64{wrote, wrote}, []int64{got, saw})
	eventually(t, func() bool { return h.gate.Safe() >= wrote }, "it is synced")
	h.Do(func() {
		require.True(t, h.storage.Log().Synced(wrote))
		require.Zero(t, h.storage.Log().Due(&touched))
	})
}

// Under the other policies no output is kept, but the system must have the log.
func TestMarksWithoutSyncs(t *testing.T) {
	h := startHost(t, t.TempDir(), func(c *config.Config) {
		logs(c)
		c.AppendFsync = "no"
	})
	var m gate.Mark
	release := h.hold()
	h.Do(func() {
		h.store.DB(0).EditString([]byte("k")).Set([]byte("v"), store.NoTTL)
		h.HandOn()
		require.Zero(t, h.storage.Log().Due(&m))
		require.Positive(t, m.Needs)
		h.storage.Log().EndSlice()
	})
	require.Less(t, h.gate.Safe(), m.Needs)
	release()
	require.True(t, h.gate.Written(m.Needs))
	require.GreaterOrEqual(t, h.gate.Safe(), m.Needs)
}

// When the disk fails writes are refused, and what was not written is lost; a rewrite makes the log whole.
func TestFullDisk(t *testing.T) {
	h := startHost(t, t.TempDir(), logs)
	h.fill(true)
	var writer gate.Mark
	h.set(&writer, "k", "v")
	h.Do(func() {
		require.NoError(t, h.storage.Broken(), "the failure is not known yet")
		h.storage.Log().EndSlice()
		h.storage.Log().Wake()
	})
	eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.storage.Broken() != nil
	}, "the log breaks")
	require.ErrorContains(t, h.storage.RefusesWrites(), "MISCONF Errors writing to the AOF file: ")
	require.True(t, h.gate.Lost(writer.Written))

	h.fill(false)
	h.Do(func() { require.NoError(t, h.storage.StartRewrite()) })
	h.background.Wait()
	require.NoError(t, h.storage.RefusesWrites())
	h.Do(func() { // who has written nothing since has lost nothing
		l := h.storage.Log()
		require.False(t, h.gate.Lost(l.offset.Load()+l.log.Appended()))
	})
	h.set(&writer, "k", "x")
	h.Do(func() { require.False(t, h.gate.Lost(h.storage.Log().Due(&writer))) })
	h.close()
	require.Equal(t, "x", startHost(t, h.config.Dir, logs).get("k"))
}

// The data is there at the next start, from a snapshot, from a log, and from a log that was rewritten in
// either form.
func TestOverRestarts(t *testing.T) {
	for name, change := range map[string]func(c *config.Config){
		"snapshot": nil, "log": logs, "commands": func(c *config.Config) {
			logs(c)
			c.AOFUseRDBPreamble = false
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var m gate.Mark
			for round := range 3 {
				h := startHost(t, dir, change)
				for before := range round {
					require.Equal(t, "v", h.get(strconv.Itoa(before)))
				}
				h.set(&m, strconv.Itoa(round), "v")
				h.Do(func() {
					if h.storage.Log() == nil {
						h.storage.StartSave()
						require.True(t, h.storage.Saving())
					} else if round == 1 {
						require.NoError(t, h.storage.StartRewrite())
						require.True(t, h.storage.Rewriting())
					}
				})
				h.background.Wait()
				i := h.info()
				require.NoError(t, i.Saves.LastErr)
				require.NoError(t, i.Rewrites.LastErr)
				require.Equal(t, name == "snapshot", i.Saves.Count == 1)
				require.Equal(t, name != "snapshot" && round == 1, i.Rewrites.Count == 1)
				h.close()
			}
		})
	}
}

// A log is switched on over data that is there, and off again; its positions only rise.
func TestReconfigure(t *testing.T) {
	dir := t.TempDir()
	h := startHost(t, dir, func(c *config.Config) { c.DBFilename = "" })
	var m gate.Mark
	h.set(&m, "before", "v")
	become := func(on bool) {
		next := h.config.Clone()
		next.AppendOnly = on
		h.Do(func() { require.NoError(t, h.storage.Reconfigure(next, []string{"appendonly"})) })
		require.Same(t, next, h.storage.config)
		h.background.Wait()
	}
	last := int64(0)
	for range 3 {
		become(true)
		h.set(&m, "since", "v")
		require.Greater(t, m.Written, last)
		last = m.Written
		become(false)
		require.Nil(t, h.storage.Log())
		require.False(t, h.storage.Records())
		require.GreaterOrEqual(t, h.gate.Safe(), last)
	}
	require.Equal(t, 3, h.closed)
	h.close()
	again := startHost(t, dir, logs)
	require.Equal(t, "v", again.get("before"))
	require.Equal(t, "v", again.get("since"))
}

// A directory that another has is refused, at the start and later, and nothing has changed.
func TestClaims(t *testing.T) {
	taken, own := t.TempDir(), t.TempDir()
	startHost(t, taken, logs)
	want := "another server writes to the directory " + taken
	late := newHost(t, taken, logs)
	require.EqualError(t, late.load(), want)

	h := startHost(t, own, logs)
	next := h.config.Clone()
	next.Dir = taken
	h.Do(func() {
		var refusal *config.SetError
		require.ErrorAs(t, h.storage.Reconfigure(next, []string{"dir"}), &refusal)
		require.Equal(t, config.SetError{Name: "dir", Reason: "A" + want[1:]}, *refusal)
		require.Equal(t, own, h.storage.config.Dir)
	})
	h.close()
	require.NoError(t, startHost(t, own, logs).storage.RefusesWrites())
}

// A background save that fails refuses writes where there are save points, until one succeeds.
func TestRefusedWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	h := startHost(t, dir, func(c *config.Config) { c.Save = []config.SavePoint{{PeriodMS: 1000, Changes: 1}} })
	require.NoError(t, os.RemoveAll(dir))
	save := func() error {
		h.Do(h.storage.StartSave)
		h.background.Wait()
		return h.storage.RefusesWrites()
	}
	require.ErrorContains(t, save(), "MISCONF")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, save())
}

// How far a load is goes by bytes.
func TestHowFarALoadIs(t *testing.T) {
	h := newHost(t, t.TempDir(), nil)
	require.Nil(t, h.info().Load)
	h.storage.BeginLoad(atUS - 2_000_000)
	require.True(t, h.storage.Loading())
	require.Equal(t, Load{StartedUS: atUS - 2_000_000, Percent: 100, LeftS: 1}, *h.info().Load, "it has not looked yet")
	h.storage.loading.done, h.storage.loading.total = 30, 120
	require.Equal(t, Load{StartedUS: atUS - 2_000_000, Done: 30, Total: 120, Percent: 25, LeftS: 6}, *h.info().Load)
}

// A load that the server ends leaves the directory as it was.
func TestEndedLoad(t *testing.T) {
	for name, change := range map[string]func(c *config.Config){"snapshot": plain, "log": logs} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := startHost(t, dir, change)
			h.set(new(gate.Mark), "k", strings.Repeat("v", quietLoadBytes+3*loadSliceBytes))
			if name == "snapshot" {
				h.Do(func() { require.NoError(t, h.storage.Save()) })
			}
			h.close()
			require.NoError(t, os.Remove(filepath.Join(dir, LockFile)))
			ending := newHost(t, dir, change)
			ending.ends = true
			require.ErrorIs(t, ending.load(), errEnds)
			require.NoFileExists(t, filepath.Join(dir, LockFile))
			require.Len(t, startHost(t, dir, change).get("k"), quietLoadBytes+3*loadSliceBytes)
		})
	}
}

// TestShortLoadsKeepTheLock: a start that loads little has the lock to its end, so that no client sees it. A
// long load gives the lock away between its slices.
func TestShortLoadsKeepTheLock(t *testing.T) {
	for name, change := range map[string]func(c *config.Config){"log": logs, "snapshot": plain} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, keys := range []int{0, 1, 10, 60} { // of 100 KB each
				h := startHost(t, dir, change)
				for i := range keys {
					h.set(new(gate.Mark), strconv.Itoa(i), strings.Repeat("x", 100_000))
				}
				if h.storage.Log() == nil {
					h.Do(func() { require.NoError(t, h.storage.Save()) })
				}
				h.close()
				h = startHost(t, dir, change)
				require.Len(t, h.get("0"), 100_000*min(keys, 1))
				if keys <= 10 {
					require.Zero(t, h.rests, keys)
				} else {
					require.Greater(t, h.rests, 10, keys)
				}
				h.close()
			}
		})
	}
}
