//go:build unix

package main

import (
	"os"
	"syscall"
)

// ownSession makes a process the leader of a session of its own, which no terminal ends.
func ownSession() (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setsid: true}, nil }

// stopMyself stops the process until another process continues it.
func stopMyself() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
