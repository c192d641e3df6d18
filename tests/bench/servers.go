package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tools are the paths of the programs of a Redis installation.
type tools struct{ server, benchmark string }

func findTools() (tools, error) {
	var t tools
	for _, p := range []struct {
		name string
		path *string
	}{{"redis-server", &t.server}, {"redis-benchmark", &t.benchmark}} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			return t, fmt.Errorf("%s is missing: run 'make deps'", p.name)
		}
		*p.path = path
	}
	return t, nil
}

// product is a server program.
type product struct {
	name   string // as the report calls it
	path   string
	args   []string       // besides port, address, directory and save
	loaded *regexp.Regexp // in its log: the group is the time that loading the snapshot took
	unit   time.Duration  // of that group
	native bool           // it has LOCK, UNLOCK and SECKILL as commands
}

// How the servers log that they have loaded a snapshot.
const (
	redisLoaded = `DB loaded from disk: ([0-9.]+) seconds`
	ourLoaded   = `DB loaded from disk .*\bms=([0-9.]+)`
)

// prepare finds Redis, builds lockserver, and makes the pair.
func (b *bench) prepare(ctx context.Context) error {
	var err error
	if b.tools, err = findTools(); err != nil {
		return err
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		return err
	}
	path := b.binary
	if path == "" {
		path = filepath.Join(b.dir, "lockserver")
		b.say("building %s", path)
		out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "lockserver/cmd/lockserver").CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build lockserver/cmd/lockserver: %w\n%s", err, out)
		}
	}
	b.pair = [2]product{
		{name: "Redis", path: b.tools.server, args: []string{"--appendonly", "no"}, unit: time.Second,
			loaded: regexp.MustCompile(redisLoaded)},
		{name: "lockserver", path: path, args: b.serverArgs, unit: time.Millisecond, native: true,
			loaded: regexp.MustCompile(ourLoaded)},
	}
	return nil
}

// server is a running process of a product.
type server struct {
	product
	addr  string
	port  int
	dir   string
	log   string        // the file
	ready time.Duration // from the start of the process to its first PONG
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone
}

// readyLimit is how long a server may take to load and to answer.
const readyLimit = 2 * time.Minute

// start runs a product on a free port, with its data in dir, and returns when it has answered a PING.
func (b *bench) start(ctx context.Context, p product, dir string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &server{product: p, port: port, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dir: dir,
		log: filepath.Join(dir, "server.log"), ended: make(chan struct{})}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	args := append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", ""}, p.args...)
	s.cmd = exec.CommandContext(ctx, p.path, args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in its log
		close(s.ended)
	}()
	if err := s.waitReady(begun.Add(readyLimit)); err != nil {
		s.stop()
		return nil, fmt.Errorf("%s did not get ready: %w\n%s", p.name, err, s.logTail())
	}
	s.ready = time.Since(begun)
	return s, nil
}

// startFresh starts a product on an empty directory of its own.
func (b *bench) startFresh(ctx context.Context, p product) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, p.name)
	if err != nil {
		return nil, err
	}
	return b.start(ctx, p, dir)
}

// freePort is a TCP port that nobody listens on right now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// waitReady asks until the server answers PONG. Redis listens while it loads and answers LOADING; lockserver listens
// when it has loaded.
func (s *server) waitReady(deadline time.Time) error {
	const pause = 500 * time.Microsecond
	for time.Now().Before(deadline) {
		select {
		case <-s.ended:
			return errors.New("the process has ended")
		default:
		}
		c, err := dial(s.addr)
		if err != nil {
			time.Sleep(pause)
			continue
		}
		for err == nil && time.Now().Before(deadline) {
			var text string
			if text, err = c.do("PING"); text == "PONG" {
				c.close()
				return nil
			}
			var refused replyError
			if errors.As(err, &refused) && strings.HasPrefix(string(refused), "LOADING") {
				err = nil
				time.Sleep(pause)
			}
		}
		c.close()
		time.Sleep(pause)
	}
	return errors.New("timed out")
}

// stop ends the process and waits for that. Without save points neither server writes a snapshot when it is asked to
// end; one that does not end in ten seconds is killed.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// cpu is the CPU time that the process has used.
func (s *server) cpu() (time.Duration, error) { return cpuTime(s.pid()) }

// resident is the memory of the process in bytes.
func (s *server) resident() (int64, error) { return residentBytes(s.pid()) }

// do asks on a connection of its own.
func (s *server) do(args ...string) (string, error) {
	c, err := dial(s.addr)
	if err != nil {
		return "", err
	}
	defer c.close()
	text, err := c.do(args...)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", s.name, args[0], err)
	}
	return text, nil
}

// loadTime is how long the server says that loading its snapshot took; false if its log does not say.
func (s *server) loadTime() (time.Duration, bool) {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return 0, false
	}
	return s.parseLoadTime(string(text))
}

func (p product) parseLoadTime(log string) (time.Duration, bool) {
	m := p.loaded.FindStringSubmatch(log)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return time.Duration(n * float64(p.unit)), err == nil
}

// logTail is the end of the server's log, for an error.
func (s *server) logTail() string {
	text, _ := os.ReadFile(s.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
