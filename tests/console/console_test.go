package console

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// fill creates data for every page.
func fill(s *server) {
	s.t.Helper()
	ann, bob, eve := s.client("orders-1"), s.client("orders-2"), s.client("billing")
	require.Equal(s.t, "+OK", ann.do("CONFIG", "SET", "lock-class", "invoices invoice:* ; mail mail:*"))
	ann.do("LOCK", "invoice:4711", "ann")
	ann.do("LOCK", "report:nightly", "ann", "PX", "5400000")
	bob.do("LOCK", "ledger:2026", "bob", "PX", "3600000")
	s.client("mail").do("LOCK", "mail:outbox", "mailer")
	bob.send("LOCK", "invoice:4711", "bob", "WAIT", "0")
	eve.send("LOCK", "invoice:4711", "eve", "WAIT", "0")
	s.client("audit").send("LOCK", "ledger:2026", "audit", "WAIT", "3600000")
	s.awaits(3)
	require.Contains(s.t, ann.do("LOCK", "ledger:2026", "ann", "WAIT", "0"), "DEADLOCK")
	shop := s.client("shop")
	shop.do("SECKILL.CREATE", "shoes", "STOCK", "100", "HOLD", "900000")
	shop.do("XGROUP", "CREATE", "stream.orders", "database", "0", "MKSTREAM")
	shop.do("SECKILL", "shoes", "ann", "order-1")
	for i, stream := range []string{"reminders", "mails", "retries"} {
		for j := range 3 * (i + 1) {
			shop.do("DELAY.ADD", stream, "PX", fmt.Sprint((j+1)*5_400_000), "ID", fmt.Sprint("order-", j+1), "user", "ann", "order", fmt.Sprint(j+1))
		}
	}
	for i := range 12 {
		shop.do("LIMIT.TAKE", "login:ann", "3", "1", "3600000")
		shop.do("LIMIT.TAKE", fmt.Sprint("api:customer-", i%3), "2", "1", "3600000", "COST", "2")
	}
	shop.do("DELAY.ADD", "reports", "CRON", "0 9 * * 1-5", "TZ", "Europe/Berlin", "ID", "daily", "kind", "sales")
}

// strain adds unusually long, large and small data.
func strain(s *server) {
	s.t.Helper()
	shop := s.client("shop")
	shop.do("SECKILL.CREATE", "bags", "STOCK", "2", "LIMIT", "2", "STREAM", "bags")
	shop.do("SECKILL", "bags", "ann", "order-1", "QTY", "2")
	shop.do("SECKILL.CREATE", "hats-of-the-winter-collection-with-a-name-that-is-much-longer-than-a-line", "STOCK", "1000000", "START", "4000000000000")
	shop.do("SET", "seckill:stock:bare", "many")
	long := s.client("a-worker-whose-name-is-longer-than-others")
	long.do("LOCK", "tenant:0b9e4f0a-6a4f-4a39-8b8f-3f4dc2f1f6c1:warehouse:europe-west:rebuild-the-index-of-everything", "worker-17", "PX", "5400000")
	long.do("DELAY.ADD", "orders:of-the-winter-collection:with-a-name-that-is-much-longer-than-a-line-of-a-phone", "PX", "8000000000", "ID",
		"0b9e4f0a-6a4f-4a39-8b8f-3f4dc2f1f6c1-0b9e4f0a-6a4f-4a39-8b8f-3f4dc2f1f6c1", "payload", strings.Repeat("many-bytes", 40))
	long.do("SELECT", "3")
	long.do("LOCK", "elsewhere", "worker-17", "PX", "5400000")
	long.do("CONFIG", "SET", "slowlog-log-slower-than", "1000")
	long.do("EVAL", "for i = 1, 300000 do local text = tostring(i) end", "0")
}

// TestEveryPage checks every page, empty and full, wide and narrow, in both themes.
func TestEveryPage(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	state := "empty"
	visit := func(path, text string) {
		t.Helper()
		b.run(chromedp.Navigate(s.admin + path))
		b.shows(text)
		b.fits()
		b.is(`document.getElementById('pulse').textContent === 'live'`)
		b.picture(path, state)
	}
	for _, width := range []int64{1280, 360} {
		for _, theme := range []string{"light", "dark"} {
			b.size(width, theme)
			for path, text := range map[string]string{"/overview": "No owner has waited", "/locks": "No lock is held", "/locks?q=x": "No such lock", "/graph": "No waiters",
				"/lock?key=x": "This lock is free", "/sales": "No sale", "/sales?q=x": "No such sale",
				"/limiters": "No call was refused", "/delayed": "No entry is delayed", "/delayed?q=x": "No such entry", "/delayed?stream=x": "No entry is pending",
				"/delayed?stream=x&id=y": "No such entry is pending", "/members": "This server is alone", "/server": "Where the time goes"} {
				visit(path, text)
			}
		}
	}
	fill(s)
	state = "full"
	if file := os.Getenv("PICTURE"); file != "" {
		b.size(1280, "light")
		visit("/locks", "invoice:4711")
		var png []byte
		b.run(chromedp.CaptureScreenshot(&png))
		require.Less(t, len(png), 200_000)
		require.NoError(t, os.WriteFile(file, png, 0o644))
	}
	strain(s)
	for _, width := range []int64{1280, 360} {
		for _, theme := range []string{"light", "dark"} {
			b.size(width, theme)
			visit("/overview", "Where the waiting is")
			b.is(`document.querySelectorAll('.chart canvas').length === 9`)
			b.is(`document.querySelectorAll('#classes tbody tr').length === 3 && document.querySelector('#classes [data-label="Oldest"]').textContent.endsWith(' s')`)
			visit("/overview?class=invoices", "Where the waiting is")
			b.is(`document.querySelectorAll('.chart canvas').length === 9`)
			visit("/locks", "invoice:4711")
			b.shows("Deadlock cycles that were refused lately")
			visit("/graph", "Wait graph")
			b.is(`document.querySelectorAll('#graph g.owner').length === 4 && document.querySelectorAll('#graph path.waits').length === 3`)
			visit("/lock?key=invoice:4711", "Release by force")
			// An event is one line, and two on a phone.
			b.is(`new Set([...document.querySelector('#events tbody tr').children].map((e) => Math.round(e.getBoundingClientRect().top))).size === (innerWidth > 720 ? 1 : 2)`)
			visit("/sales", "1 % of 100 sold")
			b.is(`document.querySelectorAll('.chart canvas').length === 3 && ![...document.querySelectorAll('.sale .keys')].some((e) => e.offsetHeight)`)
			visit("/sales?db=3", "No sale in database 3")
			visit("/locks?db=3", "elsewhere")
			visit("/limiters", "login:ann")
			b.is(`document.querySelectorAll('#limiters tbody tr').length === 4 && document.querySelectorAll('.chart canvas').length === 1`)
			visit("/delayed", "reminders")
			b.is(`document.querySelectorAll('#streams tbody tr').length >= 4`)
			visit("/delayed?stream=retries", "order-9")
			visit("/delayed?stream=reports&id=daily", "Europe/Berlin")
			b.is(`document.querySelectorAll('#times li').length === 5`)
			visit("/delayed?stream=orders:of-the-winter-collection:with-a-name-that-is-much-longer-than-a-line-of-a-phone", "many-bytes")
			visit("/delayed?q=order-3", "order-3")
			b.is(`document.querySelectorAll('#entries tbody tr').length === 3`)
			visit("/server", "orders-1")
			b.is(`document.querySelectorAll('.chart canvas').length === 2`)
			b.is(`(getComputedStyle(document.body).backgroundColor === 'rgb(15, 20, 25)') === ` + map[string]string{"dark": "true", "light": "false"}[theme])
		}
	}
	// The charts show what happened before the page was opened: the server has run for longer than this.
	b.within(2*time.Second, `Number(document.querySelector('.chart').dataset.seconds) >= 2`)
}

// TestGraphScrolls: a picture that is larger than the window scrolls in its frame, and keeps its place when
// something changes.
func TestGraphScrolls(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	s.client("holder").do("LOCK", "door", "ann", "PX", "600000")
	for i := range 40 {
		s.client("worker").send("LOCK", "door", fmt.Sprint("bob-", i), "WAIT", "0")
	}
	b.size(360, "light")
	b.run(chromedp.Navigate(s.admin + "/graph"))
	b.is(`document.querySelectorAll('#graph g.owner').length === 41`)
	const canvas = `document.getElementById('canvas')`
	b.is(canvas + `.scrollHeight > ` + canvas + `.clientHeight + 500 && ` + canvas + `.scrollWidth > ` + canvas + `.clientWidth`)
	b.is(canvas + `.clientHeight < innerHeight`)
	b.fits()
	b.run(chromedp.Evaluate(canvas+`.scrollTo(100, 400)`, nil))
	s.client("worker").send("LOCK", "door", "carol", "WAIT", "0")
	b.is(`document.querySelectorAll('#graph g.owner').length === 42`)
	b.is(canvas + `.scrollTop === 400 && ` + canvas + `.scrollLeft === 100`)
}

// TestAnotherBrowserSeesALock: an open page shows a new lock without a reload. This takes a second, or more
// on a busy machine.
func TestAnotherBrowserSeesALock(t *testing.T) {
	s := startServer(t)
	first, second := openBrowser(t), openBrowser(t)
	for _, b := range []*browser{first, second} {
		b.run(chromedp.Navigate(s.admin + "/locks"))
		b.shows("No lock is held")
		b.is(`document.getElementById('pulse').textContent === 'live'`)
	}
	c := s.client("worker")
	c.do("LOCK", "door", "ann", "PX", "60000")
	first.within(10*time.Second, `!!document.getElementById('lock-door')`)
	c.do("LOCK", "gate", "ann", "PX", "60000")
	second.within(10*time.Second, `!!document.getElementById('lock-gate')`)
	c.do("UNLOCK", "door", "ann")
	second.is(`!document.getElementById('lock-door')`)
	// The lease counts down without a message from the server.
	second.is(`document.querySelector('#lock-gate [data-ends]').textContent.endsWith(' s')`)
}

// TestReleaseByForce: the user must type the name of the lock, and the log records the user.
func TestReleaseByForce(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	s.client("worker").do("LOCK", "door", "ann")
	b.run(chromedp.Navigate(s.admin+"/locks"), chromedp.Click(`#lock-door a`), chromedp.WaitVisible(`#force-name`))
	b.is(`document.getElementById('force-go').disabled`)
	b.run(chromedp.SendKeys(`#force-name`, "doo"))
	b.is(`document.getElementById('force-go').disabled`)
	b.run(chromedp.SendKeys(`#force-name`, "r"))
	b.is(`!document.getElementById('force-go').disabled`)
	b.run(chromedp.SendKeys(`#force-name`, kb.Enter))
	b.shows("Released.")
	b.shows("This lock is free")
	require.Equal(t, "$-1", s.look("LOCK.INFO", "door"))
	require.Contains(t, s.log(), "released by force")
}

// TestLogin: a wrong password is refused, and a user sees only permitted data.
func TestLogin(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	c := s.client("operator")
	c.do("LOCK", "door", "ann")
	c.do("ACL", "SETUSER", "viewer", "on", ">secret", "~*", "+lock.list", "+lock.info", "+select")
	c.do("CONFIG", "SET", "requirepass", "other")
	b.run(chromedp.Navigate(s.admin+"/locks"), chromedp.WaitVisible(`#user`))
	b.run(chromedp.SendKeys(`#user`, "viewer"), chromedp.SendKeys(`#password`, "wrong"+kb.Enter))
	b.shows("The name or the password is wrong")
	require.Len(t, b.messages(), 1, "the browser tells of the status 401")
	b.run(chromedp.SendKeys(`#password`, "secret"+kb.Enter))
	b.shows("door")
	b.is(`document.querySelectorAll('nav a[data-key]').length === 1`) // the list of locks
	b.run(chromedp.Click(`#lock-door a`))
	b.shows("Fencing token")
	b.is(`!document.getElementById('force-name')`)
	b.run(chromedp.Click(`#logout`), chromedp.WaitVisible(`#user`))
}

// TestKeyboard: every page, the search and a lock can be reached without a mouse.
func TestKeyboard(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	fill(s)
	b.run(chromedp.Navigate(s.admin + "/locks"))
	b.shows("invoice:4711")
	b.is(isLive)
	b.run(chromedp.KeyEvent("/"))
	b.is(`document.activeElement.id === 'q'`)
	b.run(chromedp.Evaluate(`document.activeElement.value = ''`, nil)) // the key press has also typed its character
	b.run(chromedp.KeyEvent("ledger"))
	b.is(`document.querySelectorAll('#locks tbody tr').length === 1 && location.search.includes('q=ledger') && document.activeElement.id === 'q'`)
	b.run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("j"))
	b.is(`document.activeElement.textContent === 'ledger:2026'`)
	b.run(chromedp.KeyEvent(kb.Enter))
	b.shows("Why it is not free")
	b.is(isLive)                                          // the script that reads the keys runs
	b.run(chromedp.KeyEvent("-"), chromedp.KeyEvent("+")) // "all" is the longest
	b.is(isLive + ` && location.search.includes('span=3600000') && document.querySelector('.titled [aria-current]').textContent === '1 h'`)
	b.run(chromedp.KeyEvent("+"))
	b.is(isLive + ` && location.search.includes('span=900000') && document.querySelector('.titled [aria-current]').textContent === '15 min'`)
	b.run(chromedp.KeyEvent("-"))
	b.is(`location.search.includes('span=3600000') && document.getElementById('pulse').textContent === 'live'`)
	for _, span := range []string{"900000", "300000", "60000", "10000"} {
		b.run(chromedp.KeyEvent("+"))
		b.is(isLive + ` && location.search.includes('span=` + span + `')`)
	}
	b.is(`!!document.querySelector('[data-key=ArrowLeft]')`) // there is something earlier
	b.run(chromedp.KeyEvent(kb.ArrowLeft))
	b.is(isLive + ` && /until=[1-9]/.test(location.search)`)
	var earlier string
	b.run(chromedp.Evaluate(`location.search`, &earlier), chromedp.KeyEvent(kb.ArrowRight))
	b.is(isLive + ` && location.search !== '` + earlier + `'`)
	b.run(chromedp.KeyEvent("n"))
	b.is(isLive + ` && location.search.includes('span=10000') && !location.search.includes('until')`)
	for _, at := range [][2]string{{"3", "Wait graph"}, {"4", "shoes"}, {"5", "reminders"}, {"6", "login:ann"}, {"7", "This server is alone"}, {"8", "Where the time goes"}, {"2", "mail:outbox"}, {"1", "Where the waiting is"}} {
		key, text := at[0], at[1]
		b.is(`document.getElementById('pulse').textContent === 'live'`)
		b.run(chromedp.KeyEvent(key))
		b.shows(text)
	}
	b.is(isLive + ` && document.querySelectorAll('.chart canvas').length === 9 && document.querySelector('[aria-pressed=true]').dataset.span === '3600'`)
	b.run(chromedp.KeyEvent("r"))
	b.is(`document.querySelector('[aria-pressed=true]').dataset.span === '300'`)
	b.run(chromedp.KeyEvent("?"))
	b.is(`document.getElementById('keys').open`)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.is(`!document.getElementById('keys').open`)
	var before, after string
	b.run(chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &before), chromedp.KeyEvent("t"),
		chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &after))
	require.NotEqual(t, before, after)
	b.run(page.Reload())
	b.is(`getComputedStyle(document.body).backgroundColor === '` + after + `'`)
}
