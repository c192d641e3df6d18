package background

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// niceness is that of work that may take as long as it likes.
	niceness = 10
	// breathNS is how long such work sleeps now and then. Niceness alone decides who runs next, not when: a
	// thread keeps a processor for its slice of some milliseconds, unless it lets go by itself.
	breathNS = 100_000
	// shortBreathNS is that of work that a client waits for.
	shortBreathNS = 20_000
)

// Enter makes the calling goroutine's thread give way to all others on the machine's processors, so that
// writing a snapshot does not take the event loop's. The thread ends with the goroutine, which must not do
// anything else.
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

// BreatheShortly is Breathe for work that a client waits for.
func BreatheShortly() {
	runtime.Gosched()
	_ = unix.Nanosleep(&unix.Timespec{Nsec: shortBreathNS}, nil)
}

// Breathe gives the processor away for a moment: to a goroutine that waits for its turn, and to other
// threads.
func Breathe() {
	runtime.Gosched()
	_ = unix.Nanosleep(&unix.Timespec{Nsec: breathNS}, nil)
}
