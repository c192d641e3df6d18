//go:build oracle

package differential

import (
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

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// member returns one of our servers that takes the place of a real one in a group: it has its id, and claims
// to be at its port.
func member(t *testing.T, o topology.GroupOptions, view topology.View, self int) *server.Server {
	t.Helper()
	id := view.Members[self].ID
	o.Self = func(net.Addr) string { return id }
	group := topology.New(o)
	require.NoError(t, group.Update(view))
	srv, err := server.New(server.Options{Group: group})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	return srv
}

// TestTips: the tips of each command are those of Redis. Cluster clients go by them: which shards a command
// goes to, and what becomes of the replies.
func TestTips(t *testing.T) {
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	ours, redis := testkit.Dial(t, srv.Dial), testkit.StartRedis(t).Client(t)
	tips := func(c *testkit.Client, name string) (all []string) {
		for _, tip := range c.Do("COMMAND", "INFO", name).Elems[0].Elems[7].Elems {
			all = append(all, tip.Str)
		}
		slices.Sort(all)
		return all
	}
	compared := 0
	var visit func(of resp.Value)
	visit = func(of resp.Value) {
		name := of.Elems[0].Str
		for _, sub := range of.Elems[9].Elems {
			visit(sub)
		}
		if found := ours.Do("COMMAND", "INFO", name).Elems[0]; !found.IsNull() {
			require.Equal(t, tips(redis, name), tips(ours, name), name)
			compared++
		}
	}
	for _, of := range redis.Do("COMMAND").Elems {
		visit(of)
	}
	require.Greater(t, compared, 300)
}

// clusterQuestions lists the commands for the leader and a follower of a cluster; %s is the leader's id.
var clusterQuestions = []string{
	"CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES", "CLUSTER INFO", "CLUSTER MYID", "CLUSTER REPLICAS %s", "CLUSTER SLAVES %s",
	"CLUSTER REPLICAS abc", "CLUSTER REPLICAS %f", "CLUSTER COUNT-FAILURE-REPORTS %s", "CLUSTER COUNT-FAILURE-REPORTS abc",
	"CLUSTER KEYSLOT foo", "CLUSTER KEYSLOT {x}foo", "CLUSTER KEYSLOT a{}b", "CLUSTER KEYSLOT", "CLUSTER COUNTKEYSINSLOT 12182",
	"CLUSTER COUNTKEYSINSLOT 16384", "CLUSTER COUNTKEYSINSLOT -1", "CLUSTER COUNTKEYSINSLOT x", "CLUSTER GETKEYSINSLOT 12182 10",
	"CLUSTER GETKEYSINSLOT 12182 0", "CLUSTER GETKEYSINSLOT 0 -1", "CLUSTER GETKEYSINSLOT 0 x", "CLUSTER NOSUCH", "CLUSTER",
	"READONLY", "READWRITE", "ASKING", "SELECT 0", "SELECT 1", "SELECT x", "SWAPDB 0 1", "MOVE foo 1", "COPY {a}1 {a}2 DB 1",
	"GET foo", "GET {x}foo", "EXISTS foo", "MULTI", "GET foo", "EXEC", "MULTI", "PING", "EXEC", "EXEC", "EVAL x 1 foo", "SPUBLISH foo x",
	"EVAL return(redis.pcall('get','foo')) 0", "WATCH foo", "UNWATCH", "FLUSHALL", "INFO cluster", "ROLE", "TYPE foo", "RESET", "HELLO",
}

// TestClusterDiscovery: a member of a group replies like a node of a real cluster in its place, in both
// versions of the protocol.
func TestClusterDiscovery(t *testing.T) {
	var nodes [2]*testkit.Redis
	var asks [2]*testkit.Client
	ports := [2]int{testkit.ClusterPort(t), testkit.ClusterPort(t)}
	for i := range nodes {
		nodes[i] = testkit.StartRedis(t, "--cluster-enabled", "yes", "--port", strconv.Itoa(ports[i]), "--bind", "127.0.0.1",
			"--repl-diskless-sync-delay", "0")
		asks[i] = nodes[i].Client(t)
	}
	leader, follower := asks[0], asks[1]
	require.Equal(t, "+OK", leader.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383").String())
	require.Equal(t, "+OK", leader.Do("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(ports[1])).String())
	id := leader.Do("CLUSTER", "MYID").Str
	await(t, "they know each other", func() bool {
		return strings.Contains(follower.Do("CLUSTER", "NODES").Str, id) && follower.Do("CLUSTER", "REPLICATE", id).Str == "OK"
	})
	leader.Do("CLUSTER", "BUMPEPOCH")
	leader.Do("SET", "foo", "1")
	epoch := regexp.MustCompile(`cluster_my_epoch:(\d+)`)
	await(t, "they agree", func() bool {
		all := leader.Do("CLUSTER", "SLOTS").String() == follower.Do("CLUSTER", "SLOTS").String()
		mine, its := epoch.FindString(leader.Do("CLUSTER", "INFO").Str), epoch.FindString(follower.Do("CLUSTER", "INFO").Str)
		return all && mine == its && strings.Count(leader.Do("CLUSTER", "SLOTS").String(), "127.0.0.1") == 2 &&
			!strings.Contains(follower.Do("CLUSTER", "SHARDS").String(), "loading") && !strings.Contains(leader.Do("CLUSTER", "SHARDS").String(), "loading") &&
			strings.Contains(follower.Do("INFO", "replication").Str, "master_link_status:up")
	})
	term, err := strconv.ParseInt(epoch.FindStringSubmatch(leader.Do("CLUSTER", "INFO").Str)[1], 10, 64)
	require.NoError(t, err)
	view := topology.View{Term: term, Leader: id}
	for i, c := range asks {
		view.Members = append(view.Members, topology.Member{ID: c.Do("CLUSTER", "MYID").Str, Host: "127.0.0.1", Port: ports[i], Up: true, Offset: 1})
	}
	for i := range nodes {
		ours := member(t, topology.GroupOptions{ReplicasServe: true}, view, i)
		for proto := 2; proto <= 3; proto++ {
			a, b := nodes[i].Client(t), testkit.Dial(t, ours.Dial)
			if i == 0 {
				b.Do("SET", "foo", "1")
				a.Do("SET", "foo", "1")
			}
			a.Hello(proto)
			b.Hello(proto)
			for _, line := range clusterQuestions {
				line = strings.ReplaceAll(strings.ReplaceAll(line, "%s", id), "%f", view.Members[1].ID)
				words := strings.Fields(line)
				theirs, mine := stable(a.Do(words...)), stable(b.Do(words...))
				require.Equal(t, theirs, mine, "member %d, version %d: %s", i, proto, line)
			}
		}
	}
}

// volatile matches data that two servers cannot have in common: times, offsets, and the id of the client.
var volatile = []struct{ find, put string }{
	{`(connected|fail|slave [0-9a-f]{40}|master -) \d+ \d+ (\d+) `, "$1 0 T $2 "},
	{`cluster_stats_messages_\w+:\d+\\r\\n`, ""},
	{`"replication-offset" \d+`, `"replication-offset" N`},
	{`("(?:last-\S+|role-reported-time|info-refresh|slave-repl-offset|link-refcount|link-pending-commands|config-epoch)") "?\d+"?`, "$1 N"},
	{`\["(master)" \d+ \[\["127.0.0.1" "(\d+)" "\d+"\]\]\]`, "$1 N $2"},
	{`("slave" "127.0.0.1" \d+ "connected") \d+`, "$1 N"},
	{`"id" \d+`, `"id" N`},
	{`( script: )[0-9a-f]{40}(, on @user_script:1\.)`, "$1 S$2"},
}

// stable returns a reply without volatile data, with its lines sorted.
func stable(v resp.Value) string {
	if v.Kind == resp.Verbatim || v.Kind == resp.Bulk {
		format := ""
		if v.Kind == resp.Verbatim {
			format, v.Str = v.Str[:len("txt:")], v.Str[len("txt:"):]
		}
		lines := strings.SplitAfter(v.Str, "\n")
		slices.Sort(lines)
		v.Str = format + strings.Join(lines, "")
	}
	text := strings.ReplaceAll(v.String(), `":`, `" `) // the pairs of a map look like those of an array
	for _, rule := range volatile {
		text = regexp.MustCompile(rule.find).ReplaceAllString(text, rule.put)
	}
	return text
}

// sentinelQuestions lists the commands for a Sentinel.
var sentinelQuestions = []string{
	"SENTINEL MASTERS", "SENTINEL MASTER it", "SENTINEL MASTER other", "SENTINEL REPLICAS it", "SENTINEL SLAVES it", "SENTINEL REPLICAS other",
	"SENTINEL SENTINELS it", "SENTINEL SENTINELS other", "SENTINEL GET-MASTER-ADDR-BY-NAME it", "SENTINEL GET-MASTER-ADDR-BY-NAME other",
	"SENTINEL CKQUORUM it", "SENTINEL CKQUORUM other", "SENTINEL NOSUCH", "SENTINEL", "SENTINEL MASTER",
}

// TestSentinelDiscovery: a member of a group replies like a real Sentinel with a master and its replica.
func TestSentinelDiscovery(t *testing.T) {
	ports := [2]int{testkit.ClusterPort(t), testkit.ClusterPort(t)}
	master := testkit.StartRedis(t, "--port", strconv.Itoa(ports[0]), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0")
	replica := testkit.StartRedis(t, "--port", strconv.Itoa(ports[1]), "--bind", "127.0.0.1", "--replicaof", "127.0.0.1 "+strconv.Itoa(ports[0]))
	var sentinels [2]*testkit.Client
	for i := range sentinels {
		dir := t.TempDir()
		conf := filepath.Join(dir, "sentinel.conf")
		require.NoError(t, os.WriteFile(conf, []byte("sentinel monitor it 127.0.0.1 "+strconv.Itoa(ports[0])+" 2\n"), 0o644))
		s := testkit.StartSentinel(t, conf, testkit.ClusterPort(t))
		sentinels[i] = s.Client(t)
		require.Equal(t, "+OK", sentinels[i].Do("SENTINEL", "DEBUG", "info-period", "100", "publish-period", "100").String())
	}
	runID := regexp.MustCompile(`run_id:([0-9a-f]{40})`)
	view := topology.View{}
	for i, r := range []*testkit.Redis{master, replica} {
		id := runID.FindStringSubmatch(r.Client(t).Do("INFO", "server").Str)[1]
		view.Members = append(view.Members, topology.Member{ID: id, Host: "127.0.0.1", Port: ports[i], Up: true, Offset: 1})
	}
	view.Leader = view.Members[0].ID
	await(t, "the Sentinel knows the replica and the other one", func() bool {
		text := sentinels[0].Do("SENTINEL", "MASTERS").String() + sentinels[0].Do("SENTINEL", "REPLICAS", "it").String() +
			sentinels[0].Do("SENTINEL", "SENTINELS", "it").String()
		return strings.Contains(text, `"num-slaves" "1" "num-other-sentinels" "1"`) && strings.Contains(text, `"master-link-status" "ok"`) &&
			!strings.Contains(text, `"runid" ""`) && !strings.Contains(text, "disconnected")
	})
	ours := member(t, topology.GroupOptions{Form: topology.Sentinel, Name: "it", ReplicasServe: true}, view, 0)
	other := regexp.MustCompile(`"name" "[0-9a-f]{40}" "ip" "127.0.0.1" "port" "\d+" "runid" "[0-9a-f]{40}"`) // another Sentinel
	for proto := 2; proto <= 3; proto++ {
		mine := testkit.Dial(t, ours.Dial)
		mine.Hello(proto)
		sentinels[0].Hello(proto)
		for _, line := range sentinelQuestions {
			words := strings.Fields(line)
			a, b := stable(sentinels[0].Do(words...)), stable(mine.Do(words...))
			require.Equal(t, other.ReplaceAllString(a, "A SENTINEL"), other.ReplaceAllString(b, "A SENTINEL"), "version %d: %s", proto, line)
		}
	}
}
