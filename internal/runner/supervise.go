package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// The supervisor's standard input has lines. "until K T" says when to kill the group (K) and when to send
// SIGTERM (T, 0: not). "group N" names the command's process group. The end of the input says that the runner
// is dead. Its standard output is one line when it is ready. The runner kills it when nothing is left to do.
const (
	supervisorReady = "ready"
	supervisorArg   = "--supervisor"
)

// IsSupervisor reports whether the arguments of `lockserver run` are those by which it starts its supervisor.
func IsSupervisor(args []string) bool { return len(args) == 1 && args[0] == supervisorArg }

// supervisor is the process that kills the command when this one cannot.
type supervisor struct {
	cmd              *exec.Cmd // nil: there is none on this system
	in               *os.File
	pid              int // of the command; 0: it does not run yet
	kills, terminate int64
	ended            bool
}

// startSupervisor starts a supervisor with the first deadline.
func startSupervisor(kills, terminate int64) (*supervisor, error) {
	s := &supervisor{kills: kills, terminate: terminate}
	return s, s.launch()
}

// launch starts the process and waits until it is ready. What it has to know waits for it in the pipe, so
// that it does its work even if this process is stopped meanwhile.
func (s *supervisor) launch() error {
	cmd := supervisorCommand()
	if cmd == nil {
		return nil
	}
	lines, in, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in, "until %d %d\n", s.kills, s.terminate)
	if s.pid != 0 && err == nil {
		_, err = fmt.Fprintf(in, "group %d\n", s.pid)
	}
	cmd.Stdin = lines
	out, outErr := cmd.StdoutPipe()
	if err = errors.Join(err, outErr); err == nil {
		err = cmd.Start()
	}
	_ = lines.Close()
	if err != nil {
		_ = in.Close()
		return err
	}
	s.cmd, s.in = cmd, in
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != supervisorReady+"\n" {
		s.stop()
		return fmt.Errorf("it says %q, not that it is ready", line)
	}
	return nil
}

// stop ends the process.
func (s *supervisor) stop() {
	_ = s.cmd.Process.Kill() // which ends it also if it is stopped
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// until says when the command has to be dead, and when it gets SIGTERM.
func (s *supervisor) until(kills, terminate int64) {
	s.kills, s.terminate = kills, terminate
	s.tell("until %d %d\n", kills, terminate)
}

// group says what is to be killed.
func (s *supervisor) group(pid int) {
	s.pid = pid
	s.tell("group %d\n", pid)
}

// end says that nothing is left to do.
func (s *supervisor) end() {
	if !s.ended && s.cmd != nil {
		s.ended = true
		s.stop()
	}
}

// tellWithin is how long a line may take: the pipe holds those of hours.
const tellWithin = time.Second

// tell sends a line. If the supervisor does not take it before the deadline, another one replaces it.
func (s *supervisor) tell(format string, args ...any) {
	if s.cmd == nil || s.ended {
		return
	}
	_ = s.in.SetWriteDeadline(time.Now().Add(tellWithin))
	_, err := fmt.Fprintf(s.in, format, args...)
	if err == nil || now() >= s.kills {
		return
	}
	s.stop()
	_ = s.launch() // if it fails, the next line tries again
}

// Supervise is the supervisor's process. It returns its exit status.
func Supervise(in io.Reader, out io.Writer) (status int) {
	signal.Ignore(passedOn...) // they are for the runner and the command
	w := watch{runner: os.Getppid()}
	a, err := newAlarm()
	if err == nil {
		_, err = fmt.Fprintln(out, supervisorReady)
	}
	if err != nil {
		return statusInternal
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	for !w.over {
		select {
		case line, ok := <-lines:
			if !ok {
				w.kill()
				return 0
			}
			if err := w.hear(line); err != nil {
				return statusInternal
			}
		case <-a.C:
		}
		a.set(w.look(now()))
	}
	return 0
}

// watch is what a supervisor knows.
type watch struct {
	runner           int   // its process
	group            int   // of the command; 0: it is not known yet
	kills, terminate int64 // when; 0: not
	over             bool
}

// hear takes a line of the runner.
func (w *watch) hear(line string) error {
	if n, _ := fmt.Sscanf(line, "until %d %d", &w.kills, &w.terminate); n == 2 {
		return nil
	}
	if n, _ := fmt.Sscanf(line, "group %d", &w.group); n == 1 {
		return nil
	}
	return errors.New("not a line of the runner: " + line)
}

// look does what is due at a time, and returns when to look again.
func (w *watch) look(at int64) (next int64) {
	switch {
	case w.over:
		return at
	case w.kills == 0:
		return at + int64(maxDuration)
	case at >= w.kills:
		w.kill()
		w.over = true
		return at
	case w.terminate != 0 && at >= w.terminate && w.group != 0:
		w.terminate = 0
		terminateGroup(w.group)
	case w.terminate != 0 && w.group != 0:
		return w.terminate
	}
	return w.kills
}

// kill kills the command. If the runner was stopped before it named the group, it dies, too: it must not
// start the command any more.
func (w *watch) kill() {
	switch {
	case w.group != 0:
		killGroup(w.group)
	case w.runner == os.Getppid():
		for _, group := range groupsOf(w.runner) {
			killGroup(group)
		}
		killProcess(w.runner)
	}
}
