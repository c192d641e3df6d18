// Package raftbench measures a group of three lockservers, each a process, all on this machine. It measures
// how many locks a second it takes and gives back beside three etcd and three Hazelcast, and for how much
// processor time. It measures how long clients of a leader that is killed are without one. A write to the
// leader is compared with one to a server alone that writes each one to its disk. The last figure is how soon
// a member is back that has missed a million writes.
//
// It owns how the load is made, and the targets. It must not know how a server works inside. The members
// and the load of Hazelcast are the Maven module in hazelcast. To add a measurement, write a file with a
// method of bench that ends in the report, and name it in Suite.
package raftbench

import (
	"context"
	"flag"
	"io"
	"time"

	"lockserver/tests/bench/benchkit"
)

// sizes holds the amounts of work of the measurements.
type sizes struct {
	span    time.Duration // of one round of locks
	warm    time.Duration // before it
	kills   int
	writes  int // for the comparison of costs
	missed  int // writes that a member misses
	clients int
	keys    int // in a group with much data
	// pauses and takeovers are how often a leader is stopped, and killed.
	pauses, takeovers int
}

func fullSizes() sizes {
	return sizes{span: 10 * time.Second, warm: 2 * time.Second, kills: 50, writes: 200_000, missed: 1_000_000, clients: 50, keys: 1_000_000, pauses: 20, takeovers: 5}
}

// quickSizes returns sizes that only show that everything works; their figures mean little.
func quickSizes() sizes {
	return sizes{span: time.Second, warm: 200 * time.Millisecond, kills: 2, writes: 10_000, missed: 20_000, clients: 10, keys: 20_000, pauses: 2, takeovers: 2}
}

// bench is one run.
type bench struct {
	benchkit.Run
	sizes     sizes
	module    string     // the directory of Hazelcast's Maven module, or empty to leave it out
	hazelcast *hazelcast // nil if it is not measured
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "raftbench", Asks: "what does a raft group cost, beside three etcd and three Hazelcast?",
		Needs: []string{"java, if -hazelcast is given"}, Written: benchkit.Apart,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&b.module, "hazelcast", "", "raftbench: the directory of the Maven module of Hazelcast, compiled; empty: locks are measured without it")
		},
		Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: "locks", Measures: "locks a second of three servers", Run: b.locks},
			{Name: "cost", Measures: "a write of a leader beside a server alone that syncs each", Run: b.cost},
			{Name: "failover", Measures: "how long clients are without a leader that is killed", Run: b.failover},
			{Name: "behind", Measures: "how soon a member is back that missed a million writes", Run: b.behind},
		},
		Roles: map[string]func(context.Context, []string, io.Writer) int{etcdWord: runEtcd},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) (about []string, err error) {
	b.Run, b.sizes = r, fullSizes()
	if r.Quick {
		b.sizes = quickSizes()
	}
	if b.module != "" {
		if b.hazelcast, err = findHazelcast(b.module); err != nil {
			return nil, err
		}
	}
	return []string{"- All servers are on the same disk", "- etcd: " + etcdVersion(), "- Hazelcast: " + b.hazelcastVersion()}, nil
}
