package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// newLock is the page of a lock that is taken later. The navigation has no link to it.
const newLock = "/lock?key=after"

// openAll opens each page that the navigation of a console links to, and the page of newLock, in tabs of one
// browser. It returns the tabs by the path of the page.
func openAll(t *testing.T, s *server) map[string]*browser {
	t.Helper()
	b := openBrowser(t)
	var paths []string
	b.run(chromedp.Navigate(s.admin+"/"),
		chromedp.Evaluate(`[...document.querySelectorAll('nav a[data-key]')].map((a) => a.pathname)`, &paths),
		chromedp.Navigate("about:blank"))
	require.Contains(t, paths, "/locks")
	tabs := make(map[string]*browser)
	for _, path := range append(paths, newLock) {
		tabs[path] = b.tab()
		tabs[path].size(1280, "light")
		tabs[path].run(chromedp.Navigate(s.admin + path))
	}
	return tabs
}

// each waits for an expression on each page. Pages that are named in others have another expression.
func each(tabs map[string]*browser, expression string, others map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(tabs)) {
		tab := tabs[path]
		tab.t.Helper()
		tab.t.Log(path)
		if other := others[path]; other != "" {
			tab.is(other)
		} else {
			tab.is(expression)
		}
	}
}

// write creates data with a name that each page shows, except for the page of the members.
func write(s *server, name string) {
	s.t.Helper()
	c := s.client(name) // the page of the server shows the names of clients
	require.Regexp(s.t, `^:\d+$`, c.do("LOCK", name, "ann", "PX", "600000"))
	require.Equal(s.t, "+OK", c.do("SECKILL.CREATE", name, "STOCK", "10"))
	require.Equal(s.t, "$7", c.do("DELAY.ADD", name+":stream", "PX", "3600000", "ID", "order-1", "user", "ann")) // the id
	c.skip(1)
	for range 2 { // the second call is refused
		require.Equal(s.t, "*5", c.do("LIMIT.TAKE", name+":limit", "1", "1", "3600000"))
		c.skip(5)
	}
	s.client("waiter").send("LOCK", name, "bob", "WAIT", "0")
	s.awaits(1)
	// The overview shows locks with waits that have ended.
	require.Equal(s.t, "$-1", s.client("hasty").do("LOCK", name, "eve", "WAIT", "5"))
}

const (
	isLive    = `document.getElementById('pulse').textContent === 'live'`
	isNotLive = `document.getElementById('pulse').textContent === 'not live'`
	ownerIs   = `document.querySelector('#live .owner')?.textContent === 'ann'`
)

// has is an expression for data with a name on a page.
func has(text string) string {
	return fmt.Sprintf(`document.getElementById('live').innerText.includes(%q)`, text)
}

// TestEachPageDuringARestart: while the server is away, each page says that it is not live. Then each goes on
// by itself, with the data of before and new data.
func TestEachPageDuringARestart(t *testing.T) {
	port := freePort(t)
	s := startServer(t, "--port", port, "--appendonly", "yes")
	write(s, "before")
	tabs := openAll(t, s)
	t.Cleanup(func() {
		for _, tab := range tabs {
			tab.messages() // the browser tells of the connections that were refused
		}
	})
	each(tabs, isLive+` && `+has("before"), map[string]string{
		newLock:    isLive + ` && ` + has("This lock is free"),
		"/members": isLive + ` && ` + has("This server is alone"),
	})
	s.kill()
	each(tabs, isNotLive, nil)
	for _, theme := range []string{"light", "dark"} {
		tabs["/locks"].size(1280, theme)
		tabs["/locks"].picture("/locks", "away")
	}
	s.start()
	write(s, "after")
	startServer(t, "--replicaof", "127.0.0.1 "+port) // a row for the page of the members
	each(tabs, isLive+` && `+has("after"), map[string]string{
		newLock:    isLive + ` && ` + ownerIs,
		"/members": isLive + ` && document.querySelectorAll('#replicas tbody tr').length === 1`,
		"/locks":   isLive + ` && !!document.getElementById('lock-before') && !!document.getElementById('lock-after')`,
	})
}

// TestEachPageWhileTheServerHangs: a server that hangs keeps its connections, and each page says that it is
// not live. Then each goes on by itself.
func TestEachPageWhileTheServerHangs(t *testing.T) {
	s := startServer(t)
	write(s, "before")
	tabs := openAll(t, s)
	t.Cleanup(func() {
		for _, tab := range tabs {
			tab.messages() // the browser tells of connections that the server ended
		}
	})
	each(tabs, isLive, nil)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	each(tabs, isNotLive, nil)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
	s.client("worker").do("LOCK", "after", "ann", "PX", "600000")
	each(tabs, isLive, map[string]string{newLock: isLive + ` && ` + ownerIs, "/locks": isLive + ` && ` + has("after")})
}

// TestConnectionIsLost: an open page goes on by itself when the connection of its session was closed.
func TestConnectionIsLost(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	b.run(chromedp.Navigate(s.admin + "/locks"))
	b.is(isLive)
	c := s.client("operator")
	c.do("CLIENT", "LIST")
	list, err := c.in.ReadString('\n')
	for ; err == nil && !strings.Contains(list, " name=console "); list, err = c.in.ReadString('\n') {
	}
	require.NoError(t, err)
	s.client("killer").do("CLIENT", "KILL", "ID", strings.TrimPrefix(strings.Fields(list)[0], "id="))
	s.client("worker").do("LOCK", "door", "ann", "PX", "600000")
	b.is(isLive + ` && !!document.getElementById('lock-door')`)
	b.messages() // the browser tells of the session that has ended
}

// TestEachPageWhileTheLeadChanges: when the member of an open page no longer leads, each page of the leader's
// data says so. When it leads again, each goes on by itself with new data, and none is loaded anew.
func TestEachPageWhileTheLeadChanges(t *testing.T) {
	group := startGroup(t)
	transfer(t, group, 0)
	s := group[0]
	write(s, "before")
	tabs := openAll(t, s)
	each(tabs, isLive+` && `+has("before"), map[string]string{
		newLock:    isLive + ` && ` + has("This lock is free"),
		"/members": isLive + ` && ` + fmt.Sprintf(leads, "a"),
	})
	for _, tab := range tabs {
		tab.run(chromedp.Evaluate(`window.same = true`, nil))
	}
	transfer(t, group, 1)
	each(tabs, isLive+` && `+has("This member does not lead"), map[string]string{
		"/members": isLive + ` && ` + fmt.Sprintf(leads, "b") + ` && !` + fmt.Sprintf(leads, "a"),
	})
	group[1].client("worker").do("LOCK", "elsewhere", "ann", "PX", "600000")
	transfer(t, group, 0)
	write(s, "after")
	each(tabs, isLive+` && window.same && `+has("after"), map[string]string{
		newLock:    isLive + ` && window.same && ` + ownerIs,
		"/members": isLive + ` && window.same && ` + fmt.Sprintf(leads, "a") + ` && !` + fmt.Sprintf(leads, "b"),
		"/locks":   isLive + ` && window.same && ['before', 'elsewhere', 'after'].every((name) => document.getElementById('lock-' + name))`,
	})
}
