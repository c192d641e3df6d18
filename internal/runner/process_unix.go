//go:build unix

package runner

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn lists the signals that the runner passes to the command.
var passedOn = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

const (
	killSignal = int(syscall.SIGKILL)
	termSignal = int(syscall.SIGTERM)
)

// endsPrograms returns the number of a signal, and whether the signal asks a program to end.
func endsPrograms(s os.Signal) (number int, ends bool) {
	n, _ := s.(syscall.Signal)
	return int(n), n != syscall.SIGUSR1 && n != syscall.SIGUSR2
}

// signalNamed returns the signal with a name, with or without SIG, if it is one of those that are passed on.
func signalNamed(name string) (os.Signal, bool) {
	number := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	return number, slices.Contains(passedOn, os.Signal(number))
}

// process is the command, in its own process group.
type process struct {
	cmd      *exec.Cmd
	terminal bool          // the group is in the terminal's foreground, as the runner's group was
	ended    chan struct{} // closed when the command has ended. Its process ID stays in use until reap
	reaped   chan struct{} // closed by reap
	dead     chan struct{} // closed when reap may return
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// prepare gives the command its own process group. If the runner's group is in the foreground of a terminal,
// the command's group takes its place: it reads from the terminal and gets its signals.
func (p *process) prepare() {
	attr := &syscall.SysProcAttr{Setpgid: true}
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	if err == nil && group == syscall.Getpgrp() {
		p.terminal, attr.Foreground, attr.Ctty = true, true, 0
	}
	p.cmd.SysProcAttr = attr
}

// pass passes a signal on. A signal that ends programs goes to the whole group, as from a terminal, so that
// the children of a shell end with it. Other signals go to the program alone.
func (p *process) pass(s os.Signal) {
	n, _ := s.(syscall.Signal)
	if _, ends := endsPrograms(s); ends {
		_ = syscall.Kill(-p.pid(), n)
	} else {
		_ = syscall.Kill(p.pid(), n)
	}
}

func (p *process) terminate()       { terminateGroup(p.pid()) }
func (p *process) kill()            { killGroup(p.pid()) }
func (p *process) groupLives() bool { return syscall.Kill(-p.pid(), 0) == nil }

// reap returns how the command ended, and takes back the terminal.
func (p *process) reap() *os.ProcessState {
	close(p.reaped)
	<-p.dead
	if p.terminal {
		signal.Ignore(syscall.SIGTTOU) // the next change would send this signal
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, syscall.Getpgrp())
	}
	return p.cmd.ProcessState
}

// terminateGroup sends SIGTERM. A stopped process must continue to receive it.
func terminateGroup(group int) {
	_ = syscall.Kill(-group, syscall.SIGTERM)
	_ = syscall.Kill(-group, syscall.SIGCONT)
}

func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

func killProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
