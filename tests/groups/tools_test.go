//go:build raft && unix

package groups

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// tool runs the program as an operator does, and returns its output and its error.
func tool(t *testing.T, args ...string) (string, error) {
	out, err := exec.Command(testkit.Lockserver(t), args...).CombinedOutput()
	return string(out), err
}

// TestTools (D145): status, backups and the spread of leads of a whole cluster. A backup is restored to new
// groups, with the slots and above the tokens. A set of backups that lacks slots is refused.
func TestTools(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 1}).start()
	one, two := c.groups[0], c.groups[1]
	c.awaitOwners(map[int]*fleet.Group{0: one, 16383: two})
	any := one.Members[0].Addr()
	out, err := tool(t, "status", "--cluster", "--addr", any)
	require.NoError(t, err, out)
	require.Contains(t, out, "cluster shop, 2 shards\n\nshard s1, slots 0-8191, generation 1\n")
	require.Contains(t, out, "\nshard s2, slots 8192-16383, generation 1\n")

	low, high := key(t, 0), key(t, 16383)
	leader := one.AwaitLeader()
	require.Equal(t, "+OK", leader.Try("SET", low, "x").String())
	require.Equal(t, "+OK", two.Members[0].Try("SET", high, "y").String())
	token := two.Members[0].Try("LOCK", key(t, 9000), "me", "PX", "600000").Int
	require.Positive(t, token)
	set := filepath.Join(t.TempDir(), "set")
	out, err = tool(t, "snapshot", "save", "--cluster", set, "--addr", any)
	require.NoError(t, err, out)
	require.Contains(t, out, "shard:        s2 of shop\nslots:        8192-16383\ngeneration:   1\n")
	out, err = tool(t, "snapshot", "status", "--cluster", set)
	require.NoError(t, err, out)
	require.Contains(t, out, "cluster:      shop, 2 shards, each slot once")
	out, err = tool(t, "cluster", "balance", "--addr", any)
	require.NoError(t, err, out)
	require.Equal(t, "the leads are spread evenly\n", out)

	// A shard that is gone: the table has the others, the exit code says it, and no set is begun.
	two.Members[0].Kill()
	out, err = tool(t, "status", "--cluster", "--json", "--addr", any)
	require.Error(t, err)
	var view struct {
		Unserved string `json:"slots_not_served"`
		Shards   []struct{ Shard, Problem string }
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&view), out)
	require.Equal(t, "8192-16383", view.Unserved)
	require.NotEmpty(t, view.Shards[1].Problem)
	other := filepath.Join(t.TempDir(), "other")
	out, err = tool(t, "snapshot", "save", "--cluster", other, "--addr", any)
	require.Error(t, err, out)
	require.NoDirExists(t, other)

	for _, p := range c.all() {
		p.Kill()
	}
	for i, g := range c.groups {
		var members []string
		for _, p := range g.Members {
			members = append(members, fmt.Sprintf("%s=%s/%s", g.ID(p), g.RaftAt(p), p.Addr()))
		}
		for _, p := range g.Members {
			require.NoError(t, os.RemoveAll(filepath.Join(p.Dir(), "raft")))
			restore := []string{"snapshot", "restore", set, "--cluster-shard", c.shards[i].name, "--dir", p.Dir(), "--raft-id", g.ID(p), "--raft-members", strings.Join(members, " ")}
			out, err := tool(t, restore...)
			require.NoError(t, err, out)
		}
	}
	c.start()
	c.awaitOwners(map[int]*fleet.Group{0: one, 8191: one, 8192: two, 16383: two})
	require.Equal(t, "x", one.AwaitLeader().Try("GET", low).Str)
	require.Equal(t, "y", two.Members[0].Try("GET", high).Str)
	eventually(t, "tokens rise over the restore", func() bool {
		return two.Members[0].Try("LOCK", key(t, 9001), "me", "PX", "600000").Int > token
	})

	// Sets that do not have each slot once.
	for what, harm := range map[string]func() error{
		"no backup in":                     func() error { return os.Remove(filepath.Join(set, "s1.rdb")) },
		"is the backup of the shard s2":    func() error { return copyFile(filepath.Join(set, "s2.rdb"), filepath.Join(set, "s1.rdb")) },
		"has no backup of the shard other": nil,
	} {
		kept := filepath.Join(t.TempDir(), "kept")
		require.NoError(t, os.CopyFS(kept, os.DirFS(set)))
		name := "s2"
		if harm != nil {
			require.NoError(t, harm())
		} else {
			name = "other"
		}
		dir := t.TempDir()
		out, err := tool(t, "snapshot", "restore", set, "--cluster-shard", name, "--dir", dir, "--raft-id", "a", "--raft-members", "a=127.0.0.1:1/127.0.0.1:2")
		require.Error(t, err, what)
		require.Contains(t, out, what)
		require.NoDirExists(t, filepath.Join(dir, "raft"))
		require.NoError(t, os.RemoveAll(set))
		require.NoError(t, os.CopyFS(set, os.DirFS(kept)))
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
