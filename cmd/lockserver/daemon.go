package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Going into the background (daemonize yes): Go programs cannot fork, so the command starts itself again in a
// new session. It ends when clients can connect to the new process, or with the error of that process.

// daemonEnv is a variable that is set in the background process. Its descriptor 3 is a pipe to the command. A
// single byte says that clients can connect; any longer text is an error message.
const daemonEnv = "LOCKSERVER_DAEMON"

// isDaemon reports whether this is the background process.
func isDaemon() bool { return os.Getenv(daemonEnv) != "" }

// runInBackground starts the background process and waits until it serves clients. input is the text from
// standard input, if it was read.
func runInBackground(args []string, input []byte, stderr io.Writer) (code int) {
	fail := func(err error) int {
		fmt.Fprintln(stderr, "lockserver: daemonize:", err)
		return 1
	}
	path, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	attr, err := ownSession()
	if err != nil {
		return fail(err)
	}
	says, said, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = says.Close() }()
	child := exec.Command(path, args...)
	child.Env = append(os.Environ(), daemonEnv+"=1")
	child.ExtraFiles, child.SysProcAttr = []*os.File{said}, attr
	if input != nil {
		child.Stdin = bytes.NewReader(input)
	}
	err = errors.Join(child.Start(), said.Close())
	if err != nil {
		return fail(err)
	}
	text, err := io.ReadAll(says)
	if err == nil && string(text) == daemonListens {
		return 0
	}
	_, _ = stderr.Write(text)
	_ = child.Wait()
	if len(text) == 0 {
		return fail(errors.New("the server has ended before it listened"))
	}
	return 1
}

// daemonListens is the message on the pipe when clients can connect.
const daemonListens = "+"

// launcher is the command that waits for the background process. The zero value means that there is no such
// command.
type launcher struct{ pipe *os.File }

// openLauncher returns the command that has started this process in the background. Child processes do not
// inherit its pipe.
func openLauncher() launcher {
	_ = os.Unsetenv(daemonEnv)
	return launcher{os.NewFile(3, "launcher")}
}

// Write implements io.Writer: it sends an error message.
func (l *launcher) Write(text []byte) (int, error) {
	if l.pipe == nil {
		return len(text), nil
	}
	return l.pipe.Write(text)
}

// release lets the command end, because clients can connect.
func (l *launcher) release() {
	if l.pipe != nil {
		_, _ = l.pipe.WriteString(daemonListens)
		_ = l.pipe.Close()
		l.pipe = nil
	}
}
