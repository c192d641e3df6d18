//go:build !linux

package testkit

import (
	"os/exec"
	"time"
)

// StartChild starts a process. On Linux it is killed when the test's own ends.
func StartChild(cmd *exec.Cmd) error { return cmd.Start() }

// AwaitStopped waits until a process that was sent SIGSTOP stands still, for all that is known here.
func AwaitStopped(int) error {
	time.Sleep(100 * time.Millisecond)
	return nil
}
