package hostile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/tests/grammar"
	"lockserver/tests/plant"
	"lockserver/tests/testkit"
)

// In some states a server keeps keys that are past their deadlines, so no command may rely on removing them.
// These tests send every row of the command table to servers that have only overdue keys, and each must
// answer. A command that does not end keeps the executor. Then its client, and every other client, waits
// until the time limit of testkit.Client.

// overdueCalls is the number of calls of each row in each state.
const overdueCalls = 3

// overdueStates lists the states in which a server keeps overdue keys. enter is called while the keys are
// alive. end lets the server remove them again.
var overdueStates = []struct {
	name       string
	start      func(t *testing.T, clock *server.ManualClock) *overdueServer
	readOnly   bool // commands that write are refused, and not delayed
	enter, end func(o *overdueServer)
}{
	{"a replica", startOverdue, true, (*overdueServer).becomeReplica, func(o *overdueServer) { o.do("REPLICAOF NO ONE") }},
	{"a member that follows", startFollower, true, (*overdueServer).takeFromLeader, (*overdueServer).leaderRemoves},
	{"CLIENT PAUSE WRITE", startOverdue, false, func(o *overdueServer) { o.do("CLIENT PAUSE 86400000 WRITE") }, func(o *overdueServer) { o.do("CLIENT UNPAUSE") }},
	{"FAILOVER", startOverdue, false, (*overdueServer).failOver, func(o *overdueServer) { o.do("FAILOVER ABORT") }},
}

// overdueServer is a server with its own clock.
type overdueServer struct {
	t      *testing.T
	srv    *server.Server
	clock  *server.ManualClock
	admin  *testkit.Client
	fill   func(o *overdueServer) // creates the data of this server, or of the server that it follows
	leader *overdueServer         // its leader, or nil if it is in no raft group
	at     raft.Peer              // itself as a member of the group
}

func startOverdue(t *testing.T, clock *server.ManualClock) *overdueServer {
	return startWith(t, server.Options{}, clock)
}

func startWith(t *testing.T, opts server.Options, clock *server.ManualClock) *overdueServer {
	opts.Seed = 7
	opts.Directives = map[string]string{"enable-debug-command": "yes", "repl-diskless-sync-delay": "0", "proto-max-bulk-len": "1mb"}
	opts.Clock = clock
	srv, err := server.New(opts)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	return &overdueServer{t: t, srv: srv, clock: clock, admin: testkit.Dial(t, srv.Dial)}
}

// do runs a command that must succeed.
func (o *overdueServer) do(line string) resp.Value {
	o.t.Helper()
	return o.call(strings.Fields(line)...)
}

func (o *overdueServer) call(words ...string) resp.Value {
	o.t.Helper()
	v := o.admin.Do(words...)
	require.NotEqual(o.t, resp.Error, v.Kind, "%s: %s", testkit.Line(words), v)
	return v
}

// lifeMS is the lifetime of the keys of an overdueServer.
const lifeMS = "2000000"

// furnish creates keys of every kind, all with deadlines. If fields is set, hashes have deadlines on their
// fields alone.
func (o *overdueServer) furnish(fields bool) {
	for _, words := range grammar.Furniture() {
		o.call(words...)
	}
	for _, line := range []string{"LOCK k3 o3 SHARED", "LOCK k3 o4 SHARED PX 5000", "SEM.ACQUIRE k4 o1 LIMIT 3 PERMITS 2 PX 5000", "SECKILL v2 ann o1",
		"DELAY.ADD x1 PX 1000 f v", "DELAY.ADD x2 PX 60000 f v", "LIMIT.TAKE r1 5 10 60000", "LATCH.SET r2 3"} {
		o.do(line)
	}
	for _, key := range o.do("KEYS *").Elems {
		if fields && o.call("TYPE", key.Str).Str == "hash" {
			names := o.call("HKEYS", key.Str).Elems
			words := []string{"HPEXPIRE", key.Str, lifeMS, "FIELDS", fmt.Sprint(len(names))}
			for _, name := range names {
				words = append(words, name.Str)
			}
			o.call(words...)
			o.call("PERSIST", key.Str)
			continue
		}
		require.EqualValues(o.t, 1, o.call("PEXPIRE", key.Str, lifeMS).Int, key.Str)
	}
}

// becomeReplica moves the data to another server, and makes this one its replica. The clock of the other
// server stands still.
func (o *overdueServer) becomeReplica() {
	master := startOverdue(o.t, server.NewManualClock(time.UnixMicro(o.clock.NowUS())))
	o.fill(master)
	host, port, err := net.SplitHostPort(master.srv.Addr().String())
	require.NoError(o.t, err)
	o.do("REPLICAOF " + host + " " + port)
	o.comesTo("master_link_status:up")
}

// comesTo advances the clock until INFO replication contains a text.
func (o *overdueServer) comesTo(text string) {
	o.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(o.do("INFO replication").Str, text); time.Sleep(time.Millisecond) {
		require.True(o.t, time.Now().Before(end), "it does not come to %s: %s", text, o.do("INFO replication").Str)
		o.clock.Advance(100 * time.Millisecond)
	}
}

// failOver makes the server wait for a replica that never acknowledges its data.
func (o *overdueServer) failOver() {
	conn, err := net.Dial("tcp", o.srv.Addr().String())
	require.NoError(o.t, err)
	replica := testkit.NewClient(o.t, conn)
	require.Equal(o.t, "+OK", replica.Do("REPLCONF", "listening-port", "1").String())
	require.Equal(o.t, "+OK", replica.Do("REPLCONF", "capa", "eof", "capa", "psync2").String())
	require.NoError(o.t, replica.Ask("PSYNC", "?", "-1"))
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	go func() {
		for err := error(nil); err == nil; time.Sleep(5 * time.Millisecond) { // an ACK before the end of the snapshot has no effect
			_, err = io.WriteString(conn, "REPLCONF ACK 0\r\n")
		}
	}()
	o.comesTo("state=online")
	o.do("SET last v PX " + lifeMS) // this is after the acknowledged position
	o.do("FAILOVER")
	require.Contains(o.t, o.do("INFO replication").Str, "master_failover_state:waiting-for-sync")
}

// notPlayedOverdue lists rows that end the state, or have no reply.
var notPlayedOverdue = map[string]string{
	"shutdown": "ends the server", "psync": "what follows are no replies", "sync": "as psync", "client|reply": "has no reply",
	"replicaof": "makes a replica a master", "slaveof": "as replicaof", "client|unpause": "ends the pause", "failover": "ends the failover",
	"client|pause": "does not end, as the clock stands", "client|kill": "ends connections of the test", "config|set": "may make the replica writable", "debug": "is said by name",
}

// TestOverdue: each command answers while all keys are overdue and kept, and the keys are removed once that
// is allowed.
func TestOverdue(t *testing.T) {
	seed := testkit.Seed(t)
	values, err := payloads()
	require.NoError(t, err)
	var rows []*commands.Row
	for _, r := range server.Table().Rows() {
		for _, r := range append([]*commands.Row{r}, r.Subcommands()...) {
			if notPlayedOverdue[r.FullName()] == "" {
				rows = append(rows, r)
			}
		}
	}
	for _, state := range overdueStates {
		for _, fields := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s fields=%v", state.name, fields), func(t *testing.T) {
				t.Parallel()
				g := grammar.New()
				g.Begin(rand.New(rand.NewPCG(seed, 1)))
				g.SetPayloads(values)
				o := state.start(t, server.NewManualClock(time.UnixMilli(time.Now().UnixMilli())))
				o.fill = func(of *overdueServer) { of.furnish(fields) }
				if !state.readOnly {
					o.fill(o)
				}
				state.enter(o)
				keys := o.do("DBSIZE").Int
				o.clock.Set(time.UnixMicro(o.clock.NowUS()).Add(time.Hour))
				for _, row := range rows {
					for range overdueCalls {
						o.ask(row, g.Command(row), state.readOnly)
					}
				}
				for _, line := range []string{"DEBUG DIGEST", "DEBUG SET-ACTIVE-EXPIRE 0", "DEBUG SET-ACTIVE-EXPIRE 1", "SCRIPT FLUSH", "FUNCTION DUMP", "KEYS *", "SCAN 0 COUNT 1000", "RANDOMKEY"} {
					o.do(line)
				}
				require.Equal(t, keys, o.do("DBSIZE").Int, "the keys were not kept")
				state.end(o)
				o.clock.Advance(time.Second)
				agree := func() bool { return o.do("DBSIZE").Int == int64(len(o.do("KEYS *").Elems)) }
				require.Eventually(t, agree, time.Minute, time.Millisecond, "what was due is done in slices")
			})
		}
	}
}

// overdueFaults are faults that only show where overdue keys are kept.
var overdueFaults = []plant.Fault{
	plant.New("RANDOMKEY relies on removing overdue keys", plant.Or("random-key-overdue", "true")),
	plant.New("overdue holders are shown", plant.Or("live-hash", "true")),
}

// TestPlantedFaultsOfOverdueKeys: TestOverdue or TestNativeReadsOfOverdueHolders finds each fault in each
// state.
func TestPlantedFaultsOfOverdueKeys(t *testing.T) {
	if !plant.Wanted(t, "../..", overdueFaults) {
		return
	}
	program := plant.Build(t, "../..", overdueFaults)
	run := func(fault, state string) ([]byte, error) {
		return plant.Command(program, fault, "-test.run", "^(TestOverdue|TestNativeReadsOfOverdueHolders)$/^"+strings.ReplaceAll(state, " ", "_"), "-test.timeout", "120s").CombinedOutput()
	}
	out, err := run(plant.None, "")
	require.NoError(t, err, "%s", out)
	for _, f := range overdueFaults {
		for _, state := range overdueStates {
			t.Run(f.Name+"/"+state.name, func(t *testing.T) {
				t.Parallel()
				out, err := run(f.Name, state.name)
				require.Error(t, err, "%s", out)
				require.Contains(t, string(out), "--- FAIL: Test", "it does not say what is wrong")
			})
		}
	}
}

// hangMS is the time in milliseconds after which a call counts as hanging.
const hangMS = 20_000

// mayHold lists the rows that run other commands, which may write.
var mayHold = []string{"eval", "evalsha", "fcall", "eval_ro", "evalsha_ro", "fcall_ro", "guard"}

// ask sends a call on a new connection. If the call may be delayed, or wait, it checks that another client
// gets an answer.
func (o *overdueServer) ask(row *commands.Row, words []string, readOnly bool) {
	o.t.Helper()
	conn, err := o.srv.Dial()
	require.NoError(o.t, err)
	c := testkit.Connect(conn)
	c.Timeout, o.admin.Timeout = hangMS*time.Millisecond, hangMS*time.Millisecond
	defer c.Close()
	if o.leader != nil {
		_, err = c.Call("READONLY")
		require.NoError(o.t, err)
	}
	const holds = commands.Write | commands.MayReplicate
	if row.Flags.Has(commands.Blocking) || !readOnly && (row.Flags&holds != 0 || slices.Contains(mayHold, row.Name)) {
		require.NoError(o.t, c.Ask(words...))
	} else if _, err = c.Call(words...); errors.Is(err, os.ErrDeadlineExceeded) {
		hangs(o.t, testkit.Line(words)+" has no answer")
	}
	if _, err = o.admin.Call("PING"); err != nil {
		hangs(o.t, "the server does not answer behind "+testkit.Line(words)+": "+err.Error())
	}
}

// hangs ends the process, because a server that hangs cannot be closed at the end of the test.
func hangs(t *testing.T, what string) {
	fmt.Println("--- FAIL: " + t.Name() + ": " + what)
	os.Exit(1)
}
