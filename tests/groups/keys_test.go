//go:build raft && unix

package groups

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/tests/fleet"
)

// keys has a key for each slot.
var keys = sync.OnceValue(func() map[int]string {
	all := make(map[int]string)
	for i := 0; len(all) < keyslot.Count; i++ {
		k := "k" + strconv.Itoa(i)
		all[keyslot.Of([]byte(k))] = k
	}
	return all
})

// dialTo returns what connects to a process.
func dialTo(p *fleet.Process) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", p.Addr(), time.Minute) }
}

// shardsOf is a reply of CLUSTER SHARDS in short: a line for each shard.
func shardsOf(t *testing.T, v resp.Value) (lines string) {
	t.Helper()
	for _, s := range v.Elems {
		ranges := s.Elems[1].Elems
		for i := 0; i < len(ranges); i += 2 {
			lines += fmt.Sprintf("%d-%d ", ranges[i].Int, ranges[i+1].Int)
		}
		lines += fmt.Sprintf("%d members\n", len(s.Elems[3].Elems))
	}
	return lines
}
