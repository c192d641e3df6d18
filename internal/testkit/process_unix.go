//go:build unix

package testkit

import "syscall"

// Pause is kill -STOP. It returns when no thread of the program runs any more.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return AwaitStopped(p.Pid())
}

// Continue is kill -CONT.
func (p *Process) Continue() error { return p.Signal(syscall.SIGCONT) }
