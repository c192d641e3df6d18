package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// frozen are the options of a server with a clock that stands still at an hour.
func frozen() server.Options {
	return server.Options{Directives: map[string]string{"test-mode": "yes"}}
}

// TestDelayedPages: streams in the order in which they are due, their entries, and an entry with its rule and
// its next times. An id is found in any stream.
func TestDelayedPages(t *testing.T) {
	w := worldOf(t, frozen())
	require.EqualValues(t, 1_790_000_000_000, w.client.Do("TEST.CLOCK", "FREEZE", "1790000000000").Int)
	require.Contains(t, w.get("/delayed").Body.String(), "No entry is delayed")
	w.client.Do("DELAY.ADD", "b", "PX", "7200000", "ID", "late", "n", "1")
	w.client.Do("DELAY.ADD", `a<b>"`, "PX", "3600000", "ID", `<i>"`, `<u>"`, "1")
	w.client.Do("DELAY.ADD", `a<b>"`, "AT", "1790003600000", "EVERY", "60000", "TIMES", "3", "ID", "beat", "n", "1")
	w.client.Do("SELECT", "3")
	w.client.Do("DELAY.ADD", "c", "CRON", "0 9 * * 1-5", "TZ", "Europe/Berlin", "MISSED", "SKIP", "ID", "daily", "n", "1")
	page := w.get("/delayed").Body.String()
	first, second, third := strings.Index(page, "a&lt;b&gt;&#34;</a>"), strings.Index(page, ">b</a>"), strings.Index(page, `>c</a> <span class="dim small">db 3`)
	require.True(t, 0 < first && first < second && second < third, page)
	require.Contains(t, page, `id="pending">4<`)
	require.NotContains(t, page, `<b>"`)

	page = w.get(delayedLink(0, `a<b>"`, "")).Body.String()
	require.Contains(t, page, "&lt;i&gt;")
	require.Contains(t, page, "every 1m0s, 3 more")
	page = w.get(delayedLink(0, `a<b>"`, "beat")).Body.String()
	require.Equal(t, 3, strings.Count(page, `<li class="num">`), "no more times than the rule has")
	require.Contains(t, page, `<li class="num">2026-09-21 15:15:20 UTC</li>`)
	require.Contains(t, page, "Cancel it")
	page = w.get(delayedLink(3, "c", "daily")).Body.String()
	require.Contains(t, page, "cron 0 9 * * 1-5, Europe/Berlin, missed times are left out")
	require.Contains(t, page, `<li class="num">2026-09-22 07:00:00 UTC</li>`)
	require.Contains(t, w.get(delayedLink(0, "b", "gone")).Body.String(), "No such entry is pending")
	require.Contains(t, w.get(delayedLink(0, "none", "")).Body.String(), "No entry is pending")

	page = w.get("/delayed?q=daily").Body.String()
	require.Contains(t, page, `href="/delayed?db=3&amp;id=daily&amp;stream=c"`)
	require.NotContains(t, page, ">b</a>")
	require.Contains(t, w.get("/delayed?q=b").Body.String(), ">b</a>", "a part of the name of a stream")
	require.Contains(t, w.get("/delayed?q=nothing").Body.String(), "No such entry")
	require.Empty(t, w.log.String())
}

// TestDelayedEntriesInPages: each entry is on one of the pages that lead to each other.
func TestDelayedEntriesInPages(t *testing.T) {
	w := newWorld(t)
	const n = 2*entriesAPage + 7
	for i := range n {
		w.client.Do("DELAY.ADD", "s", "AT", fmt.Sprint(4_000_000_000_000+i/3), "ID", fmt.Sprintf("entry-%03d-", i), "n", "1")
	}
	seen, path := map[string]bool{}, delayedLink(0, "s", "")
	for pages := 0; path != ""; pages++ {
		require.Less(t, pages, 5)
		page := w.get(path).Body.String()
		for i := range n {
			if id := fmt.Sprintf("entry-%03d-", i); strings.Contains(page, id) {
				seen[id] = true
			}
		}
		path = ""
		if link, _, ok := strings.Cut(page, `" rel="next">Later`); ok {
			path = strings.ReplaceAll(link[strings.LastIndex(link, `href="`)+6:], "&amp;", "&")
		}
	}
	require.Len(t, seen, n)
}

// TestCancelNeedsAConfirmation: and a user without the right is not offered the form.
func TestCancelNeedsAConfirmation(t *testing.T) {
	w := newWorld(t)
	w.client.Do("DELAY.ADD", "mails", "PX", "3600000", "ID", "m-1", "to", "ann")
	w.client.Do("DELAY.ADD", "orders", "PX", "3600000", "ID", "o-1", "to", "ann")
	page := w.get(delayedLink(0, "mails", "m-1")).Body.String()
	cancel, form := "/delayed/cancel?db=0&id=m-1&stream=mails", url.Values{"token": {w.token(page)}}
	require.Contains(t, page, strings.ReplaceAll(cancel, "&", "&amp;"))
	require.Contains(t, w.post(cancel, form).Header().Get("Location"), "problem=unsure")
	require.EqualValues(t, 1, w.client.Do("DELAY.COUNT", "mails").Int)
	require.Equal(t, http.StatusForbidden, w.post(cancel, url.Values{"sure": {"yes"}}).Code)
	form.Set("sure", "yes")
	require.Contains(t, w.post(cancel, form).Header().Get("Location"), "cancelled=m-1")
	require.EqualValues(t, 0, w.client.Do("DELAY.COUNT", "mails").Int)
	require.Contains(t, w.log.String(), "a delayed entry was cancelled")
	require.Contains(t, w.post(cancel, form).Header().Get("Location"), "problem=gone")

	w.client.Do("DELAY.ADD", "mails", "PX", "3600000", "ID", "m-1", "to", "ann")
	w.client.Do("ACL", "SETUSER", "viewer", "on", ">secret", "~*mails*", "+delay.list", "+delay.get", "+delay.count", "+select")
	w.logIn("viewer", "secret")
	page = w.get("/delayed").Body.String()
	require.Contains(t, page, ">mails</a>")
	require.NotContains(t, page, "orders", "the user may not read the key")
	page = w.get(delayedLink(0, "mails", "m-1")).Body.String()
	require.Contains(t, page, `<td class="mono">ann</td>`)
	require.NotContains(t, page, "Cancel it")
	form.Set("token", w.token(page))
	require.Contains(t, w.post(cancel, form).Header().Get("Location"), "problem=refused")
	require.EqualValues(t, 1, w.client.Do("DELAY.COUNT", "mails").Int)
	require.NotContains(t, w.get(delayedLink(0, "orders", "o-1")).Body.String(), "ann")
	w.client.Do("ACL", "SETUSER", "less", "on", ">secret", "~*", "+lock.list", "+select")
	w.logIn("less", "secret")
	require.Equal(t, http.StatusForbidden, w.get("/delayed").Code)
}
