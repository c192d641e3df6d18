package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// StartChild starts a process that is killed when the test's own process ends in any way. The system takes
// the thread that started the process for its parent, so a single thread starts all of them and never ends. A
// server in the test's process ends threads of its own.
func StartChild(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	parent() <- func() { started <- cmd.Start() }
	return <-started
}

var parent = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})

// AwaitStopped waits until every thread of a process has stopped after SIGSTOP.
func AwaitStopped(pid int) error {
	for end := time.Now().Add(defaultTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if stopped(pid) {
			return nil
		}
	}
	return fmt.Errorf("process %d does not stop", pid)
}

func stopped(pid int) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		return false
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		_, state, _ := strings.Cut(string(text), ") ") // the text behind the program's name
		if !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}
