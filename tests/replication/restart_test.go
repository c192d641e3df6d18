//go:build oracle

package replication

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestPlannedRestart: one of the two is stopped and started again. They continue where they were, whatever
// kind they are, and although keys have expired meanwhile.
func TestPlannedRestart(t *testing.T) {
	ours, redis := testkit.Lockserver(t), string(testkit.Oracle(t))
	for _, c := range []struct {
		master, replica string
		restarted       string
		log             string // appendonly of the restarted server
		partial         bool   // a Redis with a log forgets its position (D171)
	}{
		{ours, ours, "master", "no", true}, {ours, ours, "master", "yes", true},
		{ours, redis, "master", "no", true}, {ours, redis, "master", "yes", true},
		{redis, ours, "master", "no", true}, {redis, ours, "master", "yes", false},
		{ours, ours, "replica", "no", true}, {ours, ours, "replica", "yes", true},
		{redis, ours, "replica", "no", true}, {redis, ours, "replica", "yes", true},
		{ours, redis, "replica", "no", true},
	} {
		kind := map[string]string{ours: "lockserver", redis: "redis"}
		t.Run(fmt.Sprintf("%s,%s,%s restarts,appendonly=%s", kind[c.master], kind[c.replica], c.restarted, c.log), func(t *testing.T) {
			plannedRestart(t, c.master, c.replica, c.restarted == "master", c.log, c.partial)
		})
	}
}

func plannedRestart(t *testing.T, master, replica string, restartsMaster bool, log string, partial bool) {
	keeps := "appendonly " + log + "\nsave 3600 100000\n"
	conf := func(restarts bool) string {
		if restarts {
			return killConf + keeps
		}
		return killConf + "save \"\"\n"
	}
	m := fleet.NewProcess(t, master, conf(restartsMaster))
	r := fleet.NewProcess(t, replica, conf(!restartsMaster)+"replicaof 127.0.0.1 "+m.Port+"\n")
	m.Start()
	r.Start()
	leads, follows := reach(t, m.Addr()), reach(t, r.Addr())
	plain(leads)
	inStep(t, leads, follows)
	require.Equal(t, "+OK", leads.do("SELECT 3")) // the next commands are for that database, without another SELECT
	require.Equal(t, "+OK", leads.do("SET last before"))
	dies := time.Now().Add(time.Second)
	require.Equal(t, "+OK", leads.do(fmt.Sprintf("SET dies meanwhile PXAT %d", dies.UnixMilli())))
	require.Equal(t, "2", leads.do("HSET fields dies 1 stays 2"))
	require.Equal(t, "[1]", leads.do(fmt.Sprintf("HPEXPIREAT fields %d FIELDS 1 dies", dies.UnixMilli())))
	inStep(t, leads, follows)
	if restartsMaster {
		code, err := m.Terminate()
		require.NoError(t, err)
		require.Zero(t, code)
		eventually(t, "what dies meanwhile has died", func() bool { return time.Now().After(dies) })
		m.Start()
		leads = reach(t, m.Addr())
	} else {
		code, err := r.Terminate()
		require.NoError(t, err)
		require.Zero(t, code)
		require.Equal(t, "+OK", leads.do("SET while away"))
		r.Start()
		follows = reach(t, r.Addr())
	}
	require.Equal(t, "+OK", leads.do("SELECT 3"))
	require.Equal(t, "+OK", leads.do("SET more after"))
	inStep(t, leads, follows)
	full := int64(0) // number of full synchronizations of the restarted master
	if !restartsMaster {
		full = 1
	}
	if partial {
		require.Equal(t, []int64{full, 1}, []int64{leads.number("sync_full"), leads.number("sync_partial_ok")})
	} else {
		require.Equal(t, []int64{full + 1, 0}, []int64{leads.number("sync_full"), leads.number("sync_partial_ok")})
	}
}

// TestPlannedRestartAboveAChain: the master of a chain is stopped and started again. Neither the replica nor
// its replica copies all data.
func TestPlannedRestartAboveAChain(t *testing.T) {
	ours, redis := testkit.Lockserver(t), string(testkit.Oracle(t))
	for _, log := range []string{"no", "yes"} {
		for _, middle := range []string{ours, redis} {
			if middle == redis && log == "yes" {
				continue
			}
			t.Run(fmt.Sprintf("appendonly=%s,redis=%v", log, middle == redis), func(t *testing.T) {
				top := fleet.NewProcess(t, ours, killConf+"appendonly "+log+"\nsave 3600 100000\n")
				mid := fleet.NewProcess(t, middle, killConf+"save \"\"\nreplicaof 127.0.0.1 "+top.Port+"\n")
				last := fleet.NewProcess(t, ours, killConf+"save \"\"\nreplicaof 127.0.0.1 "+mid.Port+"\n")
				for _, p := range []*fleet.Process{top, mid, last} {
					p.Start()
				}
				leads, between, follows := reach(t, top.Addr()), reach(t, mid.Addr()), reach(t, last.Addr())
				plain(leads)
				inStep(t, leads, between)
				inStep(t, leads, follows)
				require.Equal(t, "+OK", leads.do("SET last before"))
				inStep(t, leads, follows)
				full := between.number("sync_full")
				code, err := top.Terminate()
				require.NoError(t, err)
				require.Zero(t, code)
				top.Start()
				leads = reach(t, top.Addr())
				require.Equal(t, "+OK", leads.do("SET more after"))
				inStep(t, leads, between)
				inStep(t, leads, follows)
				require.Equal(t, []int64{0, 1}, []int64{leads.number("sync_full"), leads.number("sync_partial_ok")})
				require.Equal(t, full, between.number("sync_full"), "the replica of the replica goes on")
			})
		}
	}
}
