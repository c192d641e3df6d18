//go:build oracle

package shards

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/tests/testkit"
)

// resharded is data that a cluster keeps over changes of its number of shards.
type resharded struct {
	keys  int
	token int64 // the highest token of a lock so far
}

// addrOf returns the address of a key's shard.
func addrOf(t *testing.T, any *testkit.Client, key string) string {
	t.Helper()
	slot := int64(keyslot.Of([]byte(key)))
	for _, of := range any.Do("CLUSTER", "SLOTS").Elems {
		if of.Elems[0].Int <= slot && slot <= of.Elems[1].Int {
			return "127.0.0.1:" + strconv.FormatInt(of.Elems[2].Elems[1].Int, 10)
		}
	}
	require.Fail(t, "no shard has the slot", slot)
	return ""
}

// each sends a command for each key to the key's shard, and gives the replies to check.
func (d *resharded) each(t *testing.T, addr string, words func(key string) []string, check func(key, reply string)) {
	t.Helper()
	any := dial(t, addr)
	defer any.Close()
	batches, keys := map[string][][]string{}, map[string][]string{}
	for i := range d.keys {
		key := fmt.Sprint("key:", i)
		at := addrOf(t, any, fmt.Sprint("key:", i))
		batches[at], keys[at] = append(batches[at], words(key)), append(keys[at], key)
	}
	for at, batch := range batches {
		c := dial(t, at)
		for i, v := range c.Pipeline(batch) {
			check(keys[at][i], v.String())
		}
		c.Close()
	}
}

// checked starts the cluster with a number of shards, and looks at all data. A cluster that does not start
// has changed, or was left in the middle of a change, which it says.
func (d *resharded) checked(t *testing.T, dir string, shards int, args []string) (started bool) {
	t.Helper()
	p := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t), Dir: dir, Args: append([]string{"--port", "0", "--shards", strconv.Itoa(shards)}, args...)})
	if err := p.Start(); err != nil {
		require.Regexp(t, "that was not finished: run 'lockserver reshard|has the data of \\d shards", err.Error())
		return false
	}
	d.each(t, p.Address(), func(key string) []string { return []string{"GET", key} }, func(key, reply string) {
		require.Equal(t, `"value of `+key+`"`, reply)
	})
	any := dial(t, p.Address())
	lock := dial(t, addrOf(t, any, "lock"))
	require.Equal(t, "1", lock.Do("UNLOCK", "lock", "me").String(), "the lock was held")
	token := lock.Do("LOCK", "lock", "me", "PX", "100000000").Int
	require.Greater(t, token, d.token)
	d.token = token
	any.Close()
	lock.Close()
	_, err := p.Terminate()
	require.NoError(t, err)
	return true
}

// killWhenReady kills a process a moment after its new data is complete, unless it ends before.
func killWhenReady(p *testkit.Process, dir string, after time.Duration, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		default:
		}
		if _, err := os.Stat(filepath.Join(dir, "reshard.ready")); err == nil {
			for begun := time.Now(); time.Since(begun) < after; {
			}
			_ = p.Signal(os.Kill)
			return
		}
	}
}

// A process of lockserver reshard is killed at random places, and run again until it ends. The data is whole
// then, and tokens rise. While it was being changed a start says what to do, or has the old data.
func TestReshardIsKilled(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	dir := t.TempDir()
	args := []string{"--dir", dir, "--appendonly", "yes", "--save", ""}
	d := &resharded{keys: testkit.Steps(2_000, 20_000)}
	p := testkit.StartLockserver(t, dir, append([]string{"--shards", "3"}, args...)...)
	d.each(t, p.Address(), func(key string) []string { return []string{"SET", key, "value of " + key} }, func(_, reply string) { require.Equal(t, "+OK", reply) })
	any := dial(t, p.Address())
	d.token = dial(t, addrOf(t, any, "lock")).Do("LOCK", "lock", "me", "PX", "100000000").Int
	require.Positive(t, d.token)
	_, err := p.Terminate()
	require.NoError(t, err)

	took, shards := 2*time.Second, 3
	for killed := 0; killed < testkit.Steps(6, 200); {
		to := 2 + random.IntN(7)
		if to == shards {
			continue
		}
		for whole := false; !whole; {
			p := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t), Dir: dir, Args: append([]string{"reshard", "--shards", strconv.Itoa(to)}, args...)})
			begun := time.Now()
			require.NoError(t, p.Launch())
			ended, at := make(chan struct{}), time.Duration(random.Int64N(int64(took)))
			if random.IntN(2) == 0 { // while the directories are exchanged, which takes a moment
				go killWhenReady(p, dir, at/1000, ended)
			} else {
				kill := time.AfterFunc(at, func() { _ = p.Signal(os.Kill) })
				defer kill.Stop()
			}
			code, err := p.Wait()
			require.NoError(t, err)
			close(ended)
			if whole = code == 0; whole {
				took = max(time.Since(begun), time.Millisecond) // so that most of the next kills are in the middle of the work
			} else {
				require.Equal(t, -1, code, "it was killed, and did not fail: %s", p.Log())
				killed++
				took += took / 4 // it ends at some time
				d.checked(t, dir, shards, args)
			}
		}
		shards = to
		require.True(t, d.checked(t, dir, shards, args))
	}
}
