package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// The bounds that docs/TESTING.md promises for test mode. The best of some tries counts, because the machine
// may be busy. The times hold on the machine of that page, in the long form. The parts hold on any machine.
const (
	mostToBeReady   = 20 * time.Millisecond
	mostReadyPart   = 3 // what the program computes until it is ready, in times of what it computes for --version
	mostToBegin     = time.Millisecond
	leastBeginPart  = 10 // how many servers begin in a process while one process starts
	manyServers     = 1000
	mostOfManyBytes = 100 << 20
)

// forParent starts the program as a test does, and returns how long it took until it said where it is. It
// ends when the input is closed.
func forParent(t *testing.T) (pid int, addr string, took time.Duration) {
	p := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t), Args: []string{"--port", "0", "--test-mode", "yes", "--exit-with-parent", "yes"}})
	begun := time.Now()
	require.NoError(t, p.Start())
	took = time.Since(begun)
	return p.Pid(), p.Address(), took
}

// mostAtTheStart is how much memory of its own an empty server may have right after its start. The pages of
// the program come on top, as many as the kernel keeps in memory, and all its servers share them.
const mostAtTheStart = 8 << 20

// TestReadyAtOnce bounds what the program computes until it is ready by what it computes to print its
// version, however fast or busy the machine is. The long form bounds the times.
func TestReadyAtOnce(t *testing.T) {
	least, computed, version := time.Hour, time.Hour, time.Hour
	enough := func() bool {
		if testkit.Long() {
			return least <= mostToBeReady && computed <= mostToBeReady
		}
		return computed <= mostReadyPart*version
	}
	for try := 0; try < 3 || try < 100 && !enough(); try++ {
		pid, _, took := forParent(t)
		least, computed = min(least, took), min(computed, computedBy(t, pid))
		cmd := exec.Command(testkit.Lockserver(t), "--version")
		require.NoError(t, cmd.Run())
		version = min(version, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	require.True(t, enough(), "it is ready after %v and has computed for %v; for its version it computes for %v", least, computed, version)
}

// computedBy is how long a process has used processors.
func computedBy(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	require.NoError(t, err)
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // the thread has ended
		}
		require.NoError(t, err)
		var ns int64
		_, err = fmt.Sscan(string(text), &ns)
		require.NoError(t, err)
		sum += time.Duration(ns)
	}
	require.Positive(t, sum)
	return sum
}

// TestSmallAtTheStart: an empty server takes little memory without a rest. A client keeps it from resting
// until it does.
func TestSmallAtTheStart(t *testing.T) {
	pid, addr, _ := forParent(t)
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	pings := slices.Repeat([][]string{{"PING"}}, 100)
	own := func() int { return memoryOf(t, pid, "RssAnon:") }
	for begun := time.Now(); own() > mostAtTheStart; c.Pipeline(pings) {
		require.Less(t, time.Since(begun), time.Minute, "it takes %d bytes", own())
	}
}

func TestAThousandServers(t *testing.T) {
	pid, addr, started := forParent(t)
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	require.Equal(t, "+PONG", c.Do("PING").String())
	resident, files := residentBytes(t, pid), openFiles(t, pid)
	least, addrs := time.Hour, make([]string, 0, manyServers)
	for range manyServers {
		begun := time.Now()
		reply := c.Do("TEST.SERVER", "NEW")
		least = min(least, time.Since(begun))
		require.True(t, strings.HasPrefix(reply.Str, "127.0.0.1:"), reply)
		addrs = append(addrs, reply.Str)
	}
	if testkit.Long() {
		require.LessOrEqual(t, least, mostToBegin)
	}
	require.LessOrEqual(t, leastBeginPart*least, started, "a server begins in a small part of the time of a program")
	require.LessOrEqual(t, residentBytes(t, pid)-resident, mostOfManyBytes)
	for _, a := range addrs {
		require.Equal(t, "+OK", c.Do("TEST.SERVER", "END", a).String())
	}
	for begun := time.Now(); openFiles(t, pid) > files; time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(begun), time.Minute, "%d files are open, %d were", openFiles(t, pid), files)
	}
}

// residentBytes returns the bytes of a process in memory.
func residentBytes(t *testing.T, pid int) (n int) { return memoryOf(t, pid, "VmRSS:") }

// memoryOf returns a number of bytes that the kernel knows of a process.
func memoryOf(t *testing.T, pid int, name string) (n int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), name)
	require.True(t, ok)
	_, err = fmt.Sscan(rest, &n)
	require.NoError(t, err)
	return n << 10
}

// openFiles is how many files and sockets a process has open.
func openFiles(t *testing.T, pid int) int {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	return len(all)
}
