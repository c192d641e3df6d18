package hostile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lockserver/internal/config"
	"lockserver/server"
)

// childVariable holds a child in JSON in the environment of a process of this test that is to be a server.
const childVariable = "LOCKSERVER_HOSTILE_CHILD"

// childOptions say what server a child is.
type childOptions struct {
	Dir    string
	Loops  int
	Config [][]string
}

// fixedConfig holds for every child. Little memory is asked for by one command; a lone
// huge allocation proves nothing.
var fixedConfig = []string{"--port", "0", "--save", "", "--appendonly", "yes", "--enable-debug-command", "local", "--proto-max-bulk-len", "1mb"}

// beServer is the child's whole life; it ends by being killed, or when its parent goes.
func beServer(text string) int {
	var o childOptions
	err := json.Unmarshal([]byte(text), &o)
	var parsed config.Command
	if err == nil {
		args := append(fixedConfig, "--dir", o.Dir, "--io-threads", fmt.Sprint(max(o.Loops, 1)))
		for _, d := range o.Config {
			args = append(args, "--"+d[0])
			args = append(args, d[1:]...)
		}
		parsed, err = config.ParseArgs(args, config.OSFiles())
	}
	var srv *server.Server
	if err == nil {
		srv, err = server.New(server.Options{Directives: parsed.Config.Directives(), EventLoops: o.Loops > 0, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	}
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println("ready", srv.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	<-srv.Done()
	fmt.Fprintln(os.Stderr, "the server has ended by itself with", srv.ExitCode())
	return 3
}

// child is a running server.
type child struct {
	cmd   *exec.Cmd
	addr  string
	log   string        // file of what it writes
	ended chan struct{} // closed when the process is over
}

// startWithin bounds the start of a server on a busy machine.
const startWithin = 60 * time.Second

// startChild runs a server in a directory. Its log is appended to.
func startChild(o childOptions) (*child, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self), log: filepath.Join(o.Dir, "log.txt"), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text), "GOTRACEBACK=all")
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	c.cmd.Stderr = log
	if _, err = c.cmd.StdinPipe(); err != nil { // closed when this process ends, however it does
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(startWithin, func() { c.signal(syscall.SIGQUIT) })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for c.addr == "" && lines.Scan() {
		c.addr, _ = strings.CutPrefix(lines.Text(), "ready ")
		if why, failed := strings.CutPrefix(lines.Text(), "failed: "); failed {
			_ = c.cmd.Wait()
			return nil, errors.New(why)
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	if c.addr == "" {
		c.kill()
		return nil, errors.New("it ended without a word")
	}
	return c, nil
}

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill is kill -9.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// over reports whether the process has ended.
func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// stacks makes the process write what all its goroutines do, and end.
func (c *child) stacks() {
	c.signal(syscall.SIGQUIT)
	select {
	case <-c.ended:
	case <-time.After(5 * time.Second):
	}
}
