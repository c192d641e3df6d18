package console

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// aheadClock is a clock that is ahead of the machine's.
type aheadClock struct{}

const aheadMS = 3_600_000

func (aheadClock) NowUS() int64 { return time.Now().UnixMicro() + aheadMS*1000 }

// TestTimeIsTheServers: the pages count by the time of the server's data, which is not the machine's: in a
// raft group, and in test mode. Ends of leases, the time line of a lock, and charts are by it, too.
func TestTimeIsTheServers(t *testing.T) {
	w := worldOf(t, server.Options{Clock: aheadClock{}})
	number := func(page, pattern string) int64 {
		found := regexp.MustCompile(pattern).FindStringSubmatch(page)
		require.NotNil(t, found, "%s: %s", pattern, page)
		n, err := strconv.ParseInt(found[1], 10, 64)
		require.NoError(t, err)
		return n
	}
	before := time.Now().UnixMilli() + aheadMS
	require.Positive(t, w.client.Do("LOCK", "door", "alice", "PX", "600000").Int)
	for _, path := range []string{"/locks", "/lock?key=door"} {
		page := w.get(path).Body.String()
		after := time.Now().UnixMilli() + aheadMS
		now := number(page, `data-now="(\d+)"`)
		require.GreaterOrEqual(t, now, before, path)
		require.LessOrEqual(t, now, after, path)
		since := number(page, `data-since="(\d+)"`)
		require.LessOrEqual(t, since, now, path)
		require.InDelta(t, since+600_000, number(page, `data-ends="(\d+)"`), float64(after-before)+50, path)
	}
	pages := httptest.NewServer(w.console)
	defer pages.Close()
	w.remote, w.host = pages.Listener.Addr().String(), pages.Listener.Addr().String()
	w.client.Do("SECKILL.CREATE", "shoes", "STOCK", "10")
	require.Equal(t, http.StatusOK, w.get("/locks").Code)
	for path, series := range map[string]string{"/sales": `"sale:0:shoes":`, "/server": `"ops":`} {
		begun := time.Now().UnixMilli() + aheadMS
		text := w.stream(pages.URL+path+"/live", "]}\n\n", nil)
		_, points, _ := strings.Cut(text, "event: points")
		at := 1000 * number(points, series+`\[(\d+)`)
		require.GreaterOrEqual(t, at, begun-1000, path)
		require.LessOrEqual(t, at, time.Now().UnixMilli()+aheadMS, path)
	}
	conn, err := connect([]Backend{w.srv})
	require.NoError(t, err)
	defer conn.Close()
	h, err := readTimeline(&viewer{conn: conn, backend: w.srv}, 0, "door", window{}, nil)
	require.NoError(t, err)
	require.GreaterOrEqual(t, h.ToMS, before)
}
