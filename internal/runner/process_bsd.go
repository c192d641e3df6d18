//go:build unix && !linux

package runner

import "os/exec"

// startProcess starts a command. On this system the command survives the death of the runner.
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

// supervisorCommand returns nil: this system has no supervisor.
func supervisorCommand() *exec.Cmd { return nil }

// groupsOf returns nil: only supervisors need it.
func groupsOf(int) []int { return nil }
