package console

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// logIn logs in on the page that is shown instead of the one at path.
func (b *browser) logIn(s *server, path, user string) {
	b.t.Helper()
	b.run(chromedp.Navigate(s.admin+path), chromedp.WaitVisible(`#user`))
	b.run(chromedp.SendKeys(`#user`, user), chromedp.SendKeys(`#password`, "secret"+kb.Enter))
	b.is(isLive)
}

// TestAskAndCancel: without the right there is no button. With the right, the button does nothing before the
// box is checked, and then the command runs.
func TestAskAndCancel(t *testing.T) {
	s, first := startServer(t), openBrowser(t)
	c, holder := s.client("operator"), s.client("holder")
	holder.send("HELLO", "3")
	holder.send("LOCK.ATTACH", "ann")
	holder.send("LOCK", "door", "ann", "PX", "600000")
	c.do("DELAY.ADD", "mails", "PX", "3600000", "ID", "order-1", "user", "ann")
	c.skip(1)
	read := []string{"ACL", "SETUSER", "viewer", "on", ">secret", "~*", "+select", "+lock.list", "+lock.info", "+delay.list", "+delay.get", "+delay.count"}
	require.Equal(t, "+OK", c.do(read...))
	read[2] = "clerk"
	require.Equal(t, "+OK", c.do(append(read, "+lock.ask", "+delay.cancel")...))
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "requirepass", "other"))
	for _, action := range []struct {
		path, shows, sure, button, done, command string
	}{
		{"/lock?key=door", "Fencing token", "#ask-sure", "#ask-go", "Asked: 1 attached client got the message", "lock.ask"},
		{"/delayed?stream=mails&id=order-1", "Due at", "#cancel-sure", "#cancel-go", "order-1 was cancelled", "delay.cancel"},
	} {
		ran := "cmdstat_" + action.command + ":calls=1,"
		viewer, clerk := first.tab(), first.tab()
		viewer.logIn(s, action.path, "viewer")
		viewer.shows(action.shows)
		viewer.is(`!document.querySelector('` + action.sure + `') && !document.querySelector('` + action.button + `')`)

		clerk.logIn(s, action.path, "clerk")
		clerk.shows(action.shows)
		// The browser tells of a box that must be checked instead of sending the form.
		clerk.run(chromedp.Evaluate(`addEventListener('invalid', (event) => { window.missing = '#' + event.target.id }, true)`, nil))
		clerk.run(chromedp.Click(action.button))
		clerk.is(`window.missing === '` + action.sure + `'`)
		require.NotContains(t, c.info("commandstats"), ran)
		clerk.run(chromedp.Click(action.sure), chromedp.Click(action.button))
		clerk.shows(action.done)
		require.Contains(t, c.info("commandstats"), ran)
	}
	require.Equal(t, ":0", c.do("DELAY.COUNT", "mails"))
	require.NoError(t, holder.nc.SetReadDeadline(time.Now().Add(patience)))
	for line := ""; line != "lock-asked\r\n"; { // it comes after the replies
		var err error
		line, err = holder.in.ReadString('\n')
		require.NoError(t, err)
	}
}

// TestUnreadable: no page shows a key that the user may not read. A page is refused if the user may not run
// its command.
func TestUnreadable(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	c := s.client("operator")
	for _, name := range []string{"open", "secret"} {
		c.do("LOCK", name+":lock", "owner-"+name, "PX", "600000")
		c.do("SEM.ACQUIRE", name+":permits", "owner-"+name, "LIMIT", "2", "PX", "600000")
		c.do("SECKILL.CREATE", name+":sale", "STOCK", "10")
		c.do("DELAY.ADD", name+":stream", "PX", "3600000", "ID", "id-"+name, "user", name)
		c.skip(1)
		for range 2 { // the second call is refused
			c.do("LIMIT.TAKE", name+":limit", "1", "1", "3600000")
			c.skip(5)
		}
		s.client("waiter").send("LOCK", name+":lock", "waiter-"+name, "WAIT", "0")
		require.Equal(t, "$-1", s.client("hasty").do("LOCK", name+":lock", "hasty-"+name, "WAIT", "5"))
	}
	s.awaits(2)
	user := []string{"ACL", "SETUSER", "viewer", "on", ">secret", "~open:*", "~{open:*", "~seckill:*open:*", "~stream.orders"}
	require.Equal(t, "+OK", c.do(append(user, "+@all", "-client|list", "-slowlog")...))
	require.Equal(t, "+OK", c.do("ACL", "SETUSER", "rightless", "on", ">secret", "~*", "+select"))
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "requirepass", "other"))

	paths := []string{"/overview", "/locks", "/locks?q=*", "/graph", "/lock?key=open:lock", "/lock?key=secret:lock", "/lock?key=secret:permits", "/sales", "/sales?q=e",
		"/delayed", "/delayed?q=id-secret", "/delayed?stream=secret:stream", "/delayed?stream=secret:stream&id=id-secret", "/limiters", "/members", "/server"}
	viewer, rightless := b.tab(), b.tab()
	viewer.logIn(s, "/locks", "viewer")
	viewer.shows("open:lock")
	for _, path := range paths {
		viewer.run(chromedp.Navigate(s.admin + path))
		viewer.is(isLive)
		// The user typed the name of the page's own key.
		viewer.is(`!/(owner|waiter|hasty)-secret|secret:sale|secret:limit/.test(document.getElementById('live').innerText)`)
		if strings.Contains(path, "key=secret") {
			viewer.shows("does not let viewer read this key")
		}
	}
	rightless.run(chromedp.Navigate(s.admin+"/locks"), chromedp.WaitVisible(`#user`))
	rightless.run(chromedp.SendKeys(`#user`, "rightless"), chromedp.SendKeys(`#password`, "secret"+kb.Enter))
	for _, path := range paths {
		rightless.shows("Not for rightless")
		rightless.run(chromedp.Navigate(s.admin + path))
		rightless.is(`document.querySelectorAll('nav a[data-key]').length === 0 && !document.getElementById('live')`)
	}
	rightless.messages() // the browser tells of the status 403
}

// info returns a section of INFO.
func (c *client) info(section string) string {
	c.t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(c.do("INFO", section), "$"))
	require.NoError(c.t, err)
	text := make([]byte, n+len("\r\n"))
	_, err = io.ReadFull(c.in, text)
	require.NoError(c.t, err)
	return string(text)
}
