//go:build oracle

package metrics

import (
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

	"lockserver/tests/testkit"
)

// patience is the longest time for an event that comes by itself.
const patience = time.Minute

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", testkit.FreePort(t))
}

// run starts a program until the end of the test, and waits until one of its pages answers.
func run(t *testing.T, page, program string, args ...string) *testkit.Process {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err, "run 'make deps'")
	return testkit.Start(t, testkit.Command{Program: path, Args: args, Ready: func() bool {
		r, err := http.Get(page)
		if err != nil {
			return false
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK
	}})
}

// server is a lockserver under test.
type server struct {
	*testkit.Client
	process       *testkit.Process
	socket, admin string // its addresses
}

// lockserver starts a lockserver.
func lockserver(t *testing.T, args ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "ls") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &server{socket: filepath.Join(dir, "s"), admin: freeAddress(t)}
	s.process = run(t, "http://"+s.admin+"/readyz", testkit.Lockserver(t), append([]string{"--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "",
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

// scraped returns the metrics of a page: for each series its name with the names of its labels, and its type.
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
