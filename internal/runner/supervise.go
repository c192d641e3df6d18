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

// The supervisor reads lines from its standard input. "until K T" gives the times for killing the group (K)
// and for SIGTERM (T, 0: no SIGTERM). "group N" names the command's process group. The end of the input says
// that the runner is dead. The supervisor writes one line when it is ready. The runner kills it when there is
// nothing left to do.
const (
	supervisorReady = "ready"
	supervisorArg   = "--supervisor"
)

// IsSupervisor reports whether `lockserver run` was called to be a supervisor.
func IsSupervisor(args []string) bool { return len(args) == 1 && args[0] == supervisorArg }

// supervisor controls the process that kills the command when the runner cannot.
type supervisor struct {
	cmd              *exec.Cmd // nil: this system has no supervisor
	in               *os.File
	pid              int // of the command; 0: the command has not started
	kills, terminate int64
	ended            bool
}

// startSupervisor starts a supervisor with the first deadline.
func startSupervisor(kills, terminate int64) (*supervisor, error) {
	s := &supervisor{kills: kills, terminate: terminate}
	return s, s.launch()
}

// launch starts the process and waits until it is ready. The lines that it needs are already in its pipe, so
// it does its work even if this process is stopped meanwhile.
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
	_ = s.cmd.Process.Kill() // also ends a stopped process
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// until tells the supervisor when the command must be dead, and when it gets SIGTERM.
func (s *supervisor) until(kills, terminate int64) {
	s.kills, s.terminate = kills, terminate
	s.tell("until %d %d\n", kills, terminate)
}

// group tells the supervisor which group to kill.
func (s *supervisor) group(pid int) {
	s.pid = pid
	s.tell("group %d\n", pid)
}

// end tells the supervisor that there is nothing left to do.
func (s *supervisor) end() {
	if !s.ended && s.cmd != nil {
		s.ended = true
		s.stop()
	}
}

// tellWithin limits the time for writing a line. The pipe has space for the lines of hours.
const tellWithin = time.Second

// tell sends a line. If the supervisor does not read it in time, another supervisor replaces it.
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

// Supervise runs the supervisor's process. It returns the exit status.
func Supervise(in io.Reader, out io.Writer) (status int) {
	signal.Ignore(passedOn...) // these signals are for the runner and the command
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

// watch is the state of a supervisor.
type watch struct {
	runner           int   // process ID of the runner
	group            int   // of the command; 0: not known yet
	kills, terminate int64 // times; 0: not set
	over             bool
}

// hear handles a line from the runner.
func (w *watch) hear(line string) error {
	if n, _ := fmt.Sscanf(line, "until %d %d", &w.kills, &w.terminate); n == 2 {
		return nil
	}
	if n, _ := fmt.Sscanf(line, "group %d", &w.group); n == 1 {
		return nil
	}
	return errors.New("not a line of the runner: " + line)
}

// look does the work that is due at a time, and returns the time of the next look.
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

// kill kills the command. If the runner was stopped before it named the group, the runner is killed, too: it
// must not start the command any more.
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
