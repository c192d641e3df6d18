package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestRestart: an open page says that it is not live while the server is away, and goes on by itself with the
// data of the new one.
func TestRestart(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	s.client("worker").do("LOCK", "before", "ann", "PX", "600000")
	b.run(chromedp.Navigate(s.admin + "/locks"))
	b.is(`!!document.getElementById('lock-before') && document.getElementById('pulse').textContent === 'live'`)
	s.restart()
	s.client("worker").do("LOCK", "after", "ann", "PX", "600000")
	b.is(`!!document.getElementById('lock-after') && !document.getElementById('lock-before')`)
	b.is(`document.getElementById('pulse').textContent === 'live'`)
	b.messages() // the browser tells of the connection that was refused
}

// TestSlowScripts: a page is live however late its scripts come. htmx looks for what to connect in a timer if
// the document is parsed already, and the extension for streams has to be there by then.
func TestSlowScripts(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	paused := make(chan fetch.RequestID, 1)
	chromedp.ListenTarget(b.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			paused <- e.RequestID
		}
	})
	b.run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*htmx-sse*"}}))
	done := make(chan error, 1)
	go func() { done <- chromedp.Run(b.ctx, chromedp.Navigate(s.admin+"/overview")) }()
	id := <-paused
	b.is(`typeof htmx === 'object'`)
	b.run(chromedp.Evaluate(`new Promise((f) => setTimeout(() => setTimeout(f)))`, nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true) // all timers of before have run
	}))
	b.run(fetch.ContinueRequest(id))
	require.NoError(t, <-done)
	b.is(`document.getElementById('pulse').textContent === 'live'`)
}

// TestFirstConnectionFails: a page is live although its first connection for events failed.
func TestFirstConnectionFails(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	first := true
	chromedp.ListenTarget(b.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			if first {
				go func() { _ = chromedp.Run(b.ctx, fetch.FailRequest(e.RequestID, network.ErrorReasonConnectionReset)) }()
			} else {
				go func() { _ = chromedp.Run(b.ctx, fetch.ContinueRequest(e.RequestID)) }()
			}
			first = false
		}
	})
	b.run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*/overview/live*"}}))
	b.run(chromedp.Navigate(s.admin + "/overview"))
	b.is(`document.getElementById('pulse').textContent === 'live'`)
	b.messages() // the browser tells of the connection that failed
}

// TestNamesAreText: names with HTML in them are shown as they are on every page, and run nothing.
func TestNamesAreText(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	const evil = `<img src=x onerror=document.title='run'><b>"'&`
	c := s.client("operator")
	c.do("LOCK", evil, evil, "PX", "600000")
	c.do("SEM.ACQUIRE", "s"+evil, evil, "LIMIT", "2", "PX", "600000")
	c.do("SECKILL.CREATE", evil, "STOCK", "10")
	for range 2 {
		c.do("LIMIT.TAKE", evil+"limit", "1", "1", "3600000")
	}
	c.do("DELAY.ADD", "d"+evil, "PX", "3600000", "ID", evil, evil, evil)
	s.client("waiter").send("LOCK", evil, evil+"2", "WAIT", "0")
	s.awaits(1)
	require.Equal(t, "$-1", s.client("hasty").do("LOCK", evil, evil+"3", "WAIT", "5"))
	for _, look := range looks {
		b.size(look.width, look.theme)
		for _, path := range []string{"/overview", "/locks", "/graph", "/lock", "/lock of permits", "/sales", "/limiters", "/delayed", "/delayed stream", "/delayed entry", "/members", "/server"} {
			switch path {
			case "/lock", "/lock of permits":
				b.run(chromedp.Navigate(s.admin + "/locks"))
				b.run(chromedp.Click(fmt.Sprintf(`//a[@data-row][starts-with(text(), %q)]`, map[bool]string{true: "<", false: "s<"}[path == "/lock"]), chromedp.BySearch))
				b.shows("What happened")
			case "/delayed stream", "/delayed entry": // the page before leads there
				b.run(chromedp.Click(`a.key[data-row]`))
				b.is(`location.search.includes('` + map[bool]string{true: "stream", false: "id"}[path == "/delayed stream"] + `=')`)
			default:
				b.run(chromedp.Navigate(s.admin + path))
			}
			b.is(isLive)
			if path != "/server" && path != "/members" {
				b.shows(evil[:12])
			}
			b.is(`!document.querySelector('main img') && document.title !== 'run'`)
			b.fits()
			b.picture(path, "names")
		}
	}
}
