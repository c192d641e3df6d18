package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/internal/resp"
	"lockserver/server/cluster"
	"lockserver/server/raft"
	"lockserver/server/shardmap"
)

// TestRunbook: there are words for each kind of alarm, with no Markdown left in them.
func TestRunbook(t *testing.T) {
	kinds := []string{"shard-down"}
	for _, k := range raft.Kinds {
		kinds = append(kinds, string(k))
	}
	require.Len(t, runbook(), len(kinds))
	for _, kind := range kinds {
		a, has := runbook()[kind]
		require.True(t, has, kind)
		require.NotEmpty(t, a.What, kind)
		require.NotEmpty(t, a.Text, kind)
		for _, paragraph := range a.Text {
			for _, mark := range []string{"`", "](", "# "} {
				require.NotContains(t, string(paragraph), mark, kind)
			}
		}
	}
	require.Equal(t, "a member lacks what was committed more than 10 seconds ago", runbook()["behind"].What)
	require.Len(t, runbook()["no-leader"].Text, 4, "a paragraph, and three items")
	require.Contains(t, string(runbook()["unreachable"].Text[0]), "(<code>systemctl status lockserver</code>)")
	require.Equal(t, "a &lt;b&gt; <code>c</code> text", string(plainHTML("a <b> `c` [text](HA.md#x)")))
}

// TestAlarmsOfAKind: alarms of one kind stand together, and a text may have what separates others.
func TestAlarmsOfAKind(t *testing.T) {
	var p membersPage
	p.readAlarms(map[string]string{"raft_alarms": "3", "raft_alarm0": "kind=behind,text='b' does not have 7 committed entries",
		"raft_alarm1": "kind=disk,text=no space; a=b, c,text=d", "raft_alarm2": "kind=behind,text=<b>"})
	require.Len(t, p.Alarms, 2)
	require.Equal(t, []string{"'b' does not have 7 committed entries", "<b>"}, p.Alarms[0].Texts)
	require.Equal(t, []string{"no space; a=b, c,text=d"}, p.Alarms[1].Texts)
	require.Equal(t, runbook()["disk"], p.Alarms[1].advice)
}

// TestMemberRow: the figures of a member, and its troubles in one line.
func TestMemberRow(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: resp.Bulk, Str: s} }
	whole := func(n int64) resp.Value { return resp.Value{Kind: resp.Integer, Int: n} }
	m := newGroupMember(call.Fields{"id": text("b"), "role": text("unreachable"), "lag": whole(7), "lag-ms": whole(1500), "last-contact-ms": whole(-1),
		"round-trip-p99-us": whole(420), "log-sync-p99-us": whole(-1), "unreachable": text("no route"), "data": text("differs")}, "a")
	require.Equal(t, groupMember{ID: "b", Role: "unreachable", Lag: 7, LagMS: 1500, HeardMS: -1, TripUS: 420, SyncUS: -1, Problem: "no route; its data differs"}, m)
}

// TestShardOfTheMap: the leader of a shard stands apart from the other members.
func TestShardOfTheMap(t *testing.T) {
	of := &shardmap.Shard{Name: "s1", Generation: 3, Slots: []cluster.Range{{First: 0, Last: 9}, {First: 20, Last: 20}}, Leader: "y",
		Members: []shardmap.Member{{ID: "x", Host: "h1", Port: 1}, {ID: "y", Host: "h2", Port: 2}}}
	require.Equal(t, mapShard{Name: "s1", Slots: "0-9 20", Leader: "h2:2", Count: 11, Generation: 3, Others: []string{"h1:1"}, Own: true}, newMapShard(of, "s1"))
	of.Leader = ""
	s := newMapShard(of, "s2")
	require.Empty(t, s.Leader)
	require.Len(t, s.Others, 2)
	require.False(t, s.Own)
}

// TestMembersPage: a lone server, a replica with its primary, and the rights that the page needs. Raft groups
// and several shards are in tests/console and TestShards.
func TestMembersPage(t *testing.T) {
	w := newWorld(t)
	require.Contains(t, w.get("/members").Body.String(), "This server is alone")
	var p membersPage
	p.readReplication(map[string]string{"connected_slaves": "1", "slave0": "ip=10.0.0.2,port=6379,state=online,offset=90,lag=1", "master_repl_offset": "100"})
	require.Equal(t, []replicaView{{Address: "10.0.0.2:6379", State: "online", Behind: 10, HeardS: 1}}, p.Replicas)
	p.readReplication(map[string]string{"master_host": "10.0.0.1", "master_port": "6379", "master_link_status": "down", "master_last_io_seconds_ago": "-1"})
	require.Equal(t, &primaryView{Address: "10.0.0.1:6379", HeardS: -1}, p.Primary)
	require.False(t, p.Alone())

	w.client.Do("ACL", "SETUSER", "viewer", "on", ">secret", "~*", "+lock.list", "+lock.info", "+select")
	w.logIn("viewer", "secret")
	require.Equal(t, 403, w.get("/members").Code)
	require.NotContains(t, w.get("/locks").Body.String(), `href="/members"`)
}

// TestSpanText: durations are as the clocks in the browser show them.
func TestSpanText(t *testing.T) {
	for s, want := range map[int64]string{0: "0 s", 59: "59 s", 60: "1:00 min", 3599: "59:59 min", 3600: "1:00 h", 86399: "23:59 h", 172_800: "2 d"} {
		require.Equal(t, want, spanText(s))
	}
}
