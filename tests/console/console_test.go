package console

import (
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// fill gives every page something to show.
func fill(s *server) {
	s.t.Helper()
	ann, bob, eve := s.client("orders-1"), s.client("orders-2"), s.client("billing")
	ann.do("LOCK", "invoice:4711", "ann")
	ann.do("LOCK", "report:nightly", "ann", "PX", "90000")
	bob.do("LOCK", "ledger:2026", "bob", "PX", "60000")
	s.client("mail").do("LOCK", "mail:outbox", "mailer")
	bob.send("LOCK", "invoice:4711", "bob", "WAIT", "0")
	eve.send("LOCK", "invoice:4711", "eve", "WAIT", "0")
	s.client("audit").send("LOCK", "ledger:2026", "audit", "WAIT", "60000")
	look := s.client("look")
	for begun := time.Now(); look.do("LOCK.WAITERS") != "*3"; look = s.client("look") {
		require.Less(s.t, time.Since(begun), patience)
	}
	require.Contains(s.t, ann.do("LOCK", "ledger:2026", "ann", "WAIT", "0"), "DEADLOCK")
	shop := s.client("shop")
	shop.do("SECKILL.CREATE", "shoes", "STOCK", "100", "HOLD", "900000")
	shop.do("XGROUP", "CREATE", "stream.orders", "database", "0", "MKSTREAM")
	shop.do("SECKILL", "shoes", "ann", "order-1")
}

// TestEveryPage looks at every page, empty and full, wide and narrow, in both themes.
func TestEveryPage(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	visit := func(path, text string) {
		t.Helper()
		b.run(chromedp.Navigate(s.admin + path))
		b.shows(text)
		b.is(`document.documentElement.scrollWidth <= innerWidth`)
		b.is(`document.getElementById('pulse').textContent === 'live'`)
	}
	b.size(1280, "light")
	for path, text := range map[string]string{"/locks": "No lock is held", "/graph": "Nobody waits", "/lock?key=x": "Nobody holds this lock",
		"/sales": "No sale", "/server": "Where the time goes"} {
		visit(path, text)
	}
	fill(s)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			b.size(width, theme)
			visit("/locks", "invoice:4711")
			b.shows("Circles that were refused lately")
			visit("/graph", "Who waits for whom")
			b.is(`document.querySelectorAll('#graph g.owner').length === 4 && document.querySelectorAll('#graph path.waits').length === 3`)
			visit("/lock?key=invoice:4711", "Release by force")
			visit("/sales", "1 % of 100 sold")
			b.is(`document.querySelectorAll('.chart canvas').length === 1`)
			visit("/server", "orders-1")
			b.is(`document.querySelectorAll('.chart canvas').length === 2`)
			b.is(`(getComputedStyle(document.body).backgroundColor === 'rgb(15, 20, 25)') === ` + map[string]string{"dark": "true", "light": "false"}[theme])
		}
	}
	if file := os.Getenv("PICTURE"); file != "" {
		b.size(1280, "light")
		visit("/locks", "invoice:4711")
		var png []byte
		b.run(chromedp.CaptureScreenshot(&png))
		require.Less(t, len(png), 200_000)
		require.NoError(t, os.WriteFile(file, png, 0o644))
	}
}

// TestAnotherBrowserSeesALockWithinASecond: nobody has to reload.
func TestAnotherBrowserSeesALockWithinASecond(t *testing.T) {
	s := startServer(t)
	first, second := openBrowser(t), openBrowser(t)
	for _, b := range []*browser{first, second} {
		b.run(chromedp.Navigate(s.admin + "/locks"))
		b.shows("No lock is held")
		b.is(`document.getElementById('pulse').textContent === 'live'`)
	}
	c := s.client("worker")
	c.do("LOCK", "door", "ann", "PX", "60000")
	first.within(time.Second, `!!document.getElementById('lock-door')`)
	c.do("LOCK", "gate", "ann", "PX", "60000")
	second.within(time.Second, `!!document.getElementById('lock-gate')`)
	c.do("UNLOCK", "door", "ann")
	second.is(`!document.getElementById('lock-door')`)
	// The lease counts down without a word from the server.
	second.is(`document.querySelector('#lock-gate [data-ends]').textContent.endsWith(' s')`)
}

// TestReleaseByForce: the name has to be typed, and the log says who did it.
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
	b.shows("Nobody holds this lock")
	require.Equal(t, "$-1", s.client("look").do("LOCK.INFO", "door"))
	require.Contains(t, s.log(), "released by force")
}

// TestLogin: a wrong password is refused, and a user sees what the user may.
func TestLogin(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	c := s.client("operator")
	c.do("LOCK", "door", "ann")
	c.do("ACL", "SETUSER", "viewer", "on", ">secret", "~*", "+lock.list", "+lock.info", "+select")
	c.do("CONFIG", "SET", "requirepass", "other")
	b.run(chromedp.Navigate(s.admin+"/locks"), chromedp.WaitVisible(`#user`))
	b.run(chromedp.SendKeys(`#user`, "viewer"), chromedp.SendKeys(`#password`, "wrong"+kb.Enter))
	b.shows("The name or the password is wrong")
	require.Len(t, b.told(), 1, "the browser tells of the status 401")
	b.run(chromedp.SendKeys(`#password`, "secret"+kb.Enter))
	b.shows("door")
	b.is(`document.querySelectorAll('nav a[data-key]').length === 1`)
	b.run(chromedp.Click(`#lock-door a`))
	b.shows("Fencing token")
	b.is(`!document.getElementById('force-name')`)
	b.run(chromedp.Click(`#logout`), chromedp.WaitVisible(`#user`))
}

// TestKeyboard: every page, the search and a lock are reached without a mouse.
func TestKeyboard(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	fill(s)
	b.run(chromedp.Navigate(s.admin + "/locks"))
	b.shows("invoice:4711")
	b.run(chromedp.KeyEvent("/"))
	b.is(`document.activeElement.id === 'q'`)
	b.run(chromedp.Evaluate(`document.activeElement.value = ''`, nil)) // the key came as a character, too
	b.run(chromedp.KeyEvent("ledger"))
	b.is(`document.querySelectorAll('#locks tbody tr').length === 1 && location.search.includes('q=ledger') && document.activeElement.id === 'q'`)
	b.run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("j"))
	b.is(`document.activeElement.textContent === 'ledger:2026'`)
	b.run(chromedp.KeyEvent(kb.Enter))
	b.shows("Fencing token")
	for key, text := range map[string]string{"2": "Who waits for whom", "3": "shoes", "4": "Where the time goes", "1": "mail:outbox"} {
		b.is(`document.getElementById('pulse').textContent === 'live'`)
		b.run(chromedp.KeyEvent(key))
		b.shows(text)
	}
	b.is(`document.getElementById('pulse').textContent === 'live'`)
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
