package server

import (
	"cmp"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// These tests show why a command is refused, for each way to send it. A cell of the table is a state of the
// server (a stance), a form in which a command is sent, and a command. testdata/admission.golden has the
// reply of Redis for each cell. TestAdmission compares the server with that file, and needs no Redis. The
// test with the tag oracle compares the file with a Redis, and writes it with -update.

//go:embed testdata/admission.golden
var admissionGolden string

// admissionClusterGolden has the replies of a Redis that is a part of a cluster.
//
//go:embed testdata/admission_cluster.golden
var admissionClusterGolden string

// stance is a state of a server in which it refuses commands.
type stance struct {
	name string
	// begin brings the server into the stance, and end ends the stance. A client with all rights sends both.
	begin, end []string
	// whole says that begin cannot be sent inside a transaction.
	whole bool
	// enter and leave are steps of a stance that no command can take.
	enter, leave func(t *testing.T, at *admissionSite)
}

const (
	lostMaster = "REPLICAOF 127.0.0.1 1"
	// enoughMemory, followed by a command, makes Redis forget that memory was full. With maxmemory 0 Redis
	// does not look at its memory, and scripts use the last result.
	enoughMemory = "CONFIG SET maxmemory 1000000000"
)

var stances = []stance{
	{name: "none"},
	{name: "stale", begin: []string{"CONFIG SET replica-serve-stale-data no", lostMaster}, end: []string{"REPLICAOF NO ONE", "CONFIG SET replica-serve-stale-data yes"}},
	{name: "stale writable", begin: []string{"CONFIG SET replica-serve-stale-data no replica-read-only no", lostMaster},
		end: []string{"REPLICAOF NO ONE", "CONFIG SET replica-serve-stale-data yes replica-read-only yes"}},
	{name: "read only", begin: []string{lostMaster}, end: []string{"REPLICAOF NO ONE"}},
	{name: "no replicas", begin: []string{"CONFIG SET min-replicas-to-write 1"}, end: []string{"CONFIG SET min-replicas-to-write 0"}},
	{name: "out of memory", begin: []string{"CONFIG SET maxmemory 1"}, end: []string{enoughMemory, "PING", "CONFIG SET maxmemory 0"}},
	{name: "no replicas, out of memory", begin: []string{"CONFIG SET min-replicas-to-write 1 maxmemory 1"}, end: []string{enoughMemory, "CONFIG SET min-replicas-to-write 0 maxmemory 0"}},
	{name: "stale, no replicas, out of memory", begin: []string{"CONFIG SET replica-serve-stale-data no min-replicas-to-write 1 maxmemory 1", lostMaster},
		end: []string{"REPLICAOF NO ONE", enoughMemory, "CONFIG SET replica-serve-stale-data yes min-replicas-to-write 0 maxmemory 0"}},
	{name: "cannot save", whole: true, enter: breakSaving, leave: mendSaving},
	{name: "cannot save, no replicas, read only", whole: true, begin: []string{"CONFIG SET min-replicas-to-write 1", lostMaster},
		end: []string{"REPLICAOF NO ONE", "CONFIG SET min-replicas-to-write 0"}, enter: breakSaving, leave: mendSaving},
	{name: "no right", begin: []string{"ACL SETUSER u -@write -publish -ping -blmove"}, end: []string{"ACL SETUSER u +@all"}},
	{name: "no right to the key", begin: []string{"ACL SETUSER u resetkeys ~other"}, end: []string{"ACL SETUSER u allkeys"}},
	{name: "busy", whole: true, enter: beginBusy, leave: endBusy},
	{name: "loading", whole: true, enter: func(_ *testing.T, at *admissionSite) { at.load() }, leave: func(_ *testing.T, at *admissionSite) { at.loaded() }},
}

// clusterStances are stances of a server in a cluster. In the stances named moved the server has become a
// replica of another one.
var clusterStances = []stance{
	{name: "none", whole: true},
	{name: "moved", whole: true, enter: func(_ *testing.T, at *admissionSite) { at.move() }, leave: func(_ *testing.T, at *admissionSite) { at.moveBack() }},
	{name: "moved, no right", whole: true, begin: []string{"ACL SETUSER u -@write -publish -ping -blmove"}, end: []string{"ACL SETUSER u +@all"},
		enter: func(_ *testing.T, at *admissionSite) { at.move() }, leave: func(_ *testing.T, at *admissionSite) { at.moveBack() }},
}

// admitted are the commands that are sent in each form.
var admitted = []string{"GET k", "SET k v", "DEL k", "PING", "PUBLISH c m", "ECHO x", "TYPE k"}

// scriptFlags are the flags in the first line of a script. The empty entry has a first line, too.
var scriptFlags = []string{"", "no-writes", "allow-oom", "allow-stale", "no-writes,allow-stale", "allow-oom,allow-stale", "no-cluster", "allow-cross-slot-keys"}

// callsArguments is a script that runs its arguments as a command.
const callsArguments = "return redis.call(unpack(ARGV))"

// admissionScripts are the ways in which a script runs a command, by name.
func admissionScripts(command string) (names []string, calls [][]string) {
	words := strings.Fields(command)
	add := func(name string, call ...string) {
		names, calls = append(names, name, name+" of k"), append(calls, slices.Concat(call, []string{"0"}, words), slices.Concat(call, []string{"1", "k"}, words))
	}
	for _, ro := range []string{"", "_RO"} {
		add("EVAL"+ro, "EVAL"+ro, callsArguments)
		for _, flags := range scriptFlags {
			add("EVAL"+ro+" flags="+flags, "EVAL"+ro, "#!lua flags="+flags+"\n"+callsArguments)
			add("FCALL"+ro+" flags="+flags, "FCALL"+ro, functionOf(flags))
		}
	}
	add("EVAL pcall", "EVAL", "redis.pcall('set', 'k', 'w') local e = redis.pcall(unpack(ARGV)) return type(e) == 'table' and (e.err or e.ok) or e")
	return names, calls
}

// functionOf returns the name of the function with these flags.
func functionOf(flags string) string {
	return "f_" + strings.NewReplacer(",", "_", "-", "_").Replace(flags)
}

// admissionLibrary has a function for each of scriptFlags.
func admissionLibrary() string {
	var b strings.Builder
	b.WriteString("#!lua name=admission\n")
	for _, flags := range scriptFlags {
		list := ""
		if flags != "" {
			list = "'" + strings.ReplaceAll(flags, ",", "','") + "'"
		}
		fmt.Fprintf(&b, "redis.register_function{function_name='%s', flags={%s}, callback=function(keys, args) return redis.call(unpack(args)) end}\n", functionOf(flags), list)
	}
	return b.String()
}

// admittedLater are commands that wait, with the commands that serve them.
var admittedLater = [][2]string{
	{"BLPOP l 0", "RPUSH l a"}, {"BLMOVE l m LEFT LEFT 0", "RPUSH l a"}, {"BZPOPMIN z 0", "ZADD z 1 a"}, {"XREAD BLOCK 0 STREAMS x $", "XADD x 1-1 f v"},
	{"XREADGROUP GROUP g c BLOCK 0 STREAMS y >", "XADD y 1-1 f v"},
}

// admissionSite is a server, with a client that has all rights.
type admissionSite struct {
	t    *testing.T
	dial func() (net.Conn, error)
	dir  string // where it saves
	root *testkit.Client
	busy *testkit.Client
	out  []admissionCell // the table so far
	// load makes the server load data, until loaded is called.
	load, loaded func()
	// move makes another server of the cluster lead, and moveBack this server again.
	move, moveBack func()
}

// client connects as the user u.
func (at *admissionSite) client() *testkit.Client {
	c := testkit.Dial(at.t, at.dial)
	require.Equal(at.t, "+OK", c.Do("AUTH", "u", "p").String())
	return c
}

func (at *admissionSite) do(line string) string { return at.root.Do(strings.Fields(line)...).String() }

// cell adds a cell to the table.
func (at *admissionSite) cell(s *stance, form, command string, replies ...string) {
	reply := scriptName.ReplaceAllString(strings.Join(replies, " ; "), "script: NAME,")
	reply = otherServer.ReplaceAllString(reply, "MOVED $1 OTHER")
	at.out = append(at.out, admissionCell{s.name, form, command, reply})
}

// scriptName matches the name of a script in an error.
var scriptName = regexp.MustCompile(`script: \w+,`)

// otherServer matches the address of the leading server in an error.
var otherServer = regexp.MustCompile(`MOVED (\d+) 127\.0\.0\.1:\d+`)

func (at *admissionSite) begin(s *stance) {
	if s.enter != nil {
		s.enter(at.t, at)
	}
	for _, line := range s.begin {
		require.NotContains(at.t, at.do(line), "ERR", line)
	}
}

func (at *admissionSite) end(s *stance) {
	for _, line := range s.end {
		require.NotContains(at.t, at.do(line), "ERR", line)
	}
	if s.leave != nil {
		s.leave(at.t, at)
	}
	for _, line := range []string{"DEL k l m z x y", "SET k w", "XGROUP CREATE y g $ MKSTREAM"} {
		require.NotContains(at.t, at.do(line), "ERR", line)
	}
}

// play makes the table of some stances.
func (at *admissionSite) play(stances []stance) []admissionCell {
	at.root = testkit.Dial(at.t, at.dial)
	for _, words := range [][]string{{"FUNCTION", "LOAD", "REPLACE", admissionLibrary()}, {"ACL", "SETUSER", "u", "on", ">p", "~*", "&*", "+@all"},
		{"CONFIG", "SET", "busy-reply-threshold", "1"}, {"SET", "k", "w"}, {"XGROUP", "CREATE", "y", "g", "$", "MKSTREAM"}} {
		require.NotContains(at.t, at.root.Do(words...).String(), "-", words)
	}
	for i := range stances {
		at.playAlone(&stances[i])
		at.playQueuedBefore(&stances[i])
		if !stances[i].whole {
			at.playInside(&stances[i])
			at.playServed(&stances[i])
		}
	}
	sortAdmission(at.out)
	return at.out
}

// playAlone sends each command in the stance: alone, in a pipeline, in a transaction, and from scripts.
func (at *admissionSite) playAlone(s *stance) {
	c := at.client()
	at.begin(s)
	for _, command := range admitted {
		words := strings.Fields(command)
		at.cell(s, "alone", command, c.Do(words...).String())
		three := c.Pipeline([][]string{{"TYPE", "k"}, words, {"TYPE", "k"}})
		at.cell(s, "in a pipeline", command, three[0].String(), three[1].String(), three[2].String())
		at.cell(s, "in MULTI", command, c.Do("MULTI").String(), c.Do(words...).String(), c.Do("EXEC").String())
		names, calls := admissionScripts(command)
		for i, call := range calls {
			at.cell(s, names[i], command, c.Do(call...).String())
			at.cell(s, names[i]+" in MULTI", command, c.Do("MULTI").String(), c.Do(call...).String(), c.Do("EXEC").String())
		}
	}
	at.end(s)
	c.Close()
}

// playQueuedBefore queues commands before the stance begins, and sends EXEC in the stance.
func (at *admissionSite) playQueuedBefore(s *stance) {
	type queue struct {
		form, command string
		c             *testkit.Client
	}
	var queues []queue
	add := func(form, command string, call []string) {
		c := at.client()
		c.Do("MULTI")
		require.Equal(at.t, "+QUEUED", c.Do(call...).String())
		queues = append(queues, queue{form, command, c})
	}
	for _, command := range admitted[:4] {
		add("queued before", command, strings.Fields(command))
		names, calls := admissionScripts(command)
		for i, call := range calls {
			if strings.HasPrefix(names[i], "EVAL") && !strings.HasPrefix(names[i], "EVAL_RO flags=") {
				add(names[i]+" queued before", command, call)
			}
		}
	}
	at.begin(s)
	for _, q := range queues {
		at.cell(s, q.form, q.command, q.c.Do("EXEC").String())
		q.c.Close()
	}
	at.end(s)
}

// playInside enters the stance inside the transaction that contains the command.
func (at *admissionSite) playInside(s *stance) {
	for _, command := range admitted[:4] {
		names, calls := admissionScripts(command)
		names, calls = append(names, "alone"), append(calls, strings.Fields(command))
		for i, call := range calls {
			c := at.client()
			c.Do("MULTI")
			for _, line := range s.begin {
				require.Equal(at.t, "+QUEUED", c.Do(strings.Fields(line)...).String(), line)
			}
			require.Equal(at.t, "+QUEUED", c.Do(call...).String())
			replies := c.Do("EXEC").Elems
			require.Len(at.t, replies, len(s.begin)+1)
			at.cell(s, names[i]+" inside", command, replies[len(s.begin)].String())
			c.Close()
			at.end(s)
		}
	}
}

// playServed makes commands wait. The transaction that serves them enters the stance first.
func (at *admissionSite) playServed(s *stance) {
	for _, pair := range admittedLater {
		c := at.client()
		c.Send(strings.Fields(pair[0])...)
		for end := time.Now().Add(time.Minute); !strings.Contains(at.root.Do("INFO", "clients").Str, "\nblocked_clients:1\r"); {
			require.True(at.t, time.Now().Before(end), "%s does not wait", pair[0])
		}
		at.do("MULTI")
		at.do(pair[1])
		for _, line := range s.begin {
			require.Equal(at.t, "+QUEUED", at.do(line), line)
		}
		at.do("EXEC")
		reply := "nothing"
		at.root.Do("PING")
		if v, err := c.Next(); err == nil {
			reply = v.String()
		}
		at.cell(s, "served later", pair[0], reply)
		c.Close()
		at.end(s)
	}
}

// breakSaving makes saving fail: a directory has the name of the snapshot.
func breakSaving(t *testing.T, at *admissionSite) {
	file := filepath.Join(at.dir, "dump.rdb")
	require.NoError(t, os.RemoveAll(file))
	require.NoError(t, os.MkdirAll(filepath.Join(file, "not empty"), 0o755))
	at.save("err")
}

func mendSaving(t *testing.T, at *admissionSite) {
	require.NoError(t, os.RemoveAll(filepath.Join(at.dir, "dump.rdb")))
	at.save("ok")
}

// save runs BGSAVE, and waits until it has ended with the given status.
func (at *admissionSite) save(status string) {
	require.Equal(at.t, "+Background saving started", at.do("BGSAVE"))
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		info := at.root.Do("INFO", "persistence").Str
		if strings.Contains(info, "rdb_bgsave_in_progress:0") && strings.Contains(info, "rdb_last_bgsave_status:"+status) {
			return
		}
		require.True(at.t, time.Now().Before(end), info)
	}
}

// beginBusy runs a script without an end.
func beginBusy(t *testing.T, at *admissionSite) {
	at.busy = testkit.Dial(t, at.dial)
	at.busy.Send("EVAL", "while true do end", "0")
	for end := time.Now().Add(time.Minute); !strings.HasPrefix(at.do("TYPE k"), "-BUSY"); {
		require.True(t, time.Now().Before(end))
	}
}

func endBusy(t *testing.T, at *admissionSite) {
	require.Equal(t, "+OK", at.do("SCRIPT KILL"))
	at.busy.Receive()
	at.busy.Close()
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{Directives: map[string]string{"save": "3600 100000", "dir": dir}})
	at := &admissionSite{t: t, dial: srv.Dial, dir: dir}
	at.load = func() { srv.executor.Do(func() { srv.executor.Durable.BeginLoad(srv.executor.Store.NowUS()) }) }
	at.loaded = func() { srv.executor.Do(func() { require.NoError(t, srv.executor.Durable.EndLoad()) }) }
	compareAdmission(t, admissionGolden, at.play(stances))
}

// TestAdmissionInACluster compares with a server of a Redis Cluster that has become a replica.
func TestAdmissionInACluster(t *testing.T) {
	t.Parallel()
	g := newGroup(t, topology.GroupOptions{})
	srv := start(t, Options{Group: g.Group})
	at := &admissionSite{t: t, dial: srv.Dial}
	at.move = func() { g.lead("b") }
	at.moveBack = func() { g.lead("a") }
	compareAdmission(t, admissionClusterGolden, at.play(clusterStances))
}

// compareAdmission compares cells with those in the file.
func compareAdmission(t *testing.T, golden string, got []admissionCell) {
	t.Helper()
	want := decodeAdmission(golden)
	require.Len(t, got, len(want))
	wrong := 0
	for i, cell := range got {
		if cell == want[i] || servedByDesign(cell, want[i]) {
			continue
		}
		if wrong++; wrong <= 40 {
			t.Errorf("%v\nthe file has\n%v", cell, want[i])
		}
	}
	require.Zero(t, wrong)
}

// servedByDesign reports whether the server answers otherwise than Redis on purpose (D145). A replica sends a
// client to the leader with a script that only reads and names no keys. A script with the flag no-cluster
// runs, because a group has all keys.
func servedByDesign(got, redis admissionCell) bool {
	reads := strings.Contains(got.form, "_RO") && !strings.Contains(got.form, " of k") && strings.Contains(got.reply, "-MOVED 0 OTHER")
	return reads || strings.Contains(redis.reply, "'no-cluster' flag is set") && got.stance == "none"
}

// admissionCell is the reply to a command in a form and a stance.
type admissionCell struct{ stance, form, command, reply string }

// decodeAdmission is the reverse of encodeAdmission.
func decodeAdmission(text string) (cells []admissionCell) {
	first, second, _ := strings.Cut(text, "\n\n")
	replies := strings.Split(first, "\n")
	for line := range strings.Lines(second) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		for form := range strings.SplitSeq(parts[2], "; ") {
			for pair := range strings.SplitSeq(parts[1], ", ") {
				command, number, _ := strings.Cut(pair, ": ")
				at, _ := strconv.Atoi(number)
				cells = append(cells, admissionCell{parts[0], form, command, replies[at-1]})
			}
		}
	}
	sortAdmission(cells)
	return cells
}

func sortAdmission(cells []admissionCell) {
	slices.SortStableFunc(cells, func(a, b admissionCell) int {
		return cmp.Or(cmp.Compare(a.stance, b.stance), cmp.Compare(a.form, b.form))
	})
}
