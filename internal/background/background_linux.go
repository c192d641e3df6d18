package background

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// niceness is the priority of work without a deadline: the lowest.
	niceness = 10
	// breathNS is how long work without a deadline sleeps now and then. Niceness alone decides which thread
	// runs next, not when: a thread keeps a processor for its slice of some milliseconds, unless it yields.
	breathNS = 100_000
	// shortBreathNS is the sleep for work that a client waits for.
	shortBreathNS = 20_000
)

// Enter gives the calling goroutine's thread the lowest priority of all on the machine, so that writing a
// snapshot does not slow down the event loop. The thread ends with the goroutine, so the goroutine must do
// nothing else.
func Enter() {
	runtime.LockOSThread() // never unlocked: an ending goroutine takes its thread along
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
}

// EnterPromptly is Enter for work that a client waits for. Its thread has normal priority, so that it also
// runs on a busy machine. It yields only by BreatheShortly, with short sleeps.
func EnterPromptly() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// BreatheShortly yields like Breathe, with shorter sleeps, for work that a client waits for.
func BreatheShortly() {
	runtime.Gosched()
	_ = unix.Nanosleep(&unix.Timespec{Nsec: shortBreathNS}, nil)
}

// Breathe yields the processor for a moment, to waiting goroutines and to other threads.
func Breathe() {
	runtime.Gosched()
	_ = unix.Nanosleep(&unix.Timespec{Nsec: breathNS}, nil)
}
