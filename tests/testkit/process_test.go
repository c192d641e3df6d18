//go:build unix

package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parentVariable is the environment variable that makes this test binary start a server and wait to be
// killed.
const parentVariable = "LOCKSERVER_TESTKIT_PARENT"

func TestMain(m *testing.M) {
	if program := os.Getenv(parentVariable); program != "" {
		os.Exit(beParent(program))
	}
	os.Exit(Main(m.Run))
}

func beParent(program string) int {
	p := &Process{Command: Command{Program: program, Args: []string{"--port", "0", "--save", ""}}}
	if err := p.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", p.Pid())
	select {}
}

func TestProcessIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := StartLockserver(t, "", "--appendonly", "yes", "--appendfsync", "always", "--save", "")
	require.Equal(t, "+OK", p.Client(t).Do("SET", "k", "v").String())
	require.ErrorContains(t, p.Start(), "already runs")
	p.Kill()
	require.True(t, p.Ended())
	require.Equal(t, -1, p.ExitCode())
	_, err := p.Dial()
	require.Error(t, err)

	require.NoError(t, p.Start())
	require.Equal(t, `"v"`, p.Client(t).Do("GET", "k").String(), "it runs in the same directory")
	require.Equal(t, 2, strings.Count(p.Stdout.String(), "Ready to accept connections tcp"))
	code, err := p.Terminate()
	require.NoError(t, err)
	require.Zero(t, code)
	p.Kill()
}

func TestProcessThatCannotStart(t *testing.T) {
	p := Prepare(t, Command{Program: Lockserver(t), Args: []string{"--port", "0", "--maxclients", "none"}})
	begun := time.Now()
	err := p.Start()
	require.ErrorContains(t, err, "ended with exit code 1 before it was ready")
	require.ErrorContains(t, err, "maxclients none", "the log is part of the error")
	require.Less(t, time.Since(begun), readyWithin/2, "it does not wait for a program that has ended")
	p.Program = filepath.Join(t.TempDir(), "none")
	require.ErrorIs(t, p.Start(), os.ErrNotExist)
}

// TestReadyAtAnAddress: the program is ready when it answers, and not while it answers that it is loading.
func TestReadyAtAnAddress(t *testing.T) {
	t.Parallel()
	port := FreePort(t)
	p := Start(t, Command{Program: Lockserver(t), Args: []string{"--port", port, "--logfile", "log", "--save", "",
		"--enable-debug-command", "yes"}, Addr: "127.0.0.1:" + port})
	c := p.Client(t)
	require.Equal(t, "+OK", c.Do("DEBUG", "POPULATE", "500").String())
	require.Equal(t, "+OK", c.Do("SAVE").String())
	p.Kill()
	p.Args = append(p.Args, "--key-load-delay", "100") // microseconds for each key
	require.NoError(t, p.Start())
	require.EqualValues(t, 500, p.Client(t).Do("DBSIZE").Int)
	require.NotContains(t, p.Log(), "Ready to accept connections", "that is in its file")
	p.LogFile = filepath.Join(p.Dir, "log")
	require.Contains(t, p.Log(), "Ready to accept connections")
}

func TestPausedProcess(t *testing.T) {
	p := StartLockserver(t, "", "--save", "")
	c := p.Client(t)
	require.NoError(t, p.Pause())
	c.Send("PING")
	_, answered := c.ReceiveWithin(50 * time.Millisecond)
	require.False(t, answered)
	require.NoError(t, p.Continue())
	require.Equal(t, "+PONG", c.Receive().String())
	require.NoError(t, p.Pause())
	p.Kill()
}

// TestEndsWhileWriting: Wait waits for a program that writes, for any time.
func TestEndsWhileWriting(t *testing.T) {
	exited, bytes := make(chan struct{}), 0
	require.True(t, endsWhileWriting(exited, func() int {
		if bytes++; bytes == 5 {
			close(exited)
		}
		return bytes
	}, time.Millisecond))
	require.False(t, endsWhileWriting(make(chan struct{}), func() int { return bytes }, time.Millisecond))
}

func TestStacks(t *testing.T) {
	p := StartLockserver(t, "", "--save", "")
	p.Stacks()
	require.Contains(t, p.Stderr.String(), "goroutine 1 ")
}

// ends waits until a process that is not a child of this one is gone.
func ends(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") Z ")
	}, endWithin, lookEvery)
}

func TestProcessEndsWithItsParent(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return // only Linux ends the child then
	}
	self, err := os.Executable()
	require.NoError(t, err)
	parent := Start(t, Command{Program: self, Env: []string{parentVariable + "=" + Lockserver(t)}})
	pid, err := strconv.Atoi(parent.Address())
	require.NoError(t, err)
	require.DirExists(t, fmt.Sprint("/proc/", pid))
	parent.Kill()
	ends(t, pid)
}
