package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/coverage"
	"slices"
	"strings"
	"time"

	"lockserver/admin/console"
	"lockserver/admin/history"
	"lockserver/server"
)

// pageLook is a page of the console. An open page is made anew each second. So its cost must not depend on
// how much there is, and must be a small part of a second.
type pageLook struct {
	path string
	// statements and bytes bound what the server runs to make the page, and its size. A statement takes one
	// or two nanoseconds, so 1 % of a core runs about 5,000,000 statements a second.
	statements, bytes int
}

func pageLooks() []pageLook {
	return []pageLook{
		{"/overview", 30_000, 20_000}, {"/locks", 2_700_000, 120_000}, {"/graph", 160_000, 60_000}, {"/lock?key=order:7", 3_600_000, 20_000},
		{"/lock?key=order:20", 3_600_000, 80_000}, {"/sales", 80_000, 60_000}, {"/delayed", 60_000, 50_000}, {"/delayed?stream=mails:7", 80_000, 60_000},
		{"/limiters", 120_000, 40_000}, {"/members", 10_000, 10_000}, {"/server", 110_000, 40_000},
	}
}

// The numbers of locks, delayed entries and limiters with which pages are looked at. There are a tenth as
// many waiters, and a hundredth as many sales. Each list and the history are longer than what a page reads in
// both cases.
const fewOfAll, manyOfAll = 25_000, 100_000

// mostGrowth is how many times as much a page may cost with many locks: less than there are more of them.
const mostGrowth = 2.5

// pageRounds is how often a page is made to count its statements.
const pageRounds = 3

// pages is a server with a console, and data.
type pages struct {
	*subject
	console *console.Console
	filled  int
	waits   net.Conn
}

// comparePages counts the statements of each page with few locks and with many, and returns the pages that
// exceed a bound.
func (s *subject) comparePages() (failed []string, err error) {
	clock := server.NewManualClock(time.UnixMilli(1_700_000_000_000))
	srv, err := server.New(server.Options{Clock: clock, Directives: map[string]string{"port": "0", "bind": "127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = srv.Close() }()
	p := &pages{subject: &subject{module: s.module, srv: srv, dir: s.dir}}
	for _, at := range []*net.Conn{&p.conn, &p.waits} {
		if *at, err = srv.Dial(); err != nil {
			return nil, err
		}
		defer func() { _ = (*at).Close() }()
	}
	p.console = console.New([]console.Backend{srv}, new(history.Book), slog.New(slog.DiscardHandler))
	p.console.AutoLogin = true
	if err := p.fillHistory(); err != nil {
		return nil, err
	}
	var few, many []int
	for _, n := range []int{fewOfAll, manyOfAll} {
		if err := p.fill(n); err != nil {
			return nil, err
		}
		for _, l := range pageLooks() {
			ran, size, err := p.look(l.path)
			if err != nil {
				return nil, err
			}
			if n == fewOfAll {
				few = append(few, ran)
				continue
			}
			many = append(many, ran)
			fmt.Printf("the page %s has %d bytes (at most %d)\n", l.path, size, l.bytes)
			if size > l.bytes {
				failed = append(failed, fmt.Sprintf("the page %s has %d bytes, and may have %d", l.path, size, l.bytes))
			}
		}
	}
	for i, l := range pageLooks() {
		fmt.Printf("the page %s takes %d statements with %d locks, and %d with %d (at most %d)\n", l.path, few[i], fewOfAll, many[i], manyOfAll, l.statements)
		if many[i] > l.statements || float64(many[i]) > mostGrowth*float64(few[i]) {
			failed = append(failed, fmt.Sprintf("the page %s takes %d statements with many locks, and %d with few", l.path, many[i], few[i]))
		}
	}
	return failed, p.findOthers()
}

// fillHistory makes the history as long as it gets.
func (p *pages) fillHistory() error {
	var b bytes.Buffer
	const pairs = 1000
	for range pairs {
		b.WriteString("*3\r\n$4\r\nLOCK\r\n$5\r\nchurn\r\n$1\r\na\r\n*3\r\n$6\r\nUNLOCK\r\n$5\r\nchurn\r\n$1\r\na\r\n")
	}
	for range 150 {
		if err := exchange(p.conn, b.Bytes(), 2*pairs); err != nil {
			return err
		}
	}
	return nil
}

// fill adds locks, waiters, delayed entries, sales and limiters until there are n.
func (p *pages) fill(n int) error {
	for ; p.filled < n; p.filled += 100 {
		var b, waits bytes.Buffer
		add := func(to *bytes.Buffer, words ...string) {
			fmt.Fprintf(to, "*%d\r\n", len(words))
			for _, w := range words {
				fmt.Fprintf(to, "$%d\r\n%s\r\n", len(w), w)
			}
		}
		commands := 0
		for i := p.filled; i < p.filled+100; i++ {
			add(&b, "LOCK", fmt.Sprint("order:", i), fmt.Sprint("worker-", i%1000), "PX", "3600000")
			add(&b, "DELAY.ADD", fmt.Sprint("mails:", i%100), "PX", "3600000", "ID", fmt.Sprint("id-", i), "to", "ann")
			add(&b, "LIMIT.TAKE", fmt.Sprint("limit:", i), "1", "1", "3600000", "COST", "1")
			add(&b, "LIMIT.TAKE", fmt.Sprint("limit:", i), "1", "1", "3600000", "COST", "1")
			commands += 4
			if i%100 == 0 {
				add(&b, "SECKILL.CREATE", fmt.Sprint("sale-", i), "STOCK", "10")
				commands++
			}
			if i%10 == 0 {
				add(&waits, "LOCK", fmt.Sprint("order:", i%100), fmt.Sprint("waiter-", i), "PX", "3600000", "WAIT", "0", "NOTIFY")
			}
		}
		if err := exchange(p.conn, b.Bytes(), commands); err != nil {
			return err
		}
		if err := exchange(p.waits, waits.Bytes(), 10); err != nil {
			return err
		}
	}
	return nil
}

// exchange sends commands, and reads the replies. Replies that are lists have integers.
func exchange(c net.Conn, words []byte, n int) error {
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(words)
		sent <- err
	}()
	in := bufio.NewReader(c)
	for ; n > 0; n-- {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return err
		case line[0] == '-':
			return fmt.Errorf("%s", line)
		case line[0] == '*':
			n += int(line[1] - '0')
		case line[0] == '$' && line[1] != '-':
			n++
		}
	}
	return <-sent
}

// get asks for a page.
func (p *pages) get(path string, cookies []*http.Cookie) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:5000", "localhost:9000"
	for _, c := range cookies {
		r.AddCookie(c)
	}
	reply := httptest.NewRecorder()
	if p.console.ServeHTTP(reply, r); reply.Code != http.StatusOK {
		return nil, fmt.Errorf("the page %s: %d", path, reply.Code)
	}
	return reply, nil
}

// look returns the number of statements that make a page, the least of some measurements, and its size.
func (p *pages) look(path string) (least, size int, err error) {
	reply, err := p.get(path, nil)
	if err != nil {
		return 0, 0, err
	}
	cookies := reply.Result().Cookies()
	for range pageRounds {
		if err := coverage.ClearCounters(); err != nil {
			return 0, 0, err
		}
		if reply, err = p.get(path, cookies); err != nil {
			return 0, 0, err
		}
		n, err := p.ran()
		if err != nil {
			return 0, 0, err
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return least, reply.Body.Len(), nil
}

var pageLink = regexp.MustCompile(`<a href="(/\w+)"[^>]* data-key=`)

// findOthers returns an error if the console has a page that is not looked at.
func (p *pages) findOthers() error {
	reply, err := p.get("/overview", nil)
	if err != nil {
		return err
	}
	for _, link := range pageLink.FindAllStringSubmatch(reply.Body.String(), -1) {
		if !slices.ContainsFunc(pageLooks(), func(l pageLook) bool { return strings.HasPrefix(l.path, link[1]) }) {
			return fmt.Errorf("nothing bounds the cost of the page %s", link[1])
		}
	}
	return nil
}
