package console

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// manyLocks is the number of locks in the largest state.
const manyLocks = 1_000_000

// manyOthers is the number of streams with delayed entries, and of limiters, in that state.
const manyOthers = 10_000

// lockMany acquires n locks, with many requests at a time.
func (c *client) lockMany(n int) {
	c.t.Helper()
	const piece = 10_000
	reply := make([]byte, 0, 64)
	for from := 0; from < n; from += piece {
		var b bytes.Buffer
		for i := from; i < from+piece; i++ {
			key, owner := fmt.Sprintf("order:%07d", i), fmt.Sprintf("worker-%d", i%1000)
			fmt.Fprintf(&b, "*5\r\n$4\r\nLOCK\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n$2\r\nPX\r\n$7\r\n5400000\r\n", len(key), key, len(owner), owner)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := c.nc.Write(b.Bytes())
			sent <- err
		}()
		for range piece {
			line, err := c.in.ReadSlice('\n')
			require.NoError(c.t, err)
			require.Equal(c.t, byte(':'), line[0], string(append(reply[:0], line...)))
		}
		require.NoError(c.t, <-sent)
	}
}

// tenLocks acquires ten locks of several kinds, with waiters.
func tenLocks(s *server) {
	s.t.Helper()
	c, waits := s.client("orders-1"), s.client("billing")
	for i := range 7 {
		c.do("LOCK", fmt.Sprintf("invoice:%d", 4711+i), fmt.Sprintf("worker-%d", i), "PX", "5400000", "TRACE", trace)
	}
	c.do("LOCK", "report:nightly", "worker-8")
	c.do("LOCK", "prices", "reader-1", "SHARED", "PX", "5400000")
	c.do("LOCK", "prices", "reader-2", "SHARED", "PX", "5400000")
	c.do("SEM.ACQUIRE", "imports", "worker-9", "LIMIT", "3", "PERMITS", "2", "PX", "5400000")
	c.do("LATCH.SET", "batch:7", "3")
	waits.send("LOCK", "invoice:4711", "bob", "WAIT", "0")
	s.client("mail").send("LOCK", "invoice:4711", "eve", "WAIT", "5400000")
	s.client("coordinator").send("LATCH.WAIT", "batch:7", "WAIT", "0")
	s.awaits(3)
	require.Equal(s.t, "$-1", c.do("LOCK", "invoice:4711", "hasty", "WAIT", "5")) // LOCK.HOT has waits that have ended
}

// awaits waits until n calls wait for locks.
func (s *server) awaits(n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.look("LOCK.WAITERS") == fmt.Sprintf("*%d", n) }, patience, 20*time.Millisecond)
}

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// rows counts the locks in the list.
const rows = `document.querySelectorAll('[id^="lock-"]').length`

// TestThreeStates checks the pages about locks with no locks, ten, and a million, wide and narrow. No page
// gets wider than the window, and no list longer than a page.
func TestThreeStates(t *testing.T) {
	s, b := startServer(t), openBrowser(t)
	state := "none"
	each := func(path, text string, is ...string) {
		t.Helper()
		for _, width := range []int64{1400, 400} {
			b.size(width, "light")
			b.run(chromedp.Navigate(s.admin + path))
			b.shows(text)
			b.fits()
			b.is(`document.getElementById('pulse').textContent === 'live'`)
			for _, expression := range is {
				b.is(expression)
			}
			b.picture(path, state)
		}
	}
	each("/overview", "No owner has waited", `document.getElementById('held').textContent === '0'`)
	each("/locks", "No lock is held", rows+` === 0`)
	each("/graph", "No waiters")
	each("/lock?key=invoice:4711", "This lock is free")
	each("/server", "Where the time goes")

	tenLocks(s)
	state = "ten"
	each("/locks", "11 holders of locks and permits", rows+` === 11`, `document.getElementById('lock-batch:7').textContent.includes('3 left')`, `!document.querySelector('a[rel=next]')`)
	each("/graph", "Wait graph", `document.querySelectorAll('#graph path.waits').length === 3`)
	each("/lock?key=invoice:4711", "Release by force", `document.querySelectorAll('#timeline rect.hold').length === 1`,
		`document.getElementById('trace').textContent === '4bf92f3577b34da6a3ce929d0e0e4736'`,
		// The end of the time line is visible, and so are the names of the owners before it.
		`document.querySelector('#timeline rect.hold').getBoundingClientRect().right <= innerWidth`,
		`document.querySelector('.names').getBoundingClientRect().left >= 0`)
	each("/lock?key=imports", "2 of 3 permits", `document.querySelectorAll('#permits path').length === 1`,
		`!document.querySelector('.facts').textContent.includes('unknown')`, `document.querySelectorAll('#holders [data-since]').length === 1`)
	each("/lock?key=batch:7", "3 left until it opens", `document.body.textContent.includes('Open by force')`)
	each("/server", "orders-1")

	s.client("many").lockMany(manyLocks)
	state = "million"
	each("/overview", "invoice:4711", `document.getElementById('held').textContent === '1,000,011'`)
	each("/locks", "1,000,011 holders of locks and permits", rows+` >= 50 && `+rows+` <= 70`, `!!document.querySelector('a[rel=next]')`)
	each("/locks?q=order:0777777", "order:0777777", rows+` === 1`)
	each("/locks?q=worker-77&by=owner", "worker-77", rows+` >= 10 && `+rows+` <= 70`)
	each("/graph", "Wait graph", `document.querySelectorAll('#graph path.waits').length === 3`)
	each("/lock?key=order:0777777", "Release by force")
	each("/server", "many")
	each("/members", "This server is alone")
	others := s.client("others")
	for i := range manyOthers {
		others.do("DELAY.ADD", fmt.Sprint("mails:", i), "PX", "5400000", "to", "ann")
		others.skip(1)
		for range 2 { // the second call is refused
			require.Equal(t, "*5", others.do("LIMIT.TAKE", fmt.Sprint("api:", i), "1", "1", "5400000"))
			others.skip(5)
		}
	}
	each("/delayed", "There are more", `document.body.innerText.includes("Pending, in the first streams")`, `document.querySelectorAll('#streams tbody tr').length <= 100`)
	each("/delayed?stream=mails:7", "1 pending", `document.querySelectorAll('#entries tbody tr').length === 1`)
	each("/limiters", "api:", `document.querySelectorAll('#limiters tbody tr').length <= 100`)
	// The next page has other locks, and one click leads back to the first.
	b.run(chromedp.Navigate(s.admin + "/locks"))
	b.is(rows + ` >= 50`)
	var first string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll('[id^="lock-order:"]')].map(e => e.id).join(' ')`, &first))
	b.run(chromedp.Click(`a[rel=next]`))
	b.is(fmt.Sprintf(`%s === 50 && [...document.querySelectorAll('[id^="lock-"]')].every(e => !%q.split(' ').includes(e.id))`, rows, first))
	b.run(chromedp.Click(`nav.pages a`))
	b.is(rows + ` >= 50 && !!document.getElementById('lock-invoice:4711')`)
}

// skip reads further lines of a reply.
func (c *client) skip(lines int) {
	c.t.Helper()
	for range lines {
		_, err := c.in.ReadString('\n')
		require.NoError(c.t, err)
	}
}
