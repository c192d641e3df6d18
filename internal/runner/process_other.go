//go:build !unix

package runner

import (
	"os"
	"os/exec"
)

// passedOn lists the signals that the runner passes to the command. Here the console sends this signal to
// both.
var passedOn = []os.Signal{os.Interrupt}

const (
	killSignal = 9
	termSignal = 15
)

// endsPrograms returns the number of a signal, and whether the signal asks a program to end.
func endsPrograms(os.Signal) (number int, ends bool) { return 2, true }

// signalNamed finds no signal: this system cannot send one to the command.
func signalNamed(string) (os.Signal, bool) { return nil, false }

// process is the command. This system has no process groups, and cannot ask a program to end.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the command has ended
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

// supervisorCommand returns nil: this system has no supervisor.
func supervisorCommand() *exec.Cmd { return nil }

// groupsOf returns nil: only supervisors need it.
func groupsOf(int) []int { return nil }
