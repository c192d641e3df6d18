package timed

import (
	"math/rand/v2"
	"net"
	"os"
	"time"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/testkit"
)

const (
	baseMS = 1_750_000_000_000
	// patience is the longest time for an event that comes by itself.
	patience = time.Minute
)

// violation is a fault of the server.
type violation struct{ text string }

func (v *violation) Error() string { return v.text }

// base holds the server of a world, and its clock.
type base struct {
	seed   uint64
	random *rand.Rand
	dir    string
	clock  *server.ManualClock
	srv    *server.Server
	admin  *testkit.Client
	counts map[string]int
}

// newBase starts the server of a seed.
func newBase(seed uint64) (w base, err error) {
	w = base{seed: seed, random: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
	if w.dir, err = os.MkdirTemp("", "timed"); err != nil {
		return w, err
	}
	w.clock = server.NewManualClock(time.UnixMilli(baseMS))
	w.srv, w.admin, err = w.start(w.clock, w.dir)
	return w, err
}

// logs reports whether the server has a log, so that it loses nothing.
func (w *base) logs() bool { return w.seed%2 == 0 }

// start starts a server with the files in a directory.
func (w *base) start(clock *server.ManualClock, dir string) (*server.Server, *testkit.Client, error) {
	c := config.Default()
	c.Port, c.Save, c.Dir = 0, nil, dir
	c.AppendOnly, c.AppendFsync = w.logs(), "always"
	directives := c.Directives()
	directives["repl-diskless-sync-delay"] = "0"
	directives["hash-max-listpack-value"] = "1024" // so that equal hashes have equal dumps, however they came about
	srv, err := server.New(server.Options{Directives: directives, Clock: clock})
	if err != nil {
		return nil, nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, nil, err
	}
	client, err := dial(srv)
	return srv, client, err
}

// close ends the server, and removes its files.
func (w *base) close() {
	w.admin.Close()
	_ = w.srv.Close()
	_ = os.RemoveAll(w.dir)
}

func dial(srv *server.Server) (*testkit.Client, error) {
	conn, err := net.Dial("tcp", srv.Addr().String())
	if err != nil {
		return nil, err
	}
	c := testkit.Connect(conn)
	c.Timeout = patience
	return c, nil
}

func info(c *testkit.Client) string {
	v, err := c.Call("INFO", "replication")
	if err != nil {
		return ""
	}
	return v.Str
}
