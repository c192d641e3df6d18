package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"lockserver/internal/inspect"
)

// The exit statuses besides the command's own. The first five are from sysexits.h, the last two are the
// shell's.
const (
	StatusUsage       = 64
	StatusNoServer    = 69 // no server answers, or the server refuses the request
	StatusBusy        = 75
	StatusLost        = 80 // not in sysexits.h
	StatusCannotRun   = 126
	StatusNotFound    = 127
	statusBySignal    = 128 // plus the signal
	statusInternal    = 70
	statusTickHasRun  = 0
	minLease          = time.Second
	maxDuration       = 365 * 24 * time.Hour
	defaultLease      = 30 * time.Second
	defaultGrace      = 10 * time.Second
	defaultKeep       = time.Hour
	renewalsPerLease  = 6
	leaseOverMargin   = 10 // the margin is this fraction of the lease
	largestMargin     = 3 * time.Second
	patience          = 5 * time.Second // limit for a connection or a reply
	firstPause        = 50 * time.Millisecond
	longestPause      = time.Second
	mostRedirections  = 5
	clientName        = "lockserver-run"
	tickRecordsSuffix = ":tick"
)

// Options describes a run. [Options.Check] fills in the defaults.
type Options struct {
	Key     string
	Limit   int           // for a semaphore; 0: a lock
	Wait    time.Duration // how long to wait for the lock; 0: do not wait
	Lease   time.Duration // 0: 30 s
	Grace   time.Duration // between SIGTERM and SIGKILL when the lock is lost; 0: 10 s, at most a third of the lease
	Tick    time.Duration // 0: no ticks
	Keep    time.Duration // life of the record of a tick; 0: an hour, at least two ticks
	OnAsk   string        // signal for the command when the lock is asked for (LOCK.ASK), as TERM; empty: none
	Command []string

	onAsk os.Signal // nil: OnAsk is empty

	Server inspect.Target // its Addr is not used
	Addrs  []string       // servers to try, each host:port or the path of a unix socket

	Stderr io.Writer // messages
}

// Check fills in the defaults. It returns an error for invalid options.
func (o *Options) Check() error {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Grace == 0 {
		o.Grace = min(defaultGrace, o.Lease/3)
	}
	if o.Tick > 0 && o.Keep == 0 {
		o.Keep = max(defaultKeep, 2*o.Tick)
	}
	known := true
	if o.OnAsk != "" {
		o.onAsk, known = signalNamed(o.OnAsk)
	}
	switch {
	case !known:
		return fmt.Errorf("--on-ask %s is not one of the signals that are passed on, which docs/RUN.md lists", o.OnAsk)
	case o.Key == "":
		return errors.New("--key is missing: the name of the lock")
	case len(o.Command) == 0:
		return errors.New("the command is missing: lockserver run --key K -- command args")
	case o.Limit < 0:
		return errors.New("--limit is 1 at least")
	case o.Lease < minLease:
		return fmt.Errorf("--lease is %v at least", minLease)
	case o.Grace < 0 || o.Grace > o.Lease/2:
		return fmt.Errorf("--grace %v is longer than half of --lease %v", o.Grace, o.Lease)
	case o.Wait < 0 || o.Wait%time.Millisecond != 0 || o.Lease%time.Millisecond != 0:
		return errors.New("--wait and --lease are whole milliseconds, not negative")
	case o.Tick < 0 || o.Tick%(2*time.Millisecond) != 0 || o.Keep%time.Millisecond != 0:
		return errors.New("--tick and --keep are whole milliseconds, --tick an even number of them")
	case o.Tick == 0 && o.Keep != 0:
		return errors.New("--keep needs --tick")
	case o.Keep < o.Tick:
		return fmt.Errorf("--keep %v is shorter than --tick %v: the tick could run twice", o.Keep, o.Tick)
	case max(o.Wait, o.Lease, o.Tick, o.Keep) > maxDuration:
		return fmt.Errorf("a duration is %v at most", maxDuration)
	}
	return nil
}

// margin is the time before the end of the lease at which the command must be dead.
func (o *Options) margin() time.Duration { return min(o.Lease/leaseOverMargin, largestMargin) }
