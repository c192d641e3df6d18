package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/tests/testkit"
)

// COMMAND tells clients of a cluster how to route each native command: by a key, by a name, or by a tip about
// shards. Commands of test mode and of a raft group are for the one server that a program means.
func TestEachNativeCommandIsRouted(t *testing.T) {
	native := []commands.Group{commands.Lock, commands.Sale, commands.Limit, commands.Delay}
	checked := 0
	for _, row := range Table().Rows() {
		if !slices.Contains(native, row.Group) {
			continue
		}
		checked++
		tipped := slices.ContainsFunc(row.Tips, func(tip string) bool { return strings.HasPrefix(tip, "request_policy:") })
		require.NotEqual(t, tipped, len(row.Keys()) > 0, row.FullName())
		if row.Implied != nil {
			first := 1
			if row.Name == "seckill.cart" { // its vouchers follow the user, the order and their number
				first = 4
			}
			require.Equal(t, first, row.Keys()[0].Index, row.FullName())
		}
	}
	require.Greater(t, checked, 40)
}

// sharded is a server that is a cluster by itself.
func sharded(t *testing.T) *testkit.Client {
	t.Helper()
	srv := start(t, Options{Directives: map[string]string{"cluster-enabled": "yes"}})
	return testkit.Dial(t, srv.Dial)
}

// In a cluster all keys of a native command share a slot. A name without a hash tag is refused with an error
// that says what to write.
func TestNativeCommandsInACluster(t *testing.T) {
	c := sharded(t)
	for _, tt := range []struct{ line, want string }{
		{"SECKILL.CREATE shoe STOCK 5", "-CROSSSLOT In a cluster the keys that follow from a name must share its slot: put a hash tag into the name, as {shoe}"},
		{"SECKILL.CREATE {shoe} STOCK 5", "-CROSSSLOT In a cluster a sale's stream must share the slot of its voucher: create it with STREAM and a name that has the hash tag {shoe}"},
		{"SECKILL.CREATE {shoe} STOCK 5 STREAM orders:{shoe}", "+OK"},
		{"SECKILL {hat} ann 1", "-ERR no such seckill '{hat}'"},
		{"SECKILL.INFO {hat}", "-ERR no such seckill '{hat}'"},
		{"SECKILL.CANCEL {hat} ann 1", "-ERR no such seckill '{hat}'"},
		{"SECKILL.CART ben 1 2 {shoe} 1 no{shoe} 1", "-ERR no such seckill 'no{shoe}'"},
		{"SECKILL hat ann 1", "-CROSSSLOT In a cluster the keys that follow from a name must share its slot: put a hash tag into the name, as {hat}"},
		{"EVAL return(redis.pcall('seckill','{hat}','a','b')) 0", "-ERR no such seckill '{hat}'"},
		{"SET seckill:stock:{cap} 5", "+OK"}, // a sale without settings, so its stream is the default one
		{"SECKILL {cap} ann 1", "-CROSSSLOT In a cluster a sale's stream must share the slot of its voucher: create it with STREAM and a name that has the hash tag {cap}"},
		{"DEL seckill:stock:{cap}", "1"},
		{"MULTI", "+OK"},
		{"SET seckill:stock:{cap} 5", "+QUEUED"},
		{"SECKILL {cap} ann 1", "-CROSSSLOT In a cluster a sale's stream must share the slot of its voucher: create it with STREAM and a name that has the hash tag {cap}"},
		{"DISCARD", "+OK"},
		{"SECKILL {shoe} ann 1", "0"},
		{"SECKILL shoe ann 1", "-CROSSSLOT In a cluster the keys that follow from a name must share its slot: put a hash tag into the name, as {shoe}"},
		{"SECKILL.CONFIRM {shoe} ann 1", "1"},
		{"SECKILL.CREATE hat{shoe} STOCK 5 STREAM orders:{shoe}", "+OK"},
		{"SECKILL.CART ben 2 2 {shoe} 1 hat{shoe} 1", "0"},
		{"SECKILL.CART ben 3 2 {shoe} 1 {hat} 1", "-CROSSSLOT Keys in request don't hash to the same slot"},
		{"SECKILL.CART ben 3 1 shoe 1", "-CROSSSLOT In a cluster the keys that follow from a name must share its slot: put a hash tag into the name, as {shoe}"},
		{"NEXTID order", "-CROSSSLOT In a cluster the keys that follow from a name must share its slot: put a hash tag into the name, as {order}"},
		{"DELAY.ADD s PX 100000 ID 1 a b", `"1"`},
		{"DELAY.ADD {s}1 PX 100000 ID 1 a b", "-CROSSSLOT In a cluster a stream with a hash tag in its name can have no delayed entries"},
		{"DELAY.COUNT s", "1"},
		{"MLOCK 2 x y a PX 1000", "-CROSSSLOT Keys in request don't hash to the same slot"},
		{"LOCK {x}1 a PX 1000", ""},
		{"LIMIT.TAKE r 1 1 1000", ""},
		{"LOCK.ATTACH a", "1"},
		{"EVAL return(redis.call('seckill','shoe','a','b')) 0", ""},
	} {
		got := c.Do(strings.Fields(tt.line)...).String()
		if tt.want != "" {
			require.Equal(t, tt.want, got, tt.line)
		} else {
			t.Log(tt.line, got)
		}
	}
}
