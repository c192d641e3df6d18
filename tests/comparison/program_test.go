package main

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
)

// roleVariable names the variable in the environment of a process of this test that holds its role.
const (
	roleVariable = "LOCKSERVER_COMPARISON_ROLE"
	roleProgram  = "program"
	roleEtcd     = "etcd" // an etcd server; its arguments are two ports and a directory
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleProgram:
		main()
	case roleEtcd:
		beEtcd(os.Args[1], os.Args[2], os.Args[3])
	default:
		os.Exit(m.Run())
	}
}

// beEtcd runs a process as an etcd server. It ends when it is killed, or when its parent ends.
func beEtcd(port, peerPort, dir string) {
	client, peer := url.URL{Scheme: "http", Host: "127.0.0.1:" + port}, url.URL{Scheme: "http", Host: "127.0.0.1:" + peerPort}
	c := embed.NewConfig()
	c.Dir, c.LogLevel = dir, "error"
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	<-server.Server.ReadyNotify()
	fmt.Println(etcdIsReady)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

const etcdIsReady = "Ready to accept connections"

// process is a process of a test, with its output so far.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.WriteCloser

	mu    sync.Mutex
	lines []line
}

type line struct {
	text string
	at   time.Time
}

// patience is the longest time that a test waits for an event.
const patience = 60 * time.Second

// begin starts a process. It ends with the test.
func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd}
	var err error
	p.input, err = cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	var reader sync.WaitGroup
	reader.Go(func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, line{lines.Text(), time.Now()})
			p.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reader.Wait()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%q said:", cmd.Args)
			for _, l := range p.lines {
				t.Log(l.at.Format(time.StampMilli), l.text)
			}
		}
	})
	return p
}

// program starts the program with a library.
func program(t *testing.T, library, address, name string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], library, address, name)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleProgram)
	return begin(t, cmd)
}

// said returns the first output line after the given line number that has one of the words.
func (p *process) said(from int, words ...string) (l line, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines[min(from, len(p.lines)):] {
		for _, word := range words {
			if strings.Contains(l.text, word) {
				return l, true
			}
		}
	}
	return line{}, false
}

// hears waits for an output line with one of the words, and returns it. It fails after patience.
func (p *process) hears(words ...string) line {
	p.t.Helper()
	l, ok := p.within(patience, words...)
	require.True(p.t, ok, "%q does not say %q", p.cmd.Args, words)
	return l
}

// within waits for such a line for at most d.
func (p *process) within(d time.Duration, words ...string) (line, bool) {
	return p.await(d, 0, words...)
}

func (p *process) await(d time.Duration, from int, words ...string) (l line, ok bool) {
	for end := time.Now().Add(d); !ok && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		l, ok = p.said(from, words...)
	}
	return l, ok
}

// writes makes the program continue with its write, and returns the line that it prints.
func (p *process) writes() string {
	p.t.Helper()
	for range 10 {
		p.mu.Lock()
		from := len(p.lines)
		p.mu.Unlock()
		_, err := io.WriteString(p.input, "\n")
		require.NoError(p.t, err)
		l, ok := p.await(patience, from, saysWrote, saysRefused, saysFailed)
		require.True(p.t, ok, "it says nothing")
		if !strings.HasPrefix(l.text, saysFailed) {
			return l.text
		}
	}
	require.Fail(p.t, "it cannot write")
	return ""
}

// pause stops the process until it is resumed, like a long garbage collection or a debugger.
func (p *process) pause()  { require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP)) }
func (p *process) resume() { require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGCONT)) }
