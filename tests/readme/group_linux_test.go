package readme

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// ha is the page docs/HA.md.
var ha = page{path: "docs/HA.md"}

// site holds the machines of docs/HA.md. Each is a directory and an address of loopback, on which its blocks
// run.
type site struct {
	t        *testing.T
	dir      string
	network  string // the first part of the addresses
	port     int    // port for clients
	raftPort int
	mu       sync.Mutex // guards machines
	machines map[string]*machine
	text     *strings.Replacer // replaces the page's addresses and paths, except the machines' own paths
}

// machine is a machine of the site.
type machine struct {
	name, root string
	process    *testkit.Process // nil if its service has never run
}

const machines = "abcd"

func newSite(t *testing.T) *site {
	// Short, because the paths of sockets are limited.
	dir, err := os.MkdirTemp("", "ha")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{t: t, dir: dir, machines: make(map[string]*machine)}
	s.findAddresses()
	s.text = strings.NewReplacer("10.0.0.", s.network, ":6379", fmt.Sprint(":", s.port), ":7000", fmt.Sprint(":", s.raftPort),
		"/var/backups", filepath.Join(dir, "backups"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "backups"), 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	for _, name := range []string{"redis-cli", "systemctl"} {
		require.NoError(t, os.Symlink(self, filepath.Join(dir, "bin", name)))
	}
	require.NoError(t, os.Symlink(binary, filepath.Join(dir, "bin", "lockserver")))
	for _, name := range strings.Split(machines, "") {
		m := &machine{name: name, root: filepath.Join(dir, name)}
		for _, path := range []string{"etc/lockserver", "var/lib/lockserver", "usr/bin"} {
			require.NoError(t, os.MkdirAll(filepath.Join(m.root, path), 0o755))
		}
		require.NoError(t, os.Symlink(binary, filepath.Join(m.root, "usr/bin/lockserver")))
		s.machines[name] = m
		t.Cleanup(func() { _ = s.kill(m) })
	}
	s.serveSystemd()
	return s
}

// findAddresses finds ports that are free on all addresses of a part of loopback.
func (s *site) findAddresses() {
	for range 100 {
		s.network = fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
		s.port = 12000 + rand.IntN(20000)
		s.raftPort = s.port + 1
		free := true
		for i := range machines {
			for _, port := range []int{s.port, s.raftPort} {
				l, err := net.Listen("tcp", fmt.Sprintf("%s%d:%d", s.network, i+1, port))
				if free = free && err == nil; err == nil {
					_ = l.Close()
				}
			}
		}
		if free {
			return
		}
	}
	require.Fail(s.t, "there are no free ports")
}

// address returns the address of a machine for clients.
func (s *site) address(name string) string {
	return fmt.Sprintf("%s%d:%d", s.network, strings.Index(machines, name)+1, s.port)
}

// serveSystemd handles the machines' calls of systemctl.
func (s *site) serveSystemd() {
	l, err := net.Listen("unix", filepath.Join(s.dir, "systemd"))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			answer := "done"
			if err := s.systemctl(strings.Fields(line)); err != nil {
				answer = err.Error()
			}
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
}

// systemctl runs a call on a machine: "a", "restart", "lockserver".
func (s *site) systemctl(words []string) error {
	if len(words) != 3 || s.machines[words[0]] == nil || words[2] != "lockserver" {
		return fmt.Errorf("what is %q", words)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.machines[words[0]]
	switch words[1] {
	case "start":
		return s.start(m)
	case "stop":
		return s.stop(m, syscall.SIGTERM)
	case "restart":
		if err := s.stop(m, syscall.SIGTERM); err != nil {
			return err
		}
		return s.start(m)
	}
	return fmt.Errorf("what is %q", words[1])
}

// start runs the command of the package's unit, and waits until it reports that it is ready, like systemd.
func (s *site) start(m *machine) error {
	unit, err := os.ReadFile(filepath.Join(root, "packaging", "lockserver.service"))
	if err != nil {
		return err
	}
	_, line, _ := strings.Cut(string(unit), "\nExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(m.local(line))
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(m.root, "notify"), Net: "unixgram"})
	if err != nil {
		return err
	}
	defer func() {
		_ = notify.Close()
		_ = os.Remove(filepath.Join(m.root, "notify"))
	}()
	if m.process == nil {
		m.process = &testkit.Process{Command: testkit.Command{Program: words[0], Args: append(words[1:], "--port", fmt.Sprint(s.port)),
			Env: []string{"NOTIFY_SOCKET=" + filepath.Join(m.root, "notify")}}}
	}
	if err = m.process.Launch(); err != nil {
		return err
	}
	_ = notify.SetReadDeadline(time.Now().Add(patience))
	for text := make([]byte, 4096); ; {
		n, err := notify.Read(text)
		if err != nil {
			return fmt.Errorf("machine %s is not ready: %w", m.name, err)
		}
		if strings.Contains(string(text[:n]), "READY=1") {
			return nil
		}
	}
}

// kill kills a machine.
func (s *site) kill(m *machine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(m, syscall.SIGKILL)
}

// stop ends a machine's service by a signal. The caller of stop or start holds mu.
func (s *site) stop(m *machine, by os.Signal) error {
	if m.process == nil || m.process.Ended() {
		return nil
	}
	_ = m.process.Signal(by)
	_, err := m.process.Wait()
	return err
}

// local inserts the machine's own paths into a text.
func (m *machine) local(text string) string {
	return strings.NewReplacer("/etc/lockserver", m.root+"/etc/lockserver", "/var/lib/lockserver", m.root+"/var/lib/lockserver",
		"/usr/bin/lockserver", m.root+"/usr/bin/lockserver").Replace(text)
}

// sh runs a block in a shell that continues where the last one in this place has ended, with its variables.
func (s *site) sh(b block, place, text string, env ...string) string {
	s.t.Helper()
	out, err := s.try(place, text, env)
	if err != nil {
		for _, m := range s.machines {
			if m.process != nil {
				log := m.process.Log()
				s.t.Logf("machine %s:\n%s", m.name, log[max(0, len(log)-4000):])
			}
		}
	}
	require.NoError(s.t, err, "%s on %s: %s", b.where(), place, out)
	return out
}

// again is sh for a block that may find a group with a new leader, which can happen on a busy machine. A
// person would then type it again.
func (s *site) again(b block, place, text string) string {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out, err := s.try(place, text, nil)
		if err == nil {
			return out
		}
		s.t.Logf("%s: %v: %s", b.where(), err, out)
	}
	return s.sh(b, place, text)
}

// try runs a text in a shell.
func (s *site) try(place, text string, env []string) (string, error) {
	state := filepath.Join(s.dir, place+".env")
	script := fmt.Sprintf("if [ -f %s ]; then . %[1]s; fi\nset -a\n%s\nexport -p >%[1]s\n", state, s.text.Replace(text))
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
	cmd.Env = append(os.Environ(), append(env, "PATH="+filepath.Join(s.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		socketVar+"="+filepath.Join(s.dir, "systemd"), fmt.Sprint(portVar, "=", s.port))...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// on runs a block on a machine. A line in it sets the machine's id, which is that of the first machine on the
// page.
func (s *site) on(name string, b block) {
	s.t.Helper()
	text := b.text
	if line, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "id=") {
		text = fmt.Sprintf("id=%s host=%s%d\n%s", name, s.network, strings.Index(machines, name)+1, rest)
	}
	m := s.machines[name]
	text = strings.Replace(text, "# here: install the new version", "ln -sf "+filepath.Join(s.dir, "next")+" /usr/bin/lockserver #", 1)
	s.sh(b, name, m.local(text), machineVar+"="+name)
}

// TestGroup runs docs/HA.md from top to bottom: three machines form a group, are upgraded one by one, and one
// of them dies and is replaced. Once they are a group, clients write, and a client has a lock that the server
// renews. No acknowledged write is lost, nor is the lock.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, name := range strings.Split(machines, "") { // the package has started a server on each
		m := s.machines[name]
		conf := m.local(fmt.Sprintf("bind %s%d\ndir /var/lib/lockserver\n", s.network, i+1))
		require.NoError(t, os.WriteFile(m.local("/etc/lockserver")+"/lockserver.conf", []byte(conf), 0o600))
		require.NoError(t, s.systemctl([]string{name, "start", "lockserver"}))
	}
	require.NoError(t, testkit.BuildLockserver(filepath.Join(s.dir, "next"), "-ldflags", "-X main.version=9.9.9"))
	_, blocks := ha.read(t)
	members, alive := "abc", "abc"
	var load *load
	for _, b := range blocks {
		switch b.use() {
		case "sh each":
			for _, name := range strings.Split(members, "") {
				s.on(name, b)
			}
		case "sh anywhere":
			if strings.Contains(b.text, "RAFT REMOVE c") { // that machine is dead
				require.NoError(t, s.kill(s.machines["c"]))
				alive = "ab"
				load.goesOn()
			}
			out := s.again(b, "anywhere", b.text)
			if load == nil {
				require.Contains(t, out, "alice", "LOCK.INFO tells who has the lock")
				load = s.begin()
			}
		case "sh new": // it gets the version that the others have now
			b.text = strings.Replace(b.text, "systemctl stop lockserver", "systemctl stop lockserver\n# here: install the new version", 1)
			s.on("d", b)
			alive = "abd"
		case "sh restore":
			require.Equal(t, "abd", alive)
			s.endOf(load, alive)
			load = nil
			require.NoError(t, s.kill(s.machines["d"]))
			for _, name := range strings.Split(members, "") {
				s.on(name, b)
			}
			s.hasBackup("c")
		case "sh survivor":
			require.NoError(t, s.kill(s.machines["a"]))
			require.NoError(t, s.kill(s.machines["b"]))
			s.on("c", b)
			s.hasBackup("c")
		}
		if load != nil {
			load.goesOn()
		}
	}
	require.Nil(t, load, "the page restores the group")
}

// endOf ends the load. It checks the replies and the effects of the page on the machines.
func (s *site) endOf(load *load, alive string) {
	t := s.t
	load.end()
	s.restore()
	for _, name := range strings.Split("ab", "") {
		v, err := s.ask(name, "INFO", "server")
		require.NoError(t, err)
		require.Contains(t, v, "lockserver_release:9.9.9", "machine %s is upgraded", name)
	}
	s.same(alive)
}

// hasBackup waits until the group of a machine serves, and has the data of the backup.
func (s *site) hasBackup(name string) {
	s.t.Helper()
	at := strings.Split("abc", "")
	require.Eventually(s.t, func() bool {
		for _, other := range at {
			if v, err := s.ask(other, "LOCK.INFO", "door"); err == nil {
				return strings.Contains(v, "alice")
			}
		}
		return false
	}, patience, 20*time.Millisecond, "the group of machine %s has the backup", name)
}

// restore loads the backup into a single server.
func (s *site) restore() {
	t := s.t
	backup, err := os.ReadFile(filepath.Join(s.dir, "backups", "lockserver.rdb"))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), backup, 0o600))
	srv, err := server.New(server.Options{Directives: map[string]string{"bind": "", "dir": dir, "dbfilename": "dump.rdb"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	conn, err := srv.Dial()
	require.NoError(t, err)
	c := testkit.NewClient(t, conn)
	t.Cleanup(c.Close)
	require.Positive(t, c.Do("SCARD", "written").Int)
	require.Contains(t, c.Do("LOCK.INFO", "door").String(), "alice")
}

// ask runs a command on a machine.
func (s *site) ask(name string, words ...any) (string, error) {
	rdb := redis.NewClient(&redis.Options{Addr: s.address(name), Password: "a-long-secret", MaxRetries: -1})
	defer func() { _ = rdb.Close() }()
	v, err := rdb.Do(s.t.Context(), words...).Result()
	return fmt.Sprint(v), err
}

// same waits until these machines have applied the same part of the history, while no client writes.
func (s *site) same(names string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		places := make(map[string]bool)
		for _, name := range strings.Split(names, "") {
			info, err := s.ask(name, "RAFT", "INFO")
			if err != nil {
				return false
			}
			place := ""
			for line := range strings.Lines(info) {
				if strings.HasPrefix(line, "raft_history_") {
					place += line
				}
			}
			places[place] = true
		}
		return len(places) == 1
	}, patience, 20*time.Millisecond, "the members of the group do not come to the same place")
}

// load holds the clients of the group.
type load struct {
	s       *site
	rdb     *redis.ClusterClient
	locks   *client.Client
	lock    *client.Lock
	stop    context.CancelFunc
	working sync.WaitGroup
	mu      sync.Mutex
	written []any // the acknowledged values
}

// begin starts writers, and takes a lock.
func (s *site) begin() *load {
	t := s.t
	l := &load{s: s, rdb: redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.address("a"), s.address("b"), s.address("c")},
		Password: "a-long-secret", ReadTimeout: 3 * time.Second, ClusterStateReloadInterval: time.Second})}
	t.Cleanup(func() { _ = l.rdb.Close() })
	var err error
	l.locks, err = client.NewCluster(l.rdb)
	require.NoError(t, err)
	t.Cleanup(l.locks.Close)
	l.lock, err = l.locks.Lock(t.Context(), "held")
	require.NoError(t, err)
	var ctx context.Context
	ctx, l.stop = context.WithCancel(t.Context())
	t.Cleanup(l.working.Wait)
	t.Cleanup(l.stop)
	for i := range 3 {
		l.working.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				word := fmt.Sprintf("%d:%d", i, n)
				if l.rdb.SAdd(ctx, "written", word).Err() != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				l.mu.Lock()
				l.written = append(l.written, word)
				l.mu.Unlock()
				time.Sleep(2 * time.Millisecond) // the machine has other work, too
			}
		})
	}
	return l
}

// goesOn waits until more writes have been acknowledged.
func (l *load) goesOn() {
	l.s.t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.written)
	}
	before := count()
	require.Eventually(l.s.t, func() bool { return count() > before+10 }, patience, 10*time.Millisecond, "clients go on")
}

// end stops the writers, and checks their replies.
func (l *load) end() {
	t := l.s.t
	t.Helper()
	l.stop()
	l.working.Wait()
	require.NoError(t, l.lock.Context().Err())
	require.Eventually(t, func() bool {
		_, err := l.lock.Guard(t.Context(), "SET", "guarded", "yes")
		return err == nil
	}, patience, 20*time.Millisecond, "the lock is held")
	require.NotEmpty(t, l.written)
	var there []bool
	require.Eventually(t, func() bool {
		var err error
		there, err = l.rdb.SMIsMember(t.Context(), "written", l.written...).Result()
		return err == nil
	}, patience, 20*time.Millisecond)
	for i, is := range there {
		require.True(t, is, "%v was acknowledged, and is lost", l.written[i])
	}
	require.NoError(t, l.lock.Unlock(t.Context()))
}
