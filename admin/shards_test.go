package admin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/internal/keyslot"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// openShards opens a port for a cluster of three shards, and returns a client and a key of each.
func openShards(t *testing.T) (p *Port, clients []*testkit.Client, keys []string) {
	t.Helper()
	c, err := server.NewCluster(server.Options{}, 3)
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Close() })
	var sources []Source
	for _, srv := range c.Shards() {
		sources, clients = append(sources, srv), append(clients, testkit.Dial(t, srv.Dial))
	}
	for i := 0; len(keys) < 3; i++ {
		if key := fmt.Sprint("k", i); keyslot.Of([]byte(key))*3/keyslot.Count == len(keys) {
			keys = append(keys, key)
		}
	}
	return openAll(t, sources), clients, keys
}

// TestMetricsOfShards: one scrape has the metrics of all shards, and each series the label of its shard.
// Without shards no series has that label.
func TestMetricsOfShards(t *testing.T) {
	p, clients, keys := openShards(t)
	for i, c := range clients {
		for range i {
			require.Positive(t, c.Do("LOCK", keys[i], "me").Int)
		}
		require.Equal(t, "+OK", c.Do("SECKILL.CREATE", "{"+keys[i]+"}", "STOCK", fmt.Sprint(i), "STREAM", "o{"+keys[i]+"}").String())
	}
	text := metricsOf(t, p)
	for i := range clients {
		for _, line := range []string{
			fmt.Sprintf(`lockserver_locks_held{db="db0",shard="%d"} %d`, i+1, min(i, 1)), fmt.Sprintf(`lockserver_sales{shard="%d"} 1`, i+1),
			fmt.Sprintf(`lockserver_sale_stock{db="db0",shard="%d",voucher="{%s}"} %d`, i+1, keys[i], i), fmt.Sprintf(`redis_up{shard="%d"} 1`, i+1),
			fmt.Sprintf(`lockserver_lock_wait_seconds_count{db="db0",shard="%d"} 0`, i+1),
		} {
			require.Contains(t, text, "\n"+line+"\n")
		}
	}
	label := regexp.MustCompile(`[{,]shard="[123]"[,}]`)
	for line := range strings.Lines(text) {
		require.True(t, line[0] == '#' || len(label.FindAllString(line, -1)) == 1, line)
	}
	alone, _ := served(t, server.Options{})
	require.NotContains(t, metricsOf(t, alone), "shard=")
}

// TestSalesOfShards: the bound of the series is that of the process.
func TestSalesOfShards(t *testing.T) {
	p, clients, keys := openShards(t)
	const each = mostSales / 3
	for i, c := range clients {
		script := fmt.Sprintf("for i = 1, %d do redis.call('SET', 'seckill:stock:{%s}' .. i, i) end", each+10, keys[i])
		require.Equal(t, "$nil", c.Do("EVAL", script, "1", keys[i]).String())
	}
	require.Equal(t, 3*each, strings.Count(metricsOf(t, p), "\nlockserver_sale_stock{"))
}

// TestReadinessOfShards: a port is ready when all shards are, and names those that are not.
func TestReadinessOfShards(t *testing.T) {
	fakes := []*fakeSource{{}, {}, {}}
	p := openAll(t, []Source{fakes[0], fakes[1], fakes[2]})
	status, text := get(t, p, "/readyz")
	require.Equal(t, 200, status)
	require.Equal(t, "ok\n", text)
	fakes[1].reason, fakes[2].reason = errors.New("loading the data"), errors.New("the disk is full")
	status, text = get(t, p, "/readyz")
	require.Equal(t, 503, status)
	require.Equal(t, "shard 2: loading the data; shard 3: the disk is full\n", text)
}

// TestThePastOfShards: the charts of the console have the sums of all shards, and their sales.
func TestThePastOfShards(t *testing.T) {
	p, clients, keys := openShards(t)
	for i, c := range clients {
		require.Equal(t, "+OK", c.Do("SECKILL.CREATE", "{"+keys[i]+"}", "STOCK", fmt.Sprint(i+1), "STREAM", "o{"+keys[i]+"}").String())
	}
	for i, c := range clients {
		require.Positive(t, c.Do("LOCK", keys[i], "ann", "PX", "600000").Int)
	}
	past, machine := new(history.Book), time.Now()
	s := sampler{shards: p.shards, past: past}
	s.sample(machine)
	s.sample(machine.Add(time.Second))
	for i, key := range keys {
		require.EqualValues(t, i+1, past.Of(console.SaleSeries(0, "{"+key+"}"))[1][0])
	}
	require.Len(t, past.Of(console.OpsSeries)[1], 1)
	require.Equal(t, []float64{float64(len(keys))}, past.Of(console.HeldSeries)[1])
}
