package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestLimitersPage: the limiters that refuse the most come first. Each command that a limiter refuses counts,
// also in a script. A call that waits counts if its time is over, and not if it gets its units.
func TestLimitersPage(t *testing.T) {
	w := worldOf(t, frozen())
	require.EqualValues(t, 1_790_000_000_000, w.client.Do("TEST.CLOCK", "FREEZE", "1790000000000").Int)
	page := w.get("/limiters").Body.String()
	require.Contains(t, page, "No call was refused")
	require.Contains(t, page, `id="refused">0<`)
	take := func(words ...string) { w.client.Do(append([]string{"LIMIT.TAKE"}, words...)...) }
	take("api", "5", "1", "60000", "COST", "5")
	for range 3 {
		take("api", "5", "1", "60000", "COST", "2") // refused
	}
	for range 2 {
		w.client.Do("CL.THROTTLE", "cell", "0", "1", "60") // the second one is refused
	}
	w.client.Do("LIMIT.MTAKE", "2", "free", "5", "1", "60000", "api", "5", "1", "60000") // api refuses
	for range 3 {
		w.client.Do("EVAL", "return redis.call('LIMIT.TAKE', KEYS[1], 1, 1, 60000)", "1", `<b>"script`)
	}
	waits := testkit.Dial(t, w.srv.Dial)
	awaited := func() {
		require.Eventually(t, func() bool { return strings.Contains(w.client.Do("INFO", "clients").Str, "blocked_clients:1\r") }, 30*time.Second, time.Millisecond)
	}
	take("queue", "1", "1", "60000")
	waits.Send("LIMIT.TAKE", "queue", "1", "1", "60000", "WAIT", "0")
	awaited()
	take("queue", "1", "1", "60000")
	rows := func() (list [][]string) {
		page = w.get("/limiters").Body.String()
		return regexp.MustCompile(`data-row>([^<]+)</span>.*?Refused calls" class="num">(\d+)<.*?Refused units" class="num">(\d+)<`).FindAllStringSubmatch(page, -1)
	}
	var got [][]string
	for _, m := range rows() {
		got = append(got, m[1:])
	}
	require.NotEmpty(t, got, page)
	require.Equal(t, []string{"api", "4", "7"}, got[0])
	require.Equal(t, []string{"&lt;b&gt;&#34;script", "2", "2"}, got[1])
	require.ElementsMatch(t, [][]string{{"cell", "1", "1"}, {"queue", "1", "1"}}, got[2:])
	require.NotContains(t, page, `<b>"`)
	require.Contains(t, page, `Waiting now" class="num"><span class="badge">1<`)
	require.Contains(t, page, `id="refused">8<`)
	require.Contains(t, page, `data-ends="1790000300000"`, "the first limiter is full again in five minutes")
	w.client.Do("TEST.CLOCK", "ADVANCE", "60000")
	require.EqualValues(t, 1, waits.Receive().Elems[0].Int, "the waiting call got its unit")
	waits.Send("LIMIT.TAKE", "queue", "1", "1", "60000", "WAIT", "100")
	awaited()
	w.client.Do("TEST.CLOCK", "ADVANCE", "200")
	require.EqualValues(t, 0, waits.Receive().Elems[0].Int)
	rows()
	require.Contains(t, page, `id="refused">9<`)

	w.client.Do("ACL", "SETUSER", "viewer", "on", ">secret", "~ap*", "+lock.hot")
	w.logIn("viewer", "secret")
	rows()
	require.Contains(t, page, ">api<")
	require.NotContains(t, page, ">queue<")
	w.client.Do("ACL", "SETUSER", "less", "on", ">secret", "~*", "+lock.list", "+select")
	w.logIn("less", "secret")
	require.Equal(t, http.StatusForbidden, w.get("/limiters").Code)
	w.cookies = map[string]string{}
	w.client.Do("CONFIG", "RESETSTAT")
	rows()
	require.Contains(t, page, `id="refused">0<`)
	w.client.Do("CL.THROTTLE", "cell", "0", "1", "60")
	w.client.Do("CL.THROTTLE", "cell", "0", "1", "60")
	rows()
	require.Contains(t, page, `id="refused">1<`)
}
