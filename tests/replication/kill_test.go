//go:build oracle

package replication

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// killsPerRound is the number of kills before the two servers are compared.
const killsPerRound = 8

// killed holds a master and a replica. Each is a process that is killed at any moment and started again.
type killed struct {
	t               *testing.T
	chance          *rand.Rand
	master, replica *fleet.Process
	leads           atomic.Pointer[fleet.Process] // the server for clients' writes
}

// kept lists the configurations for storing data. A leader needs the first.
var kept = []string{"appendonly yes\nappendfsync always\nsave \"\"\n", "appendonly yes\nappendfsync everysec\nsave \"\"\n", "appendonly no\nsave 1 1\n", "appendonly no\nsave \"\"\n"}

// killConf is the common part of the configurations.
const killConf = "repl-diskless-sync-delay 0\nenable-debug-command yes\nrepl-timeout 5\n"

// newKilled starts a master with some data, and a replica, each of a given kind.
func newKilled(t *testing.T, chance *rand.Rand, master, replica, conf string) *killed {
	t.Helper()
	k := &killed{t: t, chance: chance}
	conf += killConf + "repl-diskless-sync " + []string{"yes", "no"}[chance.IntN(2)] + "\n"
	k.master = fleet.NewProcess(t, master, conf+kept[0])
	k.replica = fleet.NewProcess(t, replica, conf+kept[chance.IntN(len(kept))])
	rewrite(k.t, k.replica, "replicaof 127.0.0.1 "+k.master.Port)
	k.leads.Store(k.master)
	k.master.Start()
	k.replica.Start()
	require.Equal(t, "+OK", reach(t, k.master.Addr()).do("DEBUG POPULATE 20000 filler 200"))
	return k
}

// rewrite replaces the last line of the program's configuration. An empty line removes it.
func rewrite(t *testing.T, p *fleet.Process, last string) {
	t.Helper()
	file := filepath.Join(p.Dir(), "conf")
	conf, err := os.ReadFile(file)
	require.NoError(t, err)
	text, _, _ := strings.Cut(string(conf), "\n#\n")
	require.NoError(t, os.WriteFile(file, []byte(text+"\n#\n"+last+"\n"), 0o600))
}

// forget removes the data files of a server.
func forget(t *testing.T, p *fleet.Process) {
	t.Helper()
	for _, name := range []string{"appendonlydir", "dump.rdb"} {
		require.NoError(t, os.RemoveAll(filepath.Join(p.Dir(), name)))
	}
}

// strike kills one of the two, or both, at a random moment, and starts it again. It may be at work, in a
// partial or full synchronization, or loading.
func (k *killed) strike() {
	k.t.Helper()
	victims := [][]*fleet.Process{{k.master}, {k.replica}, {k.master, k.replica}}[k.chance.IntN(3)]
	time.Sleep(time.Duration(k.chance.IntN(250)) * time.Millisecond)
	for range 1 + k.chance.IntN(3) { // kill it again before it is up
		for _, p := range victims {
			p.Kill()
		}
		if victims[len(victims)-1] == k.replica && k.chance.IntN(3) == 0 {
			forget(k.t, k.replica)
		}
		for _, p := range victims {
			p.Launch()
		}
		time.Sleep(time.Duration(k.chance.IntN(120)) * time.Millisecond)
	}
}

// restore waits until both have the same data.
func (k *killed) restore() {
	k.t.Helper()
	for _, p := range []*fleet.Process{k.master, k.replica} {
		eventually(k.t, p.Port+" answers", func() bool { return p.Try("PING").String() == "+PONG" })
	}
	eventually(k.t, "the replica has all", func() bool {
		return k.replica.Field("master_link_status") == "up" && k.replica.Field("master_repl_offset") == k.master.Field("master_repl_offset")
	})
	eventually(k.t, "the two are equal", func() bool {
		return k.master.Try("DEBUG", "DIGEST").String() == k.replica.Try("DEBUG", "DIGEST").String()
	})
}

// TestKills: servers are killed with kill -9 at any moment while clients write.
func TestKills(t *testing.T) {
	run := buildPrograms(t)
	redis := string(testkit.Oracle(t))
	rounds(t, func(t *testing.T, chance *rand.Rand) {
		for _, of := range []struct {
			name string
			test func(t *testing.T, chance *rand.Rand)
		}{
			{"lockservers", func(t *testing.T, chance *rand.Rand) { killEither(t, chance, run.lockserver, run.lockserver) }},
			{"behind Redis", func(t *testing.T, chance *rand.Rand) { killEither(t, chance, redis, run.lockserver) }},
			{"Redis behind", func(t *testing.T, chance *rand.Rand) { killEither(t, chance, run.lockserver, redis) }},
			{"any command", func(t *testing.T, chance *rand.Rand) { killAmongAnyCommand(t, chance, run.lockserver) }},
			{"promotions", func(t *testing.T, chance *rand.Rand) { killAndPromote(t, chance, run.lockserver) }},
		} {
			own := rand.New(rand.NewPCG(chance.Uint64(), 2))
			t.Run(of.name, func(t *testing.T) { of.test(t, own) })
		}
	})
}

// killEither kills master and replica. At the end all acknowledged writes exist, and both have the same data.
func killEither(t *testing.T, chance *rand.Rand, master, replica string) {
	k := newKilled(t, chance, master, replica, "")
	all := k.letWrite(4)
	for range killsPerRound {
		k.strike()
	}
	all.end()
	k.restore()
	all.check(k.master)
}

// killAmongAnyCommand does the same while clients send arbitrary commands.
func killAmongAnyCommand(t *testing.T, chance *rand.Rand, program string) {
	k := newKilled(t, chance, program, program, "proto-max-bulk-len 1mb\n")
	c := newCrowd(t, reach(t, k.master.Addr()), rand.New(rand.NewPCG(chance.Uint64(), 2)))
	var sending sync.WaitGroup
	var ended atomic.Bool
	sending.Go(func() {
		for !ended.Load() {
			c.send()
		}
	})
	for range killsPerRound {
		k.strike()
	}
	ended.Store(true)
	sending.Wait()
	c.leave()
	eventually(t, "the master answers", func() bool { return k.master.Try("DEBUG", "SET-ACTIVE-EXPIRE", "1").String() == "+OK" })
	k.restore()
	t.Logf("%d commands", c.sent)
}

// killAndPromote: with min-replicas-ack 1, a master is killed, its replica takes over, and the old master
// follows it. Nothing acknowledged is lost.
func killAndPromote(t *testing.T, chance *rand.Rand, program string) {
	k := newKilled(t, chance, program, program, "min-replicas-ack 1\n")
	linked := func() {
		eventually(t, "the replica has what its master has", func() bool { return k.replica.Field("master_link_status") == "up" })
	}
	all := k.letWrite(4)
	for range killsPerRound {
		linked()
		all.goesOn()
		time.Sleep(time.Duration(chance.IntN(100)) * time.Millisecond)
		k.master.Kill()
		require.Equal(t, "+OK", k.replica.Try("REPLICAOF", "NO", "ONE").String())
		rewrite(k.t, k.replica, "")
		rewrite(k.t, k.master, "replicaof 127.0.0.1 "+k.replica.Port)
		if chance.IntN(3) == 0 {
			forget(k.t, k.master)
		}
		k.master, k.replica = k.replica, k.master
		k.leads.Store(k.master)
		k.replica.Launch()
		for range chance.IntN(3) {
			time.Sleep(time.Duration(chance.IntN(60)) * time.Millisecond)
			k.replica.Kill()
			k.replica.Launch()
		}
	}
	linked()
	all.end()
	k.restore()
	all.check(k.master)
}

// writers are clients that record their acknowledged writes.
type writers struct {
	k            *killed
	working      sync.WaitGroup
	ended        atomic.Bool
	acknowledged atomic.Int64
	each         []*writer
}

// writer is one of these clients.
type writer struct {
	name    string
	counter int64
	pushed  int64 // pushed to its list: the numbers from 1 on, some of them perhaps twice
}

// letWrite starts a number of clients that write to the leader.
func (k *killed) letWrite(count int) *writers {
	w := &writers{k: k}
	for i := range count {
		c := &writer{name: "writer:" + strconv.Itoa(i)}
		w.each = append(w.each, c)
		w.working.Go(func() {
			for !w.ended.Load() {
				if conn, err := net.Dial("tcp", k.leads.Load().Addr()); err == nil {
					client := testkit.NewClient(k.t, conn)
					client.Timeout = 5 * time.Second
					w.write(c, client, k.leads.Load())
					_ = conn.Close()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	k.t.Cleanup(w.end)
	return w
}

// write writes until there is an error, or another server leads.
func (w *writers) write(c *writer, client *testkit.Client, to *fleet.Process) {
	for !w.ended.Load() && w.k.leads.Load() == to {
		v, err := client.Call("INCR", c.name+":counter")
		if err != nil || v.IsError() {
			return
		}
		c.counter = v.Int
		next := c.pushed + 1
		answers, err := client.CallPipeline([][]string{{"MULTI"}, {"RPUSH", c.name + ":list", strconv.FormatInt(next, 10)},
			{"SADD", c.name + ":set", strconv.FormatInt(next, 10)}, {"EXEC"}})
		if err != nil || answers[3].IsError() {
			return
		}
		c.pushed = next
		w.acknowledged.Add(1)
		if v, err = client.Call("SET", c.name+":"+strconv.FormatInt(next%50, 10), "v", "PX", strconv.FormatInt(1+next%300, 10)); err != nil || v.IsError() {
			return
		}
	}
}

// goesOn waits until clients get acknowledgements.
func (w *writers) goesOn() {
	w.k.t.Helper()
	before := w.acknowledged.Load()
	eventually(w.k.t, "clients go on", func() bool { return w.acknowledged.Load() > before })
}

// end ends all clients.
func (w *writers) end() {
	w.ended.Store(true)
	w.working.Wait()
}

// check checks that all acknowledged writes are there.
func (w *writers) check(at *fleet.Process) {
	t, n := w.k.t, reach(w.k.t, at.Addr())
	for _, c := range w.each {
		counter, _ := strconv.ParseInt(n.Do("GET", c.name+":counter").Str, 10, 64)
		require.GreaterOrEqual(t, counter, c.counter, c.name)
		there := map[string]bool{}
		for _, v := range n.Do("LRANGE", c.name+":list", "0", "-1").Elems {
			require.Equal(t, int64(1), n.Do("SISMEMBER", c.name+":set", v.Str).Int, "half a transaction")
			there[v.Str] = true
		}
		for i := int64(1); i <= c.pushed; i++ {
			require.True(t, there[strconv.FormatInt(i, 10)], "%s: %d was acknowledged, of %d", c.name, i, c.pushed)
		}
	}
	t.Log(fmt.Sprint(w.acknowledged.Load(), " transactions were acknowledged, and none is lost"))
}
