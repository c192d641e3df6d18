//go:build unix && !linux

package runner

import "os/exec"

// startProcess starts a command. On this system it is not killed when the runner dies.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), reaped: make(chan struct{}), dead: make(chan struct{})}
	p.prepare()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		close(p.ended)
		close(p.dead)
	}()
	return p, nil
}

// supervisorCommand is nil: there is none on this system.
func supervisorCommand() *exec.Cmd { return nil }

// groupsOf is for supervisors.
func groupsOf(int) []int { return nil }
