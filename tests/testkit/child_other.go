//go:build !linux

package testkit

import (
	"os/exec"
	"time"
)

// StartChild starts a process. Only on Linux it is killed when the test's process ends.
func StartChild(cmd *exec.Cmd) error { return cmd.Start() }

// AwaitStopped returns at once: this system does not report whether a process has stopped after SIGSTOP.
func AwaitStopped(int) error {
	time.Sleep(100 * time.Millisecond)
	return nil
}
