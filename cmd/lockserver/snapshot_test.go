package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// tool runs the program with a command that ends by itself.
func tool(words ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(words, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// one is a raft group of one member.
type one struct {
	*child
	dir, addr, raftAt string
	members           string
}

// newOne prepares such a group.
func newOne(t *testing.T) *one {
	o := &one{dir: t.TempDir(), addr: "127.0.0.1:" + testkit.FreePort(t), raftAt: "127.0.0.1:" + testkit.FreePort(t)}
	o.members = "a=" + o.raftAt + "/" + o.addr
	return o
}

// start starts the member, and waits until it serves.
func (o *one) start(t *testing.T) {
	t.Helper()
	_, port, _ := strings.Cut(o.addr, ":")
	o.child = start(t, o.dir, "--port", port, "--raft-id", "a", "--raft-listen", o.raftAt, "--raft-members", o.members)
	o.ready(t)
	o.eventually(t, func() bool { return o.do(t, "EXISTS k") == "0" || o.do(t, "EXISTS k") == "1" }, "it serves")
}

// do runs a command, and returns its reply as text.
func (o *one) do(t *testing.T, line string) string {
	t.Helper()
	conn, err := net.Dial("tcp", o.addr)
	require.NoError(t, err)
	c := testkit.NewClient(t, conn)
	defer c.Close()
	v, err := c.Call(strings.Fields(line)...)
	require.NoError(t, err)
	switch {
	case len(v.Elems) > 0:
		return v.String()
	case v.Str != "":
		return v.Str
	}
	return strconv.FormatInt(v.Int, 10)
}

// stop ends the member.
func (o *one) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, o.Signal(syscall.SIGKILL))
	o.exit(t)
}

// field is the value of a line of what a command has printed.
func field(out, name string) string {
	for line := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestBackupAndRestore: a backup of a group has what was acknowledged before, is loaded by a single server,
// and makes a new group with its data, leases and tokens.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	o := newOne(t)
	o.start(t)
	require.Equal(t, "OK", o.do(t, "SET k v"))
	token := o.do(t, "LOCK door alice PX 600000")
	file := filepath.Join(t.TempDir(), "backup.rdb")
	code, out, errs := tool("snapshot", "save", file, "--addr", o.addr)
	require.Zero(t, code, errs)
	require.Equal(t, "2", field(out, "keys"))
	require.NotEmpty(t, field(out, "sha256"))
	index := field(out, "index")
	info := o.do(t, "RAFT INFO")
	require.Contains(t, info, "raft_last_snapshot_index:"+index)
	require.Contains(t, info, "raft_snapshots:1\r")
	code, status, _ := tool("snapshot", "status", file)
	require.Zero(t, code)
	require.Equal(t, out, status, "what was saved is what is there")
	code, _, errs = check(filepath.Join(o.dir, "raft"), file)
	require.Zero(t, code, errs)

	require.Equal(t, "OK", o.do(t, "SET later x"))
	o.stop(t)
	dir := t.TempDir() // of a single server
	backup, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), backup, 0o600))
	_, addr := startReady(t, dir)
	require.Equal(t, []string{"v", "$-1"}, ask(t, addr, "GET k", "GET later"))

	old := o.dir
	o.dir = t.TempDir()
	words := []string{"snapshot", "restore", file, "--dir", o.dir, "--raft-id", "a", "--raft-members", o.members}
	code, out, errs = tool(words...)
	require.Zero(t, code, errs)
	code, _, errs = tool(words...)
	require.Equal(t, 1, code, "what is there stays")
	require.Contains(t, errs, "is there already")
	code, _, errs = check(o.dir)
	require.Zero(t, code, errs)
	o.start(t)
	require.Equal(t, []string{"v", "$-1"}, ask(t, o.addr, "GET k", "GET later"))
	require.Contains(t, o.do(t, "RAFT INFO"), "raft_group_id:"+field(out, "new group"))
	require.Contains(t, o.do(t, "LOCK.INFO door"), "alice")
	require.Equal(t, "1", o.do(t, "UNLOCK door alice"))
	again := o.do(t, "LOCK door bob PX 600000")
	require.Less(t, number(t, token), number(t, again), "tokens never fall")
	require.NotEqual(t, old, o.dir)
}

// number is an integer reply.
func number(t *testing.T, reply string) (n int64) {
	t.Helper()
	_, err := fmt.Sscan(reply, &n)
	require.NoError(t, err, reply)
	return n
}

// TestRestoreWithAnID: two groups that were made from one file for the same members have the same id, unless
// another one is given.
func TestRestoreWithAnID(t *testing.T) {
	t.Parallel()
	o := newOne(t)
	o.start(t)
	require.Equal(t, "OK", o.do(t, "SET k v"))
	file := filepath.Join(t.TempDir(), "backup.rdb")
	code, _, errs := tool("snapshot", "save", file, "--addr", o.addr)
	require.Zero(t, code, errs)
	o.stop(t)
	restore := func(words ...string) (group string) {
		o.dir = t.TempDir()
		code, out, errs := tool(append([]string{"snapshot", "restore", file, "--dir", o.dir, "--raft-id", "a", "--raft-members", o.members}, words...)...)
		require.Zero(t, code, errs)
		return field(out, "new group")
	}
	derived := restore()
	require.NotEmpty(t, derived)
	require.Equal(t, derived, restore(), "its members take those of the other for their own")
	require.Equal(t, "second", restore("--group-id", "second"))
	o.start(t)
	require.Contains(t, o.do(t, "RAFT INFO"), "raft_group_id:second\r")
	require.Equal(t, "v", o.do(t, "GET k"))
	require.Equal(t, "OK", o.do(t, "SET k w"))
}

// TestRestoreAboveAToken: the clock of a leader was ahead after the backup. The status of the group shows its
// highest token, and the tokens of a group that is restored are above what the operator gives.
func TestRestoreAboveAToken(t *testing.T) {
	t.Parallel()
	o := newOne(t)
	o.start(t)
	file := filepath.Join(t.TempDir(), "backup.rdb")
	code, _, errs := tool("snapshot", "save", file, "--addr", o.addr)
	require.Zero(t, code, errs)
	token := number(t, o.do(t, "LOCK door alice PX 600000"))
	var status bytes.Buffer
	require.Zero(t, runStatus([]string{"--addr", o.addr}, &status, &status), status.String())
	require.Contains(t, status.String(), fmt.Sprintf("highest fencing token: %d\n", token))
	status.Reset()
	require.Zero(t, runStatus([]string{"--addr", o.addr, "--json"}, &status, &status))
	require.Contains(t, status.String(), fmt.Sprintf(`"highest_token": %d`, token))
	require.Contains(t, o.do(t, "RAFT INFO"), fmt.Sprintf("raft_highest_token:%d\r", token))
	o.stop(t)

	floor := token + 48*3_600_000_000
	restore := func(words ...string) (code int, out, errs string) {
		o.dir = t.TempDir()
		return tool(append([]string{"snapshot", "restore", file, "--dir", o.dir, "--raft-id", "a", "--raft-members", o.members}, words...)...)
	}
	for _, bad := range []string{"x", "0", "-1", "9007199254740991", "99999999999999999999"} {
		code, _, errs = restore("--token-floor", bad)
		require.Equal(t, 1, code, bad)
		require.Contains(t, errs, "a fencing token is a whole number from 1 to 9007199254740990", bad)
		require.NoDirExists(t, filepath.Join(o.dir, "raft"))
	}
	_, without, _ := restore()
	code, out, errs := restore("--token-floor", fmt.Sprint(floor))
	require.Zero(t, code, errs)
	require.NotEqual(t, field(without, "new group"), field(out, "new group"), "members without it form no group with it")
	o.start(t)
	require.Greater(t, number(t, o.do(t, "LOCK door bob PX 600000")), floor)
}

// TestRestoreOfADump: an RDB file that is no backup of a group is restored, too.
func TestRestoreOfADump(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, addr := startReady(t, dir)
	require.Equal(t, []string{"+OK", "+OK"}, ask(t, addr, "SET k v", "SAVE"))
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	o := newOne(t)
	code, out, errs := tool("snapshot", "restore", filepath.Join(dir, "dump.rdb"), "--dir", o.dir, "--raft-id", "a", "--raft-members", o.members)
	require.Zero(t, code, errs)
	require.Empty(t, field(out, "index"))
	o.start(t)
	require.Equal(t, "v", o.do(t, "GET k"))
	require.Equal(t, "OK", o.do(t, "SET k w"))
	o.stop(t)
	o.start(t)
	require.Equal(t, "w", o.do(t, "GET k"))
}

// TestRecover: a member of three that is left alone is a group of one after the loss was accepted, and only
// then. The old members' group cannot have it back.
func TestRecover(t *testing.T) {
	t.Parallel()
	o := newOne(t)
	o.start(t)
	require.Equal(t, "OK", o.do(t, "SET k v"))
	code, _, errs := tool("recover", "--dir", o.dir, "--i-accept-data-loss")
	require.Equal(t, 1, code, "it runs")
	require.Contains(t, errs, "lock")
	group := field(o.do(t, "RAFT INFO"), "raft_group_id")
	o.stop(t)
	code, out, errs := tool("recover", "--dir", o.dir)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "nothing was changed")
	require.Contains(t, out, "of the group "+group)
	last := field(out, "last entry")
	code, out, errs = tool("recover", "--dir", o.dir, "--i-accept-data-loss")
	require.Zero(t, code, errs)
	require.Equal(t, last, field(out, "last entry"), "nothing was changed before")
	o.start(t)
	require.Equal(t, "v", o.do(t, "GET k"))
	info := o.do(t, "RAFT INFO")
	require.NotContains(t, info, group)
	require.Contains(t, info, "raft_members:1\r")
}

// TestWrongWordsOfSnapshots: what cannot be done says so, ends with 1, and leaves the file as it was.
func TestWrongWordsOfSnapshots(t *testing.T) {
	dir := t.TempDir()
	_, addr := startReady(t, dir)
	old := filepath.Join(dir, "old")
	require.NoError(t, os.WriteFile(old, []byte("REDIS0011"), 0o600))
	for _, c := range []struct{ words, says string }{
		{"snapshot", "save, status or restore"},
		{"snapshot zap", "save, status or restore"},
		{"snapshot save", "one FILE"},
		{"snapshot save a b", "one FILE"},
		{"snapshot save " + old + " --addr " + addr, "not a member of a raft group"},
		{"snapshot save " + old + " --addr 127.0.0.1:1", "connection refused"},
		{"snapshot status " + old, "truncated"},
		{"snapshot status /no/such", "no such file"},
		{"snapshot restore " + old, "--dir, --raft-id and --raft-members are needed"},
		{"snapshot restore " + old + " --dir D --raft-id a --raft-members a", "'a' is no member"},
		{"snapshot restore " + old + " --dir D --raft-id b --raft-members a=h:1/h:2", "raft-members does not list the raft-id 'b'"},
		{"snapshot restore " + old + " --dir D --raft-id a --raft-members a=h:1/h:2", "truncated"},
		{"recover", "--dir is needed"},
		{"recover --dir " + dir, "is no directory of a member"},
	} {
		to := filepath.Join(t.TempDir(), "new")
		words := strings.Fields(c.words)
		for i := range words {
			if words[i] == "D" {
				words[i] = to
			}
		}
		code, _, errs := tool(words...)
		require.Equal(t, 1, code, c.words)
		require.Contains(t, errs, c.says, c.words)
		require.NoDirExists(t, filepath.Join(to, "raft"))
	}
	is, err := os.ReadFile(old)
	require.NoError(t, err)
	require.Equal(t, "REDIS0011", string(is))
	for _, name := range []string{"snapshot", "recover"} {
		code, out, _ := tool(name, "--help")
		require.Zero(t, code)
		require.Contains(t, out, "Usage: lockserver "+name)
	}
}
