package console

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience is the longest time that a test waits for a page.
const patience = 90 * time.Second

// server is a lockserver with an admin port.
type server struct {
	t           *testing.T
	addr, admin string
	logFile     string
	dir         string
	words       []string // more words on the command line
	cmd         *exec.Cmd
}

func program() string {
	if name := os.Getenv("LOCKSERVER"); name != "" {
		return name
	}
	return filepath.Join("..", "..", "bin", "lockserver")
}

// freePort returns a port without a listener. It is below those that the system gives to connections, so no
// other program takes it before the server starts.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(12000 + rand.IntN(20000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "there is no free port")
	return ""
}

// startServer starts a server with more words on its command line.
func startServer(t *testing.T, words ...string) *server {
	t.Helper()
	s := newServer(t, words...)
	s.start()
	return s
}

// newServer returns a server that does not run yet.
func newServer(t *testing.T, words ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{t: t, dir: dir, logFile: filepath.Join(dir, "log"), admin: "http://127.0.0.1:" + freePort(t), words: words}
	t.Cleanup(s.kill)
	return s
}

// start starts the process, and waits until it serves clients.
func (s *server) start() {
	s.t.Helper()
	require.NoError(s.t, os.RemoveAll(s.logFile))
	s.cmd = exec.Command(program(), "--port", "0", "--admin-port", s.admin[strings.LastIndex(s.admin, ":")+1:], "--dir", s.dir, "--save", "",
		"--logfile", s.logFile)
	s.cmd.Args = append(s.cmd.Args, s.words...)
	require.NoError(s.t, s.cmd.Start())
	s.addr = ""
	ready := regexp.MustCompile(`Ready to accept connections tcp addr=(\S+)`)
	require.Eventually(s.t, func() bool {
		if found := ready.FindStringSubmatch(s.log()); found != nil {
			s.addr = found[1]
		}
		return s.addr != ""
	}, patience, 10*time.Millisecond)
}

func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// restart kills the process and starts another one at the same admin port, without the data.
func (s *server) restart() {
	s.t.Helper()
	s.kill()
	s.start()
}

func (s *server) log() string {
	text, _ := os.ReadFile(s.logFile)
	return string(text)
}

// client is a connection that is open until the end of the test.
type client struct {
	t  *testing.T
	nc net.Conn
	in *bufio.Reader
}

func (s *server) client(name string) *client {
	s.t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = nc.Close() })
	c := &client{s.t, nc, bufio.NewReader(nc)}
	c.do("CLIENT", "SETNAME", name)
	return c
}

func (c *client) send(words ...string) {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	_, err := c.nc.Write([]byte(b.String()))
	require.NoError(c.t, err)
}

// do sends a command and returns the first line of the reply.
func (c *client) do(words ...string) string {
	c.t.Helper()
	c.send(words...)
	line, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	return strings.TrimSpace(line)
}

// look sends a command on a connection of its own, closes the connection, and returns the first line of the
// reply. The page of the server lists the oldest clients: polls that stayed connected would fill it.
func (s *server) look(words ...string) string {
	s.t.Helper()
	c := s.client("look")
	defer func() { _ = c.nc.Close() }()
	return c.do(words...)
}

// looks are the sizes and themes in which each page is looked at.
var looks = []struct {
	width int64
	theme string
}{{1280, "light"}, {1280, "dark"}, {360, "light"}, {360, "dark"}}

// browser is a browser without history. Its messages about errors fail the test.
type browser struct {
	t          *testing.T
	ctx        context.Context
	look       string // size and theme
	width      int64
	mu         sync.Mutex
	complaints []string
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Fatal("there is no Chromium: run 'make deps', or name one (CHROMIUM=path)")
	return ""
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return watch(t, ctx)
}

// tab opens a page beside that of b, in a window of its own, so that it is visible. It has cookies and
// connections of its own, too: a browser opens six connections to a server at most, and each page that is
// visible keeps one.
func (b *browser) tab() *browser {
	b.t.Helper()
	ctx := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	group, err := target.CreateBrowserContext().Do(ctx)
	require.NoError(b.t, err)
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(group).WithNewWindow(true).Do(ctx)
	require.NoError(b.t, err)
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	b.t.Cleanup(cancel)
	return watch(b.t, ctx)
}

// watch collects the messages of a tab, and opens it.
func watch(t *testing.T, ctx context.Context) *browser {
	t.Helper()
	b := &browser{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				b.complain(fmt.Sprint(e.Type, e.Args))
			}
		case *runtime.EventExceptionThrown:
			b.complain(e.ExceptionDetails.Error())
		case *log.EventEntryAdded: // how violations of the content security policy are reported
			b.complain(e.Entry.Text + " " + e.Entry.URL)
		}
	})
	require.NoError(t, chromedp.Run(ctx, log.Enable())) // this starts the browser, so its context must last
	t.Cleanup(func() { require.Empty(t, b.messages(), "the browser complains") })
	return b
}

func (b *browser) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, text)
}

// messages returns the browser's messages since the last call.
func (b *browser) messages() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.complaints
	b.complaints = nil
	return list
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Run(ctx, actions...))
}

// size sets the width of the window, and the theme of the system to dark or light.
func (b *browser) size(width int64, theme string) {
	b.t.Helper()
	b.look, b.width = fmt.Sprintf("%d-%s", width, theme), width
	b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
}

// picture writes a picture of the whole page to the directory in PICTURES.
func (b *browser) picture(path, state string) {
	b.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	name := strings.NewReplacer("/", "", "?", "-", "=", "-", ":", "-", "&", "-", " ", "-").Replace(path) + "-" + state + "-" + b.look + ".png"
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name), png, 0o644))
}

// is evaluates an expression repeatedly until it is true.
func (b *browser) is(expression string) {
	b.t.Helper()
	b.within(patience, expression)
}

func (b *browser) within(limit time.Duration, expression string) {
	b.t.Helper()
	if !b.becomes(limit, expression) {
		var text string
		b.run(chromedp.Evaluate(`document.body.innerText`, &text))
		require.Fail(b.t, "it does not become true: "+expression, text)
	}
}

// becomes reports whether an expression becomes true.
func (b *browser) becomes(limit time.Duration, expression string) bool {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var yes bool
		ctx, cancel := context.WithTimeout(b.ctx, limit)
		err := chromedp.Run(ctx, chromedp.Evaluate(expression, &yes)) // this fails between two pages
		cancel()
		if err == nil && yes {
			return true
		}
		if time.Since(begun) > limit {
			return false
		}
	}
}

// fits waits until the page is no wider than the window. innerWidth does not tell: on a phone it grows with
// what is too wide.
func (b *browser) fits() {
	b.t.Helper()
	b.is(fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, b.width))
}

// shows waits for a text on the page.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.is(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}
