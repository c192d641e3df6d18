//go:build unix

package testkit

import "syscall"

// Pause sends SIGSTOP. It returns when all threads of the program have stopped.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return AwaitStopped(p.Pid())
}

// Continue sends SIGCONT.
func (p *Process) Continue() error { return p.Signal(syscall.SIGCONT) }
