package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// startProcess starts a command that is killed when the runner dies. The system ties the command's life to
// the thread that starts it, so the thread stays until the command has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), reaped: make(chan struct{}), dead: make(chan struct{})}
	p.prepare()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
		close(p.ended)
		<-p.reaped
		_ = cmd.Wait() // ProcessState has the result
		close(p.dead)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// supervisorCommand returns this program as a supervisor, in a new session. It works even if the program's
// file was replaced meanwhile.
func supervisorCommand() *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "run", supervisorArg)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = "/" // so that it keeps no file system busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// groupsOf returns the process groups that are led by children of a process, without this process.
func groupsOf(parent int) (groups []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, file := range files {
		text, err := os.ReadFile(file)
		end := strings.LastIndexByte(string(text), ')') // end of the program's name
		if err != nil || end < 0 {
			continue // the process has ended meanwhile
		}
		var pid, of, group int
		var state string
		_, _ = fmt.Sscan(string(text), &pid)
		if n, _ := fmt.Sscan(string(text[end+1:]), &state, &of, &group); n == 3 && of == parent && group == pid && pid != os.Getpid() {
			groups = append(groups, group)
		}
	}
	return groups
}
