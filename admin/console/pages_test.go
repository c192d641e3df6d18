package console

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/admin/history"
	"lockserver/internal/call"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// world is a server with a console, and a browser.
type world struct {
	t       *testing.T
	srv     *server.Server
	console *Console
	past    history.Book
	log     bytes.Buffer
	client  *testkit.Client
	cookies map[string]string
	remote  string // where the browser is
	host    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldOf(t, server.Options{})
}

// worldOf is newWorld with a server of such options.
func worldOf(t *testing.T, o server.Options) *world {
	t.Helper()
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	w := &world{t: t, srv: srv, client: testkit.Dial(t, srv.Dial), cookies: map[string]string{}, remote: "127.0.0.1:5000", host: "localhost:9000"}
	w.console = New([]Backend{srv}, &w.past, slog.New(slog.NewTextHandler(&w.log, nil)))
	w.console.AutoLogin = true
	return w
}

// send sends a request, keeping cookies.
func (w *world) send(r *http.Request) *httptest.ResponseRecorder {
	w.t.Helper()
	r.RemoteAddr, r.Host = w.remote, w.host
	for name, value := range w.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	reply := httptest.NewRecorder()
	w.console.ServeHTTP(reply, r)
	for _, cookie := range reply.Result().Cookies() {
		require.True(w.t, cookie.HttpOnly)
		require.Equal(w.t, http.SameSiteStrictMode, cookie.SameSite)
		if w.cookies[cookie.Name] = cookie.Value; cookie.MaxAge < 0 {
			delete(w.cookies, cookie.Name)
		}
	}
	return reply
}

func (w *world) get(path string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.send(httptest.NewRequest(http.MethodGet, path, nil))
}

func (w *world) post(path string, form url.Values) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.send(r)
}

// token is the one of a form on a page.
func (w *world) token(page string) string {
	w.t.Helper()
	found := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(w.t, found, page)
	return found[1]
}

// logIn logs a user in through the form.
func (w *world) logIn(user, password string) *httptest.ResponseRecorder {
	w.t.Helper()
	token := w.token(w.get("/login").Body.String())
	return w.post("/login", url.Values{"user": {user}, "password": {password}, "token": {token}, "next": {"/sales"}})
}

func TestEveryPageEmptyAndFull(t *testing.T) {
	w := newWorld(t)
	pages := []string{"/overview", "/overview?class=x", "/locks", "/locks?q=x", "/locks?cursor=1", "/graph", "/lock?key=a", "/sales", "/sales?q=x", "/members", "/server"}
	for _, path := range pages {
		reply := w.get(path)
		require.Equal(t, http.StatusOK, reply.Code, "%s: %s%s", path, reply.Body, w.log.String())
		require.Contains(t, reply.Body.String(), "</html>", path)
	}
	require.NotContains(t, w.get("/lock?key=a").Body.String(), "<dt>Class")
	w.client.Do("CONFIG", "SET", "lock-class", "letters a")
	w.client.Do("LOCK", "a", "ann", "PX", "60000")
	w.client.Do("LOCK", `<b>"&`, "eve\xff", "EX", "60")
	w.client.Do("SECKILL.CREATE", "shoes", "STOCK", "10")
	w.client.Do("SECKILL", "shoes", "ann", "1")
	waits := testkit.Dial(t, w.srv.Dial)
	waits.Send("LOCK", "a", "bob", "WAIT", "0")
	require.Eventually(t, func() bool { return len(w.client.Do("LOCK.WAITERS").Elems) == 1 }, 30*time.Second, time.Millisecond)
	for path, want := range map[string][]string{
		"/overview":             {`id="held">2<`, `id="waiting">1<`},
		"/locks":                {">a</a>", "ann", "bob", "&lt;b&gt;", `eve\xff`},
		"/locks?q=a":            {">a</a>"},
		"/locks?q=ann&by=owner": {">a</a>"},
		"/graph":                {">ann</text>", ">bob</text>", ">a</text>"},
		"/lock?key=a":           {"ann", "bob", "Release by force", `<a href="/overview?class=letters">letters</a>`},
		"/sales":                {"shoes", "10 % of 10 sold, 1 buyer"},
		"/server":               {"LOCK", "lockserver-console", "default"},
	} {
		reply := w.get(path)
		require.Equal(t, http.StatusOK, reply.Code, "%s: %s", path, w.log.String())
		for _, text := range want {
			require.Contains(t, reply.Body.String(), text, path)
		}
		require.NotContains(t, reply.Body.String(), "<b>\"", path)
		require.NotContains(t, reply.Body.String(), "style=", path)
	}
	require.Empty(t, w.log.String())
}

// TestOverview: locks by their share of the waiting with their holders, the classes, and the charts that the
// user may see.
func TestOverview(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "/overview", w.get("/").Header().Get("Location"))
	require.Contains(t, w.get("/overview").Body.String(), "No owner has waited")
	w.client.Do("CONFIG", "SET", "lock-class", "orders order:* ; mail mail:*")
	for _, key := range []string{"order:1", `order:<b>"`, "unseen"} {
		w.client.Do("LOCK", key, "ann", "PX", "600000")
		require.True(t, testkit.Dial(t, w.srv.Dial).Do("LOCK", key, "bob", "WAIT", "1").IsNull())
	}
	for _, class := range []string{"orders", "other"} {
		w.past.Add(history.Fine, ClassSeries(class), time.Unix(1_700_000_000, 0), 0, 1, 0, 0, 987, 1)
	}
	w.past.Add(history.Fine, LocksSeries, time.Unix(1_700_000_000, 0), 0, 0, 0, 0, 4321, 0)
	w.past.Add(history.Fine, MemorySeries, time.Unix(1_700_000_000, 0), 7, 8)
	page := w.get("/overview").Body.String()
	for _, text := range []string{`id="held">3<`, ">order:1</a>", "order:&lt;b&gt;", ">unseen</a>", `<span class="owner">ann</span>`, `data-chart="locks" data-kind="waits"`,
		`data-chart="memory"`, `href="/overview?class=orders"`} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, `<b>"`)
	require.Regexp(t, `>mail</a>.*data-label="Wait p50" class="num"><span class="dim">–</span>`, page, "no wait has ended")
	page = w.get("/overview?class=orders").Body.String()
	require.Contains(t, page, `data-chart="class:orders" data-kind="waits"`)
	require.NotContains(t, page, "987 ms", "no owner waits now")
	pages := httptest.NewServer(w.console)
	defer pages.Close()
	w.remote, w.host = pages.Listener.Addr().String(), pages.Listener.Addr().String()
	points := func(path string) string {
		_, text, _ := strings.Cut(w.stream(pages.URL+path, "}\n\n", nil), "event: past\ndata: ")
		return text
	}
	text := points("/overview/live?class=orders")
	require.Contains(t, text, `"class:orders":[[1700000000],[0],[1],[0],[0],[987],[1]]`)
	require.Contains(t, text, `"memory":[[1700000000],[7],[8]]`)
	require.NotContains(t, text, "class:other")

	w.client.Do("ACL", "SETUSER", "viewer", "on", ">secret", "~order:*", "+lock.stats", "+lock.hot")
	w.logIn("viewer", "secret")
	require.Equal(t, "/overview", w.get("/").Header().Get("Location"))
	page = w.get("/overview").Body.String()
	require.Contains(t, page, `<span class="key">order:1</span>`, "it leads to no page that the user may not see")
	for _, text := range []string{"unseen", "ann", `data-chart="memory"`} {
		require.NotContains(t, page, text)
	}
	require.NotContains(t, points("/overview/live"), "memory")
	w.client.Do("ACL", "SETUSER", "less", "on", ">secret", "~*", "+lock.list", "+lock.info", "+select")
	w.logIn("less", "secret")
	require.Equal(t, http.StatusForbidden, w.get("/overview").Code)
	require.Equal(t, http.StatusForbidden, w.get("/overview/live").Code)
	require.Equal(t, "/locks", w.get("/").Header().Get("Location"))
}

// TestALatchIsShown: the pages have a latch while clients wait for it, and open it by force.
func TestALatchIsShown(t *testing.T) {
	w := newWorld(t)
	w.client.Do("LATCH.SET", "batch:7", "3")
	waits := testkit.Dial(t, w.srv.Dial)
	waits.Do("CLIENT", "SETNAME", "coordinator")
	waits.Send("LATCH.WAIT", "batch:7", "WAIT", "0")
	require.Eventually(t, func() bool { return len(w.client.Do("LOCK.WAITERS").Elems) == 1 }, 30*time.Second, time.Millisecond)
	for path, want := range map[string][]string{
		"/locks":            {`<tr id="lock-batch:7"`, `<span class="tag">latch</span>`, "3 left", "coordinator"},
		"/locks?q=batch":    {`<tr id="lock-batch:7"`},
		"/graph":            {">coordinator</text>", ">batch:7</text>"},
		"/lock?key=batch:7": {"3 left until it opens", "coordinator", "Open by force"},
	} {
		reply := w.get(path)
		require.Equal(t, http.StatusOK, reply.Code, "%s: %s", path, w.log.String())
		for _, text := range want {
			require.Contains(t, reply.Body.String(), text, path)
		}
		for _, text := range []string{"Fencing token", "What happened", "gone, or unknown"} {
			require.NotContains(t, reply.Body.String(), text, path)
		}
	}
	token := w.token(w.get("/lock?key=batch:7").Body.String())
	reply := w.post("/lock/release?db=0&key=batch:7", url.Values{"token": {token}, "lock": {"0"}, "name": {"batch:7"}})
	require.Equal(t, http.StatusSeeOther, reply.Code, reply.Body.String())
	require.Equal(t, "1", waits.Receive().String())
	require.Contains(t, w.get("/lock?key=batch:7").Body.String(), "This lock is free")
}

// TestLocksWithWaitersComeFirst: the longest queue is at the top of the first page, also if its lock is older
// than the latest ones.
func TestLocksWithWaitersComeFirst(t *testing.T) {
	w := newWorld(t)
	w.client.Do("LOCK", "old", "ann", "PX", "600000")
	for i := range locksAPage + 10 {
		w.client.Do("LOCK", fmt.Sprint("lock-", i), "ann", "PX", "600000")
	}
	for i, key := range []string{"lock-55", "old", "old"} {
		waits := testkit.Dial(t, w.srv.Dial)
		waits.Send("LOCK", key, fmt.Sprint("bob-", i), "WAIT", "0")
	}
	require.Eventually(t, func() bool { return len(w.client.Do("LOCK.WAITERS").Elems) == 3 }, 30*time.Second, time.Millisecond)
	var rows []string
	for _, m := range regexp.MustCompile(`<tr id="lock-([^"]+)"`).FindAllStringSubmatch(w.get("/locks").Body.String(), -1) {
		rows = append(rows, m[1])
	}
	require.Len(t, rows, locksAPage+1)
	require.Equal(t, []string{"old", "lock-55"}, rows[:2])
	page := w.get("/graph").Body.String()
	require.Contains(t, page, `class="canvas" tabindex="0"`)
}

func TestOnlyTheLockThatWasLookedAtIsReleased(t *testing.T) {
	w := newWorld(t)
	w.client.Do("LOCK", "door", "ann", "PX", "60000")
	page := w.get("/lock?db=0&key=door").Body.String()
	lock := regexp.MustCompile(`name="lock" value="(\d+)"`).FindStringSubmatch(page)[1]
	form := url.Values{"token": {w.token(page)}, "lock": {lock}, "name": {"dor"}}
	action := regexp.MustCompile(`action="([^"]+)" class="force"`).FindStringSubmatch(page)[1]
	path := strings.ReplaceAll(action, "&amp;", "&")

	reply := w.post(path, form)
	require.Contains(t, reply.Header().Get("Location"), "problem=name")
	form.Set("name", "door")
	stolen := url.Values{"token": {"other"}, "lock": {lock}, "name": {"door"}}
	require.Equal(t, http.StatusForbidden, w.post(path, stolen).Code)
	w.client.Do("UNLOCK", "door", "ann")
	w.client.Do("LOCK", "door", "bob", "PX", "60000")
	require.Contains(t, w.post(path, form).Header().Get("Location"), "problem=changed")
	require.Equal(t, "bob", call.FieldsOf(w.client.Do("LOCK.INFO", "door")).Text("owner"))

	page = w.get("/lock?db=0&key=door").Body.String()
	form.Set("lock", regexp.MustCompile(`name="lock" value="(\d+)"`).FindStringSubmatch(page)[1])
	require.Contains(t, w.post(path, form).Header().Get("Location"), "released=1")
	require.True(t, w.client.Do("LOCK.INFO", "door").IsNull())
	require.Contains(t, w.log.String(), "a lock was released by force")
	require.Contains(t, w.log.String(), "user=default")
}

func TestWhatAUserMayNotRunIsNotOffered(t *testing.T) {
	w := newWorld(t)
	w.client.Do("ACL", "SETUSER", "viewer", "on", ">secret", "~k*", "+lock.list", "+lock.info", "+select", "+ping")
	w.client.Do("LOCK", "k1", "ann")
	w.client.Do("LOCK", "unseen", "ann")
	require.Equal(t, "/sales", w.logIn("viewer", "secret").Header().Get("Location"))
	page := w.get("/locks").Body.String()
	require.Contains(t, page, "k1")
	require.NotContains(t, page, "unseen")
	require.NotContains(t, page, `href="/sales"`)
	require.NotContains(t, page, `href="/server"`)
	require.Equal(t, http.StatusForbidden, w.get("/sales").Code)
	require.Equal(t, http.StatusForbidden, w.get("/server/live").Code)
	page = w.get("/lock?key=k1").Body.String()
	require.Contains(t, page, "ann")
	require.NotContains(t, page, "Release by force")
	w.post("/lock/release?key=k1", url.Values{"token": {w.token(page)}, "name": {"k1"}, "lock": {"1"}})
	require.False(t, w.client.Do("LOCK.INFO", "k1").IsNull())
	require.NotContains(t, w.get("/lock?key=unseen").Body.String(), "ann")
}

func TestLogins(t *testing.T) {
	w := newWorld(t)
	w.client.Do("CONFIG", "SET", "requirepass", "secret")
	w.client.Do("AUTH", "secret")
	require.Equal(t, "/login?next=%2Flocks", w.get("/locks").Header().Get("Location"))
	require.Equal(t, http.StatusForbidden, w.post("/login", url.Values{"user": {"default"}, "password": {"secret"}}).Code)
	require.Equal(t, http.StatusUnauthorized, w.logIn("default", "wrong").Code)
	reply := w.logIn("", "secret")
	require.Equal(t, http.StatusSeeOther, reply.Code)
	first := w.cookies[sessionCookie]
	page := w.get("/locks")
	require.Equal(t, http.StatusOK, page.Code)

	require.Equal(t, http.StatusSeeOther, w.logIn("default", "secret").Code)
	second := w.cookies[sessionCookie]
	require.NotEqual(t, first, second)
	w.cookies[sessionCookie] = first
	require.Equal(t, http.StatusSeeOther, w.get("/locks").Code, "the session before has ended")
	w.cookies[sessionCookie] = second
	page = w.get("/locks")
	require.Equal(t, http.StatusForbidden, w.post("/logout", nil).Code)
	w.post("/logout", url.Values{"token": {w.token(page.Body.String())}})
	w.cookies[sessionCookie] = second
	require.Equal(t, http.StatusSeeOther, w.get("/locks").Code)

	for range failuresEach - 1 {
		require.Equal(t, http.StatusUnauthorized, w.logIn("default", "wrong").Code)
	}
	require.Equal(t, http.StatusTooManyRequests, w.logIn("default", "secret").Code)
	w.console.attempts.now = func() time.Time { return time.Now().Add(2 * loginWindow) }
	require.Equal(t, http.StatusSeeOther, w.logIn("default", "secret").Code)
	require.NotContains(t, w.log.String(), "wrong")
}

func TestTheUserDefaultNeedsNoLoginOnThisMachineOnly(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"another machine":   func(w *world) { w.remote = "192.0.2.1:5000" },
		"a name of another": func(w *world) { w.host = "rebound.example" },
	} {
		w := newWorld(t)
		require.Equal(t, http.StatusOK, w.get("/locks").Code)
		w.cookies = map[string]string{}
		change(w)
		require.Equal(t, http.StatusSeeOther, w.get("/locks").Code, name)
		require.Equal(t, http.StatusUnauthorized, w.logIn("default", "any").Code, name)
		require.NotContains(t, w.cookies, sessionCookie)
		w.client.Do("ACL", "SETUSER", "ann", "on", ">secret", "+@all", "~*")
		require.Equal(t, http.StatusSeeOther, w.logIn("ann", "secret").Code, name)
		require.Equal(t, http.StatusOK, w.get("/locks").Code, name)
	}
	w := newWorld(t)
	r := httptest.NewRequest(http.MethodGet, "/locks", nil)
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	require.Equal(t, http.StatusSeeOther, w.send(r).Code, "a proxy stands between")
}

// TestWithoutAutoLogin: a proxy on this machine that adds no header and asks by the address of the port looks
// like a browser on this machine. All its clients are asked for a password.
func TestWithoutAutoLogin(t *testing.T) {
	w := newWorld(t)
	w.console.AutoLogin = false
	require.Equal(t, http.StatusSeeOther, w.get("/locks").Code)
	require.Equal(t, http.StatusUnauthorized, w.logIn("default", "any").Code)
	require.Equal(t, http.StatusUnauthorized, w.logIn("", "").Code)
	require.NotContains(t, w.cookies, sessionCookie)
	w.client.Do("ACL", "SETUSER", "ann", "on", ">secret", "+@all", "~*")
	require.Equal(t, http.StatusSeeOther, w.logIn("ann", "secret").Code)
	require.Equal(t, http.StatusOK, w.get("/locks").Code)
}

// TestGuessesAtTheSameTimeAreCounted: the limit of failed logins holds for many that are sent at once.
func TestGuessesAtTheSameTimeAreCounted(t *testing.T) {
	w := newWorld(t)
	w.client.Do("CONFIG", "SET", "requirepass", "secret")
	w.client.Do("AUTH", "secret")
	token := w.token(w.get("/login").Body.String())
	var looked atomic.Int64
	begin := make(chan struct{})
	w.console.backend = waitingBackend{w.console.backend, func() { looked.Add(1); <-begin }}
	var sent sync.WaitGroup
	codes := make(chan int, 40)
	for i := range cap(codes) {
		sent.Go(func() {
			form := url.Values{"user": {"default"}, "password": {fmt.Sprint("guess-", i)}, "token": {token}}
			r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = w.remote
			r.AddCookie(&http.Cookie{Name: loginCookie, Value: token})
			reply := httptest.NewRecorder()
			w.console.ServeHTTP(reply, r)
			codes <- reply.Code
		})
	}
	require.Eventually(t, func() bool { return int(looked.Load())+len(codes) == cap(codes) }, 30*time.Second, time.Millisecond)
	close(begin)
	sent.Wait()
	close(codes)
	count := make(map[int]int)
	for code := range codes {
		count[code]++
	}
	require.Equal(t, map[int]int{http.StatusUnauthorized: failuresEach, http.StatusTooManyRequests: cap(codes) - failuresEach}, count)
}

// TestALoginThatSucceedsIsNoGuess: it leaves the attempts of its address as they were.
func TestALoginThatSucceedsIsNoGuess(t *testing.T) {
	w := newWorld(t)
	w.client.Do("CONFIG", "SET", "requirepass", "secret")
	w.client.Do("AUTH", "secret")
	for range 2 * failuresEach {
		require.Equal(t, http.StatusSeeOther, w.logIn("default", "secret").Code)
	}
}

// waitingBackend calls a function before it gives a connection.
type waitingBackend struct {
	Backend
	before func()
}

func (b waitingBackend) DialAudited() (net.Conn, error) {
	b.before()
	return b.Backend.DialAudited()
}

func TestSessionsHaveLimits(t *testing.T) {
	w := newWorld(t)
	for range mostSessions + 10 {
		w.cookies = map[string]string{}
		require.Equal(t, http.StatusOK, w.get("/locks").Code)
	}
	require.Len(t, w.console.sessions.of, mostSessions)
	w.client.Do("CONFIG", "SET", "requirepass", "secret") // no session is exchanged
	require.Equal(t, http.StatusOK, w.get("/locks").Code)
	w.console.sessions.now = func() time.Time { return time.Now().Add(idleLimit + time.Minute) }
	require.Equal(t, http.StatusSeeOther, w.get("/locks").Code)
	require.Empty(t, w.console.sessions.of)
}

func TestForeignPagesCannotPost(t *testing.T) {
	w := newWorld(t)
	w.client.Do("LOCK", "door", "ann")
	page := w.get("/lock?key=door").Body.String()
	r := httptest.NewRequest(http.MethodPost, "/logout", strings.NewReader("token="+w.token(page)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, w.send(r).Code)
	require.Contains(t, w.get("/locks").Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, "/locks", ownPath("//evil.example"))
	require.Equal(t, "/locks", ownPath(`/\evil.example`))
	require.Equal(t, "/sales?q=1", ownPath("/sales?q=1"))
}

func TestASearchSaysHowFarItHasLooked(t *testing.T) {
	w := newWorld(t)
	const n = searchPiece*searchPieces + 2000
	var calls [][]string
	for i := range n {
		calls = append(calls, []string{"LOCK", "k" + string(rune('a'+i%26)) + strings.Repeat("x", i/26%7) + count(int64(i)), "o"})
	}
	c, err := logIn([]Backend{w.srv}, "", "")
	require.NoError(t, err)
	defer c.Close()
	_, err = c.All(append([][]string{{"LOCK", "first", "o"}}, calls...)...)
	require.NoError(t, err)
	require.Contains(t, w.get("/locks?q=first").Body.String(), ">first</a>", "an exact name is found wherever it is")
	page := w.get("/locks?q=irst*").Body.String()
	require.Contains(t, page, "No such lock")
	page = w.get("/locks?q=f%3Frst").Body.String()
	require.Contains(t, page, "Search on")
	next := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page)[1]
	require.Contains(t, w.get(strings.ReplaceAll(next, "&amp;", "&")).Body.String(), ">first</a>")

	seen := 0
	for path := "/locks"; path != ""; {
		page := w.get(path).Body.String()
		seen += strings.Count(page, `<tr id="lock-`)
		path = ""
		if found := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page); found != nil && seen < 500 {
			path = strings.ReplaceAll(found[1], "&amp;", "&")
		}
	}
	require.GreaterOrEqual(t, seen, 500)
}

// TestEveryDatabase has its own page, which the others lead to, and a line on the page of the server.
func TestEveryDatabase(t *testing.T) {
	w := newWorld(t)
	for _, db := range []string{"0", "3"} {
		w.client.Do("SELECT", db)
		w.client.Do("LOCK", "lock"+db, "ann")
		w.client.Do("SECKILL.CREATE", "sale"+db, "STOCK", "10")
	}
	for path, want := range map[string]string{"/locks": "lock", "/sales": "sale"} {
		require.Contains(t, w.get(path).Body.String(), `href="`+path+`?db=3"`)
		require.NotContains(t, w.get(path).Body.String(), want+"3")
		page := w.get(path + "?db=3").Body.String()
		require.Contains(t, page, want+"3")
		require.NotContains(t, page, want+"0")
		require.Contains(t, page, `<a href="/graph?db=3"`, "the other pages stay there")
	}
	require.Contains(t, w.get("/sales?db=5").Body.String(), "No sale in database 5")
	require.Contains(t, w.get("/graph?db=3").Body.String(), `href="/graph?db=0"`)
	page := w.get("/server").Body.String()
	require.Contains(t, page, `id="db-0"`)
	require.Regexp(t, `id="db-3">.*data-label="Keys" class="num">3<.*data-label="Locks" class="num">1<`, page)
}

// The page of the server has delayed entries, once there are any.
func TestDelayedEntriesAreShown(t *testing.T) {
	w := newWorld(t)
	require.NotContains(t, w.get("/server").Body.String(), "Delayed entries")
	w.client.Do("DELAY.ADD", "a", "PX", "3600000", "n", "1")
	w.client.Do("DELAY.ADD", "a", "PX", "3600000", "n", "2")
	w.client.Do("DELAY.ADD", "b", "PX", "3600000", "n", "3")
	w.client.Do("DELAY.ADD", "b", "AT", "1", "n", "4") // due, and added before the next command
	page := w.get("/server").Body.String()
	for what, n := range map[string]string{"Pending": "3", "Of streams": "2", "Added": "1"} {
		require.Contains(t, page, "<dt>"+what+`</dt><dd class="num">`+n+"</dd>")
	}
	require.Contains(t, page, "<dt>Late at most, ms</dt>")
}

func TestAStreamSendsWhatChanges(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.console)
	defer server.Close()
	w.remote, w.host = server.Listener.Addr().String(), server.Listener.Addr().String()
	require.Equal(t, http.StatusOK, w.get("/locks").Code)
	text := w.stream(server.URL+"/locks/live", "appears", func() { w.client.Do("LOCK", "appears", "ann") })
	require.NotContains(t, text, "</html>")
}

// TestAStreamBeginsWithThePast, but only with that of what the user sees.
func TestAStreamBeginsWithThePast(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.console)
	defer server.Close()
	w.remote, w.host = server.Listener.Addr().String(), server.Listener.Addr().String()
	w.client.Do("SECKILL.CREATE", "shoes", "STOCK", "10")
	begun := time.Unix(1_700_000_000, 0)
	for _, db := range []int{0, 1} {
		w.past.Add(history.Fine, SaleSeries(db, "shoes"), begun, 9, 1, 0, 1)
	}
	w.past.Add(history.Fine, SaleSeries(0, "shoes"), begun.Add(time.Second), 8, 2, 0, 2)
	w.past.Add(history.Fine, OpsSeries, begun, 77)
	require.Equal(t, http.StatusOK, w.get("/sales").Code)
	text := w.stream(server.URL+"/sales/live", "event: points", nil)
	require.Contains(t, text, "event: past\ndata: "+`{"sale:0:shoes":[[1700000000,1700000001],[9,8],[1,2],[0,0],[1,2]]}`+"\n\n")
	text = w.stream(server.URL+"/server/live", "event: points", nil)
	require.Contains(t, text, "event: past\ndata: "+`{"ops":[[1700000000],[77]]}`+"\n\n")
}

// stream reads server-sent events until a text has come, after doing something.
func (w *world) stream(url, until string, after func()) string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url, nil)
	require.NoError(w.t, err)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: w.cookies[sessionCookie]})
	reply, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer func() { _ = reply.Body.Close() }()
	require.Equal(w.t, "text/event-stream", reply.Header.Get("Content-Type"))
	if after != nil {
		after()
	}
	var got strings.Builder
	piece := make([]byte, 4096)
	for begun := time.Now(); !strings.Contains(got.String(), until); {
		require.Less(w.t, time.Since(begun), time.Minute, got.String())
		n, err := reply.Body.Read(piece)
		require.NoError(w.t, err)
		got.Write(piece[:n])
	}
	return got.String()
}

// A semaphore is shown with its holders and its permits, and can be released by force.
func TestASemaphoreIsShown(t *testing.T) {
	w := newWorld(t)
	w.client.Do("SEM.ACQUIRE", "pool", "ann", "LIMIT", "5", "PERMITS", "3", "PX", "60000")
	w.client.Do("SEM.ACQUIRE", "pool", "ben", "PX", "60000")
	for _, path := range []string{"/locks", "/lock?db=0&key=pool"} {
		page := w.get(path)
		require.Equal(t, http.StatusOK, page.Code)
		require.Contains(t, page.Body.String(), "4 of 5 permits", path)
		require.Regexp(t, "ann, ben|ben, ann", page.Body.String(), path)
	}
	require.Contains(t, w.get("/lock?db=0&key=pool").Body.String(), "each holder has its own")
	require.Equal(t, "+QUEUED", w.client.Do("SEM.ACQUIRE", "pool", "carol", "PERMITS", "2", "WAIT", "0", "NOTIFY").String())
	body := w.get("/lock?db=0&key=pool").Body.String()
	require.Contains(t, body, "2 permits")
	require.Contains(t, body, ">NOTIFY<")
}

// TestAMemberThatFollows: the errors of a member that does not lead are said in words.
func TestAMemberThatFollows(t *testing.T) {
	require.Contains(t, notLeading("MOVED 0 10.0.0.2:6379").Text, "at 10.0.0.2:6379:")
	require.Equal(t, "The group has no leader", notLeading("CLUSTERDOWN The cluster is down").Title)
	require.Zero(t, notLeading("NOPERM no permission"))
}

// TestHoldsThatEndNext: a sale shows the orders with the holds that end first, to users that may read them.
func TestHoldsThatEndNext(t *testing.T) {
	w := worldOf(t, frozen())
	w.client.Do("SECKILL.CREATE", "shoes", "STOCK", "10", "HOLD", "60000")
	for i := range 5 {
		require.EqualValues(t, 1_790_000_000_000+1000*i, w.client.Do("TEST.CLOCK", "FREEZE", fmt.Sprint(1_790_000_000_000+1000*i)).Int)
		require.EqualValues(t, 0, w.client.Do("SECKILL", "shoes", fmt.Sprint("user-", i), fmt.Sprintf("<b>order-%d", i)).Int)
	}
	page := w.get("/sales").Body.String()
	for i := range 5 {
		hold := fmt.Sprintf(`&lt;b&gt;order-%d</span> in <span class="num" data-ends="%d">`, i, 1_790_000_060_000+1000*i)
		require.Equal(t, i < holdsShown, strings.Contains(page, hold), hold)
	}
	w.client.Do("ACL", "SETUSER", "viewer", "on", ">secret", "~*", "+seckill.list", "+seckill.info", "+select")
	w.logIn("viewer", "secret")
	page = w.get("/sales").Body.String()
	require.Contains(t, page, "shoes")
	require.NotContains(t, page, "order-0")
}

// TestPrioritiesAreShown: waiters are listed in the order in which they are served, with their priorities.
func TestPrioritiesAreShown(t *testing.T) {
	w := newWorld(t)
	w.client.Do("LOCK", "door", "ann", "PX", "600000")
	for i, priority := range []string{"1", "5"} {
		reply := w.client.Do("LOCK", "door", fmt.Sprint("waiter-", i), "WAIT", "0", "PX", "600000", "NOTIFY", "PRIORITY", priority)
		require.Equal(t, "+QUEUED", reply.String())
	}
	page := w.get("/lock?key=door").Body.String()
	first, second := strings.Index(page, `waiter-1</span> <span class="tag">priority 5<`), strings.Index(page, `waiter-0</span> <span class="tag">priority 1<`)
	require.True(t, 0 < first && first < second, page)
}
