//go:build !unix

package runner

import (
	"os"
	"os/exec"
)

// passedOn are the signals that the command gets from the runner. Here the console sends it to both.
var passedOn = []os.Signal{os.Interrupt}

const (
	killSignal = 9
	termSignal = 15
)

// endsPrograms returns the number of a signal, and whether it is one of those that ask a program to end.
func endsPrograms(os.Signal) (number int, ends bool) { return 2, true }

// process is a command. On this system there are no process groups, and a program cannot be asked to end.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int               { return p.cmd.Process.Pid }
func (p *process) pass(os.Signal)         {}
func (p *process) terminate()             {}
func (p *process) kill()                  { _ = p.cmd.Process.Kill() }
func (p *process) groupLives() bool       { return false }
func (p *process) reap() *os.ProcessState { return p.cmd.ProcessState }

func terminateGroup(int) {}
func killGroup(int)      {}
func killProcess(int)    {}

// supervisorCommand is nil: there is none on this system.
func supervisorCommand() *exec.Cmd { return nil }

// groupsOf is for supervisors.
func groupsOf(int) []int { return nil }
