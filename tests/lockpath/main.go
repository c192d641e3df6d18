package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/coverage"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/server"
)

// look is an examined command. Its key is new in each round, and before is sent first.
type look struct {
	name         string
	before, sent string
	files, calls int            // upper limits
	passed       map[string]int // the number of rounds in which a file ran
	called       map[string]bool
}

// rounds is how often each command is sent. The work of the event loop after a reply may run in the next
// round. So a file is in the list if it ran in most rounds. A file is new if it ran in all rounds and is not
// in the list. A listed file is no longer passed if it ran in no round.
const rounds = 5

// most returns the files that ran in most rounds.
func (l *look) most() (files []string) {
	for f, n := range l.passed {
		if 2*n > rounds {
			files = append(files, f)
		}
	}
	slices.Sort(files)
	return files
}

func looks() []*look {
	return []*look{
		{name: "LOCK", sent: "LOCK K alice", files: 60, calls: 3},
		{name: "LOCK-PX", sent: "LOCK K alice PX 10000", files: 63, calls: 3},
		{name: "UNLOCK", before: "LOCK K alice", sent: "UNLOCK K alice", files: 71, calls: 3},
		{name: "SET", sent: "SET K v", files: 45, calls: 0},
		{name: "GET", before: "SET K v", sent: "GET K", files: 43, calls: 0},
		{name: "XADD", sent: "XADD K * f v", files: 61, calls: 0},
	}
}

func main() {
	write := flag.Bool("write", false, "write the list instead of comparing with it")
	list := flag.String("list", "tests/lockpath/passed.txt", "the list")
	flag.Parse()
	if err := run(*list, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run examines all commands, and compares the result with the list or writes the list. It must run in the
// root of the module.
func run(list string, write bool) error {
	was, err := os.ReadFile(list)
	if err != nil && !write {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	s, err := start(info.Main.Path)
	if err != nil {
		return err
	}
	defer s.close()
	var text bytes.Buffer
	var failed []string
	for _, l := range looks() {
		if err := s.watch(l); err != nil {
			return err
		}
		calls, files := slices.Sorted(maps.Keys(l.called)), l.most()
		fmt.Fprintf(&text, "%s calls the server %d times: %s\n", l.name, len(calls), strings.Join(calls, " "))
		for _, f := range files {
			fmt.Fprintln(&text, l.name+" "+f)
		}
		fmt.Printf("%s passes %d files (at most %d) and calls the server %d times (at most %d)\n", l.name, len(files), l.files, len(calls), l.calls)
		if len(files) > l.files || len(calls) > l.calls {
			failed = append(failed, l.name+" passes more files, or calls the server more often, than it may")
		}
		failed = append(failed, l.differences(string(was))...)
	}
	if write {
		return os.WriteFile(list, text.Bytes(), 0o600)
	}
	dearer, err := s.compareSlots()
	if err != nil {
		return err
	}
	pages, err := s.comparePages()
	if err != nil {
		return err
	}
	limits, err := s.compareLimits()
	if err != nil {
		return err
	}
	waits, err := compareWaits(s.module)
	if err != nil {
		return err
	}
	failed = slices.Concat(failed, dearer, pages, limits, waits)
	if failed != nil {
		return fmt.Errorf("%s\nmake lock-path WRITE=-write writes the list anew", strings.Join(failed, "\n"))
	}
	return nil
}

// differences returns the files that are new for a command, and those that no longer run for it.
func (l *look) differences(list string) (d []string) {
	listed := map[string]bool{}
	for line := range strings.Lines(list) {
		if f, ok := strings.CutPrefix(strings.TrimSpace(line), l.name+" "); ok && strings.HasSuffix(f, ".go") {
			listed[f] = true
			if l.passed[f] == 0 {
				d = append(d, l.name+" passes "+f+" no more")
			}
		}
	}
	for f, n := range l.passed {
		if n == rounds && !listed[f] {
			d = append(d, l.name+" passes "+f+", which is not in the list")
		}
	}
	slices.Sort(d)
	return d
}

// subject is the examined server.
type subject struct {
	module   string
	services map[place]string // the first lines of the methods that implement commands.Services
	srv      *server.Server
	conn     net.Conn
	replies  *bufio.Reader
	keys     int
	dir      string
}

// start starts a server in this process, with an event loop and a clock that stands still, so that nothing
// happens by itself.
func start(module string) (*subject, error) {
	services, err := findServices(".")
	if err != nil {
		return nil, err
	}
	clock := server.NewManualClock(time.UnixMilli(1_700_000_000_000))
	srv, err := server.New(server.Options{EventLoops: true, Clock: clock, Directives: map[string]string{"port": "0", "bind": "127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", srv.Addr().String())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockpath")
	return &subject{module: module, services: services, srv: srv, conn: conn, replies: bufio.NewReader(conn), dir: dir}, err
}

func (s *subject) close() {
	_ = s.conn.Close()
	_ = s.srv.Close()
	_ = os.RemoveAll(s.dir)
}

// send sends a command on a key, its second word. It reads the first line of the reply, and the rest of a
// bulk string.
func (s *subject) send(words, key string) error {
	fields := strings.Fields(words)
	fields[1] = key
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(fields))
	for _, w := range fields {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := s.conn.Write([]byte(b.String())); err != nil {
		return err
	}
	line, err := s.replies.ReadString('\n')
	if err == nil && line[0] == '$' && line[1] != '-' {
		_, err = s.replies.ReadString('\n')
	}
	if err == nil && line[0] == '-' {
		err = fmt.Errorf("%s: %s", words, line)
	}
	return err
}

// watch finds which files a command passes and what it calls. The first round does not count, because some
// things happen only once.
func (s *subject) watch(l *look) error {
	l.passed, l.called = map[string]int{}, map[string]bool{}
	for round := range rounds + 1 {
		s.keys++
		key := fmt.Sprintf("key:%d", s.keys)
		if l.before != "" {
			if err := s.send(l.before, key); err != nil {
				return err
			}
		}
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if err := s.send(l.sent, key); err != nil {
			return err
		}
		if round == 0 {
			continue
		}
		if err := s.read(l, filepath.Join(s.dir, strconv.Itoa(s.keys))); err != nil {
			return err
		}
	}
	return nil
}

// read adds the numbers of the counters. dir must not exist yet.
func (s *subject) read(l *look, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		return err
	}
	text := filepath.Join(dir, "text")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", dir, "-o", text).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	blocks, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	passed := map[string]bool{}
	for line := range strings.Lines(string(blocks)) {
		at, n, ok := block(line)
		file, ours := strings.CutPrefix(at.file, s.module+"/")
		if !ok || !ours || n == 0 || strings.HasPrefix(file, "tests/") {
			continue
		}
		at.file = file
		passed[at.file] = true
		if name, ok := s.services[at]; ok {
			for i := range n {
				l.called[fmt.Sprintf("%s#%d", name, i+1)] = true
			}
		}
	}
	for f := range passed {
		l.passed[f]++
	}
	return nil
}
