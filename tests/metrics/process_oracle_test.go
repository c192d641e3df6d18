//go:build oracle

package metrics

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// patience is how long a program has to start.
const patience = 20 * time.Second

// freeAddress is an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// run starts a program for the length of a test, waits until a page of it answers, and returns its process.
func run(t *testing.T, page, program string, args ...string) *os.Process {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err, "run 'make deps'")
	var output bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &output, &output, t.TempDir()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", program, output.String())
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if r, err := http.Get(page); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return cmd.Process
			}
		}
		require.True(t, time.Now().Before(deadline), "%s does not start", program)
	}
}

// server is a lockserver under test.
type server struct {
	*testkit.Client
	process       *os.Process
	socket, admin string // where it listens
}

// lockserver starts one.
func lockserver(t *testing.T, args ...string) *server {
	t.Helper()
	program := os.Getenv("LOCKSERVER")
	if program == "" {
		program = "../../bin/lockserver"
	}
	program, err := filepath.Abs(program)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "ls") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &server{socket: filepath.Join(dir, "s"), admin: freeAddress(t)}
	s.process = run(t, "http://"+s.admin+"/readyz", program, append([]string{"--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "",
		"--admin-port", s.admin[strings.LastIndexByte(s.admin, ':')+1:]}, args...)...)
	s.Client = testkit.Dial(t, func() (net.Conn, error) { return net.Dial("unix", s.socket) })
	return s
}

// scrape reads the metrics of the server.
func (s *server) scrape(t *testing.T) string {
	t.Helper()
	return get(t, "http://"+s.admin+"/metrics")
}

// exporter starts redis_exporter for a server behind a unix socket and returns its address.
func exporter(t *testing.T, socket string) string {
	t.Helper()
	address := freeAddress(t)
	run(t, "http://"+address+"/health", "prometheus-redis-exporter", "-redis.addr", "unix://"+socket, "-redis-only-metrics",
		"-include-system-metrics", "-check-single-streams", "db0=jobs", "-check-single-keys", "db0=name", "-web.listen-address", address)
	return address
}

// get reads a page.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", url, body)
	return string(body)
}

var (
	typeLine = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	series   = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	label    = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*",?`)
)

// scraped are the metrics of a page: of each series its name with the names of its labels, and the type.
func scraped(t *testing.T, text string) map[string]string {
	t.Helper()
	types, found := map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if m := typeLine.FindStringSubmatch(line); m != nil {
			types[m[1]] = m[2]
		} else if !strings.HasPrefix(line, "#") {
			m := series.FindStringSubmatch(line)
			require.NotNil(t, m, line)
			name := m[1]
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				name += " " + l[1]
			}
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")
			if types[m[1]] != "" {
				base = m[1]
			}
			found[name] = types[base]
		}
	}
	require.NotEmpty(t, found)
	return found
}
