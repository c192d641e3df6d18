package hostile

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// childVariable is an environment variable with options in JSON. It makes a process of this test a server.
const childVariable = "LOCKSERVER_HOSTILE_CHILD"

// childOptions says how a child is started.
type childOptions struct {
	Dir    string
	Loops  int
	Config [][]string
}

// fixedConfig holds the options of every child. One command cannot ask for much memory, because a single huge
// allocation proves nothing.
var fixedConfig = []string{"--port", "0", "--save", "", "--appendonly", "yes", "--enable-debug-command", "local", "--proto-max-bulk-len", "1mb"}

// beServer runs a child. It ends when it is killed, or when its parent ends.
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

// startChild runs a server in a directory until it is killed.
func startChild(o childOptions) (*testkit.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &testkit.Process{Command: testkit.Command{Program: self, Dir: o.Dir}}
	return p, startAgain(p, o)
}

// startAgain restarts an ended process with other options. It appends to the same log.
func startAgain(p *testkit.Process, o childOptions) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	p.Env = []string{childVariable + "=" + string(text), "GOTRACEBACK=all"}
	if err = p.Start(); err != nil {
		p.Kill()
	}
	return err
}
