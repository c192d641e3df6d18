package readme

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsers: the rules of docs/SECURITY.md create users with the rights that they need, and no more.
func TestUsers(t *testing.T) {
	p := startProgram(t, t.TempDir(), 0)
	admin := p.Client(t)
	rules := 0
	for _, b := range blocksOf(t, "text users") {
		for line := range strings.Lines(b.text) {
			words := strings.Fields(line)
			if words[2] == "default" { // last, as the page says
				continue
			}
			require.Equal(t, "+OK", admin.Do(words...).String(), line)
			rules++
		}
	}
	require.Equal(t, 3, rules)
	require.Equal(t, "+OK", admin.Do("SET", "seckill:stock:v1", "2").String())
	require.Equal(t, "+OK", admin.Do("AUTH", "admin", "long-secret").String())
	require.Equal(t, "+OK", admin.Do("ACL", "SETUSER", "default", "off").String())

	worker, watcher := p.Client(t), p.Client(t)
	require.Contains(t, worker.Do("PING").String(), "NOAUTH")
	require.Equal(t, "+OK", worker.Do("AUTH", "worker", "other-secret").String())
	require.Positive(t, worker.Do("LOCK", "lock:1", "me").Int)
	require.EqualValues(t, 0, worker.Do("SECKILL", "v1", "ann", "order-1").Int)
	for _, line := range []string{"LOCK other:1 me", "LOCK.FORCE lock:1", "GET seckill:stock:v1", "SECKILL v2 ann order-1", "ACL LIST"} {
		require.Contains(t, worker.Do(strings.Fields(line)...).String(), "NOPERM", line)
	}
	require.Equal(t, "+OK", watcher.Do("AUTH", "watcher", "third-secret").String())
	require.Contains(t, watcher.Do("LOCK.INFO", "lock:1").String(), "owner")
	for _, line := range []string{"LOCK lock:2 me", "UNLOCK lock:1 me", "HGETALL lock:1"} {
		require.Contains(t, watcher.Do(strings.Fields(line)...).String(), "NOPERM", line)
	}
}
