package hostile

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// answerWithin is how long the server may leave a harmless client without an answer. While a scenario that
// hung is shrunk, the time is shorter.
const (
	answerWithin      = 30 * time.Second
	answerWithinBrief = 3 * time.Second
)

// admin is a connection that a scenario cannot break for long. CLIENT KILL may close it, too.
type admin struct {
	addr   string
	within time.Duration
	nc     net.Conn
	in     *bufio.Reader
}

// do sends a command and returns the reply, on a new connection if the old one is gone.
func (a *admin) do(args ...string) (v resp.Value, err error) {
	for range 3 {
		if a.nc == nil {
			if a.nc, err = net.Dial("tcp", a.addr); err != nil {
				a.nc = nil
				return v, err
			}
			a.in = bufio.NewReader(a.nc)
		}
		words := make([][]byte, len(args))
		for i, w := range args {
			words[i] = []byte(w)
		}
		_ = a.nc.SetDeadline(time.Now().Add(a.within))
		if _, err = a.nc.Write(resp.AppendCommand(nil, words...)); err == nil {
			if v, err = resp.ReadValue(a.in); err == nil {
				return v, nil
			}
		}
		_ = a.nc.Close()
		a.nc = nil
		if network, ok := err.(net.Error); ok && network.Timeout() {
			return v, fmt.Errorf("no answer to %s: %w", testkit.Line(args), err)
		}
	}
	return v, err
}

// mustDo is do for a command that cannot be refused.
func (a *admin) mustDo(args ...string) error {
	for end := time.Now().Add(a.within); ; time.Sleep(time.Millisecond) {
		v, err := a.do(args...)
		if err == nil && v.IsError() {
			err = fmt.Errorf("%s: %s", testkit.Line(args), v)
			if time.Now().Before(end) { // a script may still be running
				continue
			}
		}
		return err
	}
}

func (a *admin) close() {
	if a.nc != nil {
		_ = a.nc.Close()
		a.nc = nil
	}
}

// tb is the testing.TB of functions that read through testkit here: a failure is returned, and does not end
// the test.
type tb struct {
	testing.TB
	cleanups []func()
	said     string
}

type readFailed struct{ why string }

func (t *tb) Helper()                   {}
func (t *tb) Name() string              { return "reading" }
func (t *tb) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *tb) Errorf(f string, a ...any) { t.said += fmt.Sprintf(f, a...) }
func (t *tb) FailNow()                  { panic(readFailed{t.said}) }

// everything holds the data of a server, and its functions.
type everything struct {
	data      testkit.Dataset
	functions string
	// dies maps a key to its deadline, or the first deadline of its fields, in milliseconds since 1970. Keys
	// without a deadline are missing.
	dies map[testkit.Place]int64
	// restless means that data will soon change by itself: an order of a sale expires, which changes many
	// keys, or a delayed entry becomes due.
	restless bool
	// overdue means that there are orders or entries that cannot be completed now, and are tried again every
	// second. They succeed once the obstacle is removed.
	overdue bool
}

// Sorted sets with these names hold the times at which orders expire, and at which entries are added to a
// stream, in milliseconds since 1970.
const holdsPrefix, delayedSuffix = "seckill:holds:", ":delayed"

// A reading is restless if orders or entries are due between restlessFor and restlessAfter from now. Orders
// that cannot be taken back are tried again every second, and change nothing.
const (
	restlessFor   = -1500 * time.Millisecond
	restlessAfter = 5 * time.Second
	// triedAgain is a time without changes after which overdue orders and entries were certainly tried again
	// in vain.
	triedAgain = 1500 * time.Millisecond
)

// isRestless looks for such orders or entries in a sorted set. overdue says that there are older ones.
func isRestless(c *testkit.Client, key string) (restless, overdue bool) {
	now := time.Now()
	from, to := strconv.FormatInt(now.Add(restlessFor).UnixMilli(), 10), strconv.FormatInt(now.Add(restlessAfter).UnixMilli(), 10)
	return c.Do("ZCOUNT", key, from, to).Int > 0, c.Do("ZCOUNT", key, "-inf", "("+from).Int > 0
}

// readings is the number of attempts to read everything: a key may expire between two commands that read it.
const readings = 5

// readEverything reads the data of a server.
func readEverything(addr string) (e everything, err error) {
	for range readings {
		if e, err = readOnce(addr); err == nil {
			break
		}
	}
	return e, err
}

func readOnce(addr string) (e everything, err error) {
	t := &tb{}
	defer func() {
		for _, f := range t.cleanups {
			f()
		}
		if p := recover(); p != nil {
			failed, ok := p.(readFailed)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("reading the data: %s", failed.why)
		}
	}()
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	c.Timeout = answerWithin
	e.functions = c.Do("FUNCTION", "LIST", "WITHCODE").String()
	e.dies = map[testkit.Place]int64{}
	dies := func(place testkit.Place, at int64) {
		if first, ok := e.dies[place]; !ok || at < first {
			e.dies[place] = at
		}
	}
	// The deadlines come first, so that keys that expire during the reading are known.
	fields := map[testkit.Place]string{}
	for place, entry := range testkit.ReadDataset(c) {
		c.Do("SELECT", strconv.Itoa(place.DB))
		switch {
		case entry.Type == "zset" && (strings.HasPrefix(place.Key, holdsPrefix) || strings.HasSuffix(place.Key, delayedSuffix)):
			restless, overdue := isRestless(c, place.Key)
			e.restless, e.overdue = e.restless || restless, e.overdue || overdue
		case entry.Type == "hash":
			at := fieldDeadlines(c, place.Key)
			for _, at := range at {
				dies(place, at)
			}
			fields[place] = fmt.Sprint(at)
		}
		if entry.DeadlineMS >= 0 {
			dies(place, entry.DeadlineMS)
		}
	}
	e.data = testkit.ReadDataset(c)
	for place, entry := range e.data {
		if entry.Value += fields[place]; entry.Type == "zset" {
			// A small set keeps whole scores as integers, which have no -0, as in Redis. A large set was
			// small when the log built it again.
			entry.Value = strings.ReplaceAll(entry.Value, ` "-0"`, ` "0"`)
		}
		e.data[place] = entry
	}
	return e, nil
}

// fieldDeadlines returns the deadlines of a hash's fields.
func fieldDeadlines(c *testkit.Client, key string) map[string]int64 {
	names := c.Do("HKEYS", key).Elems
	ask := []string{"HPEXPIRETIME", key, "FIELDS", strconv.Itoa(len(names))}
	for _, name := range names {
		ask = append(ask, name.Str)
	}
	dies := map[string]int64{}
	for i, at := range c.Do(ask...).Elems {
		if i < len(names) && at.Int > 0 {
			dies[names[i].Str] = at.Int
		}
	}
	return dies
}

// diff returns the differences of two readings; the later one has just ended. Keys that may have expired in
// between are left out.
func (e everything) diff(later everything) []string {
	nowMS := time.Now().UnixMilli()
	alive := func(e, other everything) testkit.Dataset {
		data := maps.Clone(e.data)
		maps.DeleteFunc(data, func(place testkit.Place, _ testkit.Entry) bool {
			one, dies := e.dies[place]
			two, diesToo := other.dies[place]
			return dies && one <= nowMS || diesToo && two <= nowMS
		})
		return data
	}
	lines := alive(e, later).Diff(alive(later, e), 0)
	if e.functions != later.functions {
		lines = append(lines, fmt.Sprintf("functions: %s | %s", e.functions, later.functions))
	}
	return lines
}
