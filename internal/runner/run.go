package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"lockserver/internal/resp"
)

// run is one run of a command.
type run struct {
	*Options
	claim   claim
	session *session
	path    string // of the command's program
	signals chan os.Signal
	losses  chan notice // the latest loss reported by the server
	asks    chan notice // the latest LOCK.ASK
	asked   bool        // the lock may be held by this owner
	token   int64       // 0: the lock is not held, as far as is known
}

// notice is a message of the server about the lock with a token: it is not held any more, or it is asked for.
type notice struct {
	token  int64
	reason string
}

// refusal ends a run without the command's own status: the command did not start, or the lock was lost.
type refusal struct {
	status int
	cause  error
}

func (r *refusal) Error() string { return r.cause.Error() }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Errorf(format, args...)}
}

// Run runs a command under a lock and returns the exit status: that of the command, or one of the Status
// constants. [Options.Check] has accepted o. The command gets the standard input, output and error of this
// process.
func Run(o *Options) (status int) {
	r := &run{Options: o, signals: make(chan os.Signal, 16), losses: make(chan notice, 1), asks: make(chan notice, 1)}
	r.claim = claim{o.Key, newOwner(), o.Limit, o.Lease}
	r.session = &session{server: o.Server, addrs: o.Addrs, owner: r.claim.owner, lost: r.hearLoss}
	if o.onAsk != nil {
		r.session.asked = func(token int64, reason string) { replace(r.asks, notice{token, reason}) }
	}
	err := r.lookUp()
	if err == nil {
		r.listen()
		defer signal.Stop(r.signals)
		status, err = r.underLock()
	}
	r.session.hangUp(errors.New("the run has ended"))
	var refused *refusal
	if errors.As(err, &refused) {
		status = refused.status
	}
	if err != nil {
		r.say("%v", err)
	}
	return status
}

func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Stderr, "lockserver run: "+format+"\n", args...)
}

// lookUp finds the command's program before the lock is taken.
func (r *run) lookUp() (err error) {
	r.path, err = exec.LookPath(r.Command[0])
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission):
		return &refusal{StatusCannotRun, err}
	}
	return &refusal{StatusNotFound, err}
}

// listen subscribes to the signals that are passed on. A signal that was ignored when the process started, as
// nohup does with SIGHUP, stays ignored for the command, too.
func (r *run) listen() {
	for _, s := range passedOn {
		if !signal.Ignored(s) {
			signal.Notify(r.signals, s)
		}
	}
}

// hearLoss records a reported loss, from any goroutine.
func (r *run) hearLoss(token int64, reason string) { replace(r.losses, notice{token, reason}) }

// replace puts a notice into a channel that holds one. A newer notice replaces the old one.
func replace(in chan notice, n notice) {
	select {
	case <-in:
	default:
	}
	select {
	case in <- n:
	default: // another notice came at the same moment
	}
}

// underLock takes the lock, runs the command, and releases the lock.
func (r *run) underLock() (status int, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	began := make(chan struct{})
	go r.interrupt(began, cancel)
	confirmed, err := r.prepare(ctx)
	began <- struct{}{} // interrupt has ended
	var h *hold
	if err == nil && ctx.Err() == nil {
		h, err = r.start(confirmed)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		r.release(0)
		return 0, err
	}
	status, lost := h.wait()
	if !r.release(patience) && lost == "" {
		lost = "the server says: it was not held any more when the command had ended"
	}
	if lost != "" {
		return 0, refuse(StatusLost, "the lock %q was lost: %s", r.Key, lost)
	}
	return status, nil
}

// interrupt ends the wait for the lock when a signal comes that ends programs.
func (r *run) interrupt(began <-chan struct{}, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-began:
			return
		case s := <-r.signals:
			if n, ends := endsPrograms(s); ends {
				cancel(refuse(statusBySignal+n, "%v before the command was started", s))
			}
		}
	}
}

// prepare takes the lock and the tick. It returns the send time of the last confirmed request for the lease.
func (r *run) prepare(ctx context.Context) (confirmed int64, err error) {
	end := now() + int64(r.Wait)
	if r.Tick > 0 {
		if err := r.askTick(ctx, end, lookAtTick); err != nil { // a tick that has run need not wait for the lock
			return 0, err
		}
	}
	confirmed, err = r.acquire(ctx, end)
	if err == nil && r.Tick > 0 {
		err = r.askTick(ctx, now()+int64(patience), takeTick)
	}
	if err == nil && now()-confirmed > int64(r.Lease)/renewalsPerLease {
		confirmed, err = r.renewOnce(ctx)
		if err == nil && confirmed == 0 {
			err = refuse(StatusLost, "the lock %q was lost before the command was started", r.Key)
		}
	}
	return confirmed, err
}

// request sends a command again until it is answered, or until the time end. The command must be safe to
// repeat. An attempt takes at most the time that is left, plus a little.
func (r *run) request(ctx context.Context, end int64, words func(left time.Duration) []string) (resp.Value, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		left := max(time.Duration(end-now()), 0)
		attempt, cancel := context.WithTimeoutCause(ctx, left+patience, errors.New("the server does not answer"))
		v, err := r.session.do(attempt, words(left)...)
		cancel()
		switch {
		case err == nil:
			return v, nil
		case ctx.Err() != nil:
			return v, context.Cause(ctx)
		case !isAway(err):
			return v, &refusal{StatusNoServer, refusedBy(err)}
		case time.Duration(end-now()) < pause:
			return v, &refusal{StatusNoServer, fmt.Errorf("no server: %w", err)}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// refusedBy explains an error reply.
func refusedBy(err error) error {
	if strings.HasPrefix(err.Error(), "ERR unknown command") {
		return fmt.Errorf("the server lacks a command that is needed: %w", err)
	}
	return fmt.Errorf("the server refuses: %w", err)
}

// acquire takes the lock.
func (r *run) acquire(ctx context.Context, end int64) (confirmed int64, err error) {
	defer r.watchServer(ctx)()
	for {
		r.asked, r.token = true, 0
		begun := now()
		v, err := r.request(ctx, end, func(left time.Duration) []string {
			begun = now()
			return r.claim.acquire(left)
		})
		switch {
		case err != nil && strings.Contains(err.Error(), "LOCKLIMIT "):
			return 0, &refusal{StatusBusy, err}
		case err != nil:
			return 0, err
		case v.Kind != resp.Integer:
			r.asked = false
			return 0, refuse(StatusBusy, "the lock %q is busy", r.Key)
		}
		r.token = v.Int
		if now()-begun <= int64(r.Lease)/renewalsPerLease {
			return begun, nil
		}
		// The command waited: the lease began at an unknown time between the request and the reply.
		confirmed, err = r.renewOnce(ctx)
		if err != nil || confirmed != 0 {
			return confirmed, err
		}
	}
}

// renewOnce renews the lease before the command runs. It returns 0 if the lock is lost.
func (r *run) renewOnce(ctx context.Context) (confirmed int64, err error) {
	v, err := r.request(ctx, now()+int64(patience), func(time.Duration) []string {
		confirmed = now()
		return r.claim.renew(r.token)
	})
	if err == nil && v.Int != 1 {
		confirmed = 0
	}
	return confirmed, err
}

// askTick reads the state of the present tick, or takes the tick.
func (r *run) askTick(ctx context.Context, end int64, mode string) error {
	v, err := r.request(ctx, end, func(time.Duration) []string {
		return tickCommand(r.Key, r.claim.owner, r.Tick, r.Keep, mode)
	})
	if err == nil && v.Int == 0 {
		return &refusal{statusTickHasRun, errTickHasRun{r.Tick}}
	}
	return err
}

// watchServer ends the wait for the lock if the server disappears without closing the connection: another
// connection sends pings. The result stops the watch.
func (r *run) watchServer(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s := &session{server: r.Server, addrs: r.Addrs, lost: func(int64, string) {}}
		defer s.hangUp(errors.New("the wait has ended"))
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(patience):
			}
			limited, done := context.WithTimeout(ctx, 2*patience)
			_, err := s.do(limited, "PING")
			done()
			if err != nil && isAway(err) && ctx.Err() == nil {
				r.session.hangUp(fmt.Errorf("the server does not answer: %w", err))
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// release releases the lock, if it may be held. It reports whether the lock was held until then, as far as
// that can be known. It repeats the attempt for a while.
func (r *run) release(within time.Duration) (held bool) {
	if !r.asked {
		return true
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("the server does not answer"))
	defer cancel()
	attempts := 0
	v, err := r.request(ctx, now()+int64(within), func(time.Duration) []string {
		attempts++
		return r.claim.release(r.token)
	})
	if err != nil {
		if r.token != 0 {
			r.say("the lock %q was not released, and ends with its lease: %v", r.Key, err)
		}
		return true
	}
	return v.Kind == resp.Integer || attempts > 1 // an earlier attempt without a reply may have released it
}

// exitStatus returns the shell's status for a process that has ended.
func exitStatus(state *os.ProcessState) int {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return statusBySignal + int(w.Signal())
	}
	return state.ExitCode()
}
