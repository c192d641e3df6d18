package console

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// TestShards: the pages have what all shards have, each lock and sale with its shard. A lock is released on
// its shard, and a login counts for all.
func TestShards(t *testing.T) {
	of, err := server.NewCluster(server.Options{Directives: map[string]string{"user": "ops on >pw ~* +@all"}}, 3)
	require.NoError(t, err)
	require.NoError(t, of.Start())
	t.Cleanup(func() { _ = of.Close() })
	var shards []Backend
	w := &world{t: t, cookies: map[string]string{}, remote: "192.0.2.7:5000", host: "localhost:9000"}
	var clients []*testkit.Client
	for _, srv := range of.Shards() {
		shards, clients = append(shards, srv), append(clients, testkit.Dial(t, srv.Dial))
	}
	w.console = New(shards, &w.past, slog.New(slog.NewTextHandler(&w.log, nil)))
	key := func(shard, n int) string {
		for i := 0; ; i++ {
			if tag := fmt.Sprint("t", i); keyslot.Of([]byte(tag))*3/keyslot.Count == shard {
				return fmt.Sprintf("{%s}%d", tag, n)
			}
		}
	}
	for shard, c := range clients {
		for n := range locksAPage {
			require.Positive(t, c.Do("LOCK", key(shard, n), fmt.Sprint("owner-", shard), "PX", "600000").Int)
		}
		require.Equal(t, "+OK", c.Do("SECKILL.CREATE", key(shard, 0), "STOCK", "5", "STREAM", "o"+key(shard, 0)).String())
	}
	require.Equal(t, 401, w.logIn("ops", "wrong").Code)
	require.Equal(t, 303, w.logIn("ops", "pw").Code)

	found := map[string]bool{}
	for path, pages := "/locks", 0; path != ""; pages++ {
		require.Less(t, pages, 10)
		page := w.get(path).Body.String()
		path = ""
		for shard := range clients {
			require.Equal(t, pages < 3, strings.Contains(page, fmt.Sprint("shard ", shard+1)), "each page has locks of all shards")
			for n := range locksAPage {
				if strings.Contains(page, `id="lock-`+key(shard, n)+`"`) {
					require.False(t, found[key(shard, n)])
					found[key(shard, n)] = true
				}
			}
		}
		if _, rest, ok := strings.Cut(page, `" rel="next"`); ok {
			link := page[:len(page)-len(rest)]
			link = link[strings.LastIndex(link, `href="`)+6:]
			path = strings.ReplaceAll(strings.TrimSuffix(link, `" rel="next"`), "&amp;", "&")
		}
	}
	require.Len(t, found, 3*locksAPage)
	page := w.get("/locks?by=owner&q=owner-2").Body.String()
	require.Contains(t, page, "shard 3")
	require.NotContains(t, page, "shard 2")

	page = w.get("/sales").Body.String()
	for shard := range clients {
		require.Regexp(t, `\{t\d+\}0</h2> <span class="tag">shard `+fmt.Sprint(shard+1), page)
	}
	lock := key(2, 7)
	page = w.get("/lock?" + lockQuery(0, lock)).Body.String()
	require.Contains(t, page, "<dt>Shard</dt><dd class=\"num\">3</dd>")
	token := clients[2].Do("LOCK", lock, "owner-2", "PX", "600000").Int
	w.post("/lock/release?"+lockQuery(0, lock), url.Values{"token": {w.token(page)}, "lock": {fmt.Sprint(token)}, "name": {lock}})
	require.Equal(t, ":0", fmt.Sprintf(":%d", clients[2].Do("EXISTS", lock).Int))
	page = w.get("/members").Body.String()
	for shard, slots := range []string{"0–5460", "5461–10922", "10923–16383"} {
		require.Regexp(t, fmt.Sprintf(`(?s)<tr id="shard-%d">.*?<td data-label="Slots" class="num wide">%s</td><td data-label="Keys" class="num">\d+</td><td data-label="Held" class="num">%d</td>`,
			shard+1, slots, locksAPage-shard/2), page, "one lock of the last shard was released")
	}
	page = w.get("/server").Body.String()
	require.Contains(t, page, `<dt>Clients</dt><dd class="num">6</dd>`)
}
