//go:build raft && unix

package raft

import (
	"bytes"
	"encoding/json"
	"hash/crc64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// forgeSnapshot changes the content of the newest snapshot of a member that has ended. The checksums fit, so
// that the member finds nothing wrong with it.
func forgeSnapshot(t *testing.T, p *fleet.Process, from, to string) {
	all, err := filepath.Glob(filepath.Join(p.Dir(), "raft", "disk", "snapshots", "*", "state.bin"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	newest := slices.MaxFunc(all, func(a, b string) int { return bytes.Compare(index(t, a), index(t, b)) })
	state, err := os.ReadFile(newest)
	require.NoError(t, err)
	require.Contains(t, string(state), from)
	require.Len(t, to, len(from))
	state = bytes.ReplaceAll(state, []byte(from), []byte(to))
	clear(state[len(state)-8:]) // the RDB file has no checksum then
	require.NoError(t, os.WriteFile(newest, state, 0o600))
	about := filepath.Join(filepath.Dir(newest), "meta.json")
	text, err := os.ReadFile(about)
	require.NoError(t, err)
	var meta map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&meta))
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	_, _ = sum.Write(state)
	meta["CRC"] = sum.Sum(nil)
	text, err = json.Marshal(meta)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(about, text, 0o600))
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(newest), "meta.sum"))) // an earlier version writes none
}

// index is that of a snapshot, with leading zeros: its directory is named by term, index, and time.
func index(t *testing.T, state string) []byte {
	words := strings.Split(filepath.Base(filepath.Dir(state)), "-")
	require.Len(t, words, 3, state)
	return []byte(strings.Repeat("0", 20-len(words[1])) + words[1])
}

// TestForgedSnapshot: the snapshot of a member is another than the one it made. The group finds by itself
// that the member has other data. It stops serving and says so, also over a start, and the others say so as
// well. It is taken in again when its directory is moved away.
func TestForgedSnapshot(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Form(t, "raft-check-interval 1\n", program, program, program)
	require.Equal(t, "+OK", g.Leader().Try("SET", "x", "honest").String())
	leader := g.AwaitLeader()
	g.Same(leader)
	c := g.Others(leader)[0]
	eventually(t, "they were compared", func() bool { return c.Field("raft_check_data") == "same" && leader.Field("raft_check_data") == "same" })
	require.Equal(t, "+OK", c.Try("RAFT", "SNAPSHOT").String())
	c.Kill()
	forgeSnapshot(t, c, "honest", "forged")
	c.Launch()
	eventually(t, "it has stopped", func() bool { return c.Field("raft_role") == "stopped" })
	require.Contains(t, c.Log(), "move its directory raft away, and start it")
	require.True(t, c.Try("GET", "x").IsError(), "it says that it has stopped, or who leads")
	for _, p := range g.Others(c) {
		eventually(t, "the others say so", func() bool {
			return strings.Contains(p.Field("raft_alarm"), "'"+g.ID(c)+"' has other data than the group")
		})
	}
	require.Equal(t, `"honest"`, g.Leader(g.Others(c)...).Try("GET", "x").String())

	was := c.Field("raft_incarnation")
	c.Kill()
	c.Launch()
	eventually(t, "it is stopped still", func() bool { return c.Field("raft_role") == "stopped" })
	require.NotEqual(t, "0", c.Field("raft_alarms"))

	c.Kill()
	takeDisk(t, c)
	c.Launch()
	g.Same(g.AwaitLeader())
	eventually(t, "it is a voter again", func() bool { return roles(g.Leader())["follower"] == 2 })
	require.NotEqual(t, was, c.Field("raft_incarnation"))
	eventually(t, "all have the same", func() bool {
		v := g.Leader().Try("RAFT", "CHECK").String()
		return strings.Count(v, `"same"`) == 3
	})
	eventually(t, "there is no alarm", func() bool {
		return !slices.ContainsFunc(g.Members, func(p *fleet.Process) bool {
			return p.Field("raft_members_differ") != "0" || strings.Contains(p.Field("raft_alarm"), "other data")
		})
	})
	require.Equal(t, `"honest"`, g.Leader().Try("GET", "x").String())
}
