package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// hold is a command that is running under the lock.
type hold struct {
	*run
	command    *process
	supervisor *supervisor
	alarm      *alarm
	renewed    chan int64    // send times of the renewals that the server has confirmed
	stopKeeper func()        // ends the renewals
	deadline   int64         // the command must be dead by then; each renewal moves it until the lock is lost
	lost       string        // the reason; empty: the lock is held
	killed     bool          // the group was killed
	ended      chan struct{} // nil after the end of the command was noticed
	status     int           // exit status of the command
}

// start starts the supervisor, the command, and the renewals.
func (r *run) start(confirmed int64) (*hold, error) {
	h := &hold{run: r, renewed: make(chan int64, 1)}
	h.deadline = r.deadline(confirmed)
	var err error
	if h.alarm, err = newAlarm(); err != nil {
		return nil, &refusal{statusInternal, err}
	}
	if h.supervisor, err = startSupervisor(h.deadline, h.softer()); err != nil {
		return nil, refuse(statusInternal, "the supervisor cannot start: %w", err)
	}
	cmd := &exec.Cmd{Path: r.path, Args: r.Command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.Env = append(os.Environ(), "LOCKSERVER_KEY="+r.Key, "LOCKSERVER_OWNER="+r.claim.owner,
		"LOCKSERVER_TOKEN="+strconv.FormatInt(r.token, 10))
	h.command, err = startProcess(cmd)
	if err != nil {
		h.supervisor.end()
		status := StatusCannotRun
		if errors.Is(err, os.ErrNotExist) {
			status = StatusNotFound
		}
		return nil, &refusal{status, err}
	}
	h.supervisor.group(h.command.pid())
	h.ended = h.command.ended
	ctx, cancel := context.WithCancelCause(context.Background())
	kept := make(chan struct{})
	go func() { defer close(kept); h.keep(ctx) }()
	h.stopKeeper = func() { cancel(errors.New("the run has ended")); <-kept }
	return h, nil
}

// deadline returns when the command must be dead, for a lease that was requested at the time confirmed.
func (r *run) deadline(confirmed int64) int64 { return confirmed + int64(r.Lease-r.margin()) }

// softer returns when the supervisor sends SIGTERM if the runner has not: the runner has half of the grace
// for it.
func (h *hold) softer() int64 { return h.deadline - int64(h.Grace/2) }

// wait waits for the end of the command, and makes sure that the command does not outlive the lock. lost is
// the reason if the lock was lost.
func (h *hold) wait() (status int, lost string) {
	h.alarm.set(h.deadline - int64(h.Grace))
	for !h.over() {
		select {
		case s := <-h.signals:
			h.command.pass(s)
		case <-h.ended:
			h.sawEnd()
		case l := <-h.losses:
			if l.token == h.token {
				h.lose(l.reason, min(now()+int64(h.Grace), h.deadline))
			}
		case n := <-h.asks:
			h.obey(n)
		case confirmed := <-h.renewed:
			h.renew(confirmed)
		case <-h.alarm.C:
			h.ring()
		}
	}
	h.stopKeeper()
	h.supervisor.end()
	h.alarm.close()
	return h.status, h.lost
}

// obey sends the command the signal of --on-ask: another client asks for the lock.
func (h *hold) obey(n notice) {
	if n.token != h.token || h.ended == nil || h.lost != "" {
		return
	}
	h.say("the lock %q is asked for: %q; the command gets a signal", h.Key, n.reason)
	h.command.pass(h.onAsk)
}

// over reports whether there is nothing left to wait for. When the lock is lost, the other processes of the
// command's group have time to end, too.
func (h *hold) over() bool {
	return h.ended == nil && (h.lost == "" || h.killed || !h.command.groupLives())
}

// sawEnd records the status of the command, which has ended.
func (h *hold) sawEnd() {
	h.ended = nil
	late := now() >= h.softer()
	if h.lost == "" && !late {
		h.supervisor.end() // before the process ID can be reused
	}
	h.status = exitStatus(h.command.reap())
	if h.lost == "" && late && (h.status == statusBySignal+killSignal || h.status == statusBySignal+termSignal) {
		h.lost = "its lease could not be renewed in time, and the supervisor has ended the command"
	}
	if h.lost != "" {
		h.look()
	}
}

// renew moves the deadline: the server has confirmed a renewal that was sent at the time confirmed.
func (h *hold) renew(confirmed int64) {
	if h.lost != "" || now() >= h.deadline {
		return
	}
	h.deadline = h.run.deadline(confirmed)
	h.supervisor.until(h.deadline, h.softer())
	h.alarm.set(h.deadline - int64(h.Grace))
}

// ring does the work that is due when the alarm rings.
func (h *hold) ring() {
	at := now()
	switch {
	case h.lost != "" && at >= h.deadline:
		h.command.kill()
		h.killed = true
	case h.lost != "":
		h.look()
	case at >= h.deadline-int64(h.Grace):
		h.lose("its lease could not be renewed in time", h.deadline)
	}
}

// lookEvery is the pause between checks whether the rest of a group has ended after its leader.
const lookEvery = int64(20 * time.Millisecond)

// look sets the alarm for the next check while the command has time to end.
func (h *hold) look() {
	at := h.deadline
	if h.ended == nil {
		at = min(at, now()+lookEvery)
	}
	h.alarm.set(at)
}

// lose begins to end the command, which must be dead by the deadline.
func (h *hold) lose(reason string, deadline int64) {
	if h.lost != "" {
		return
	}
	h.lost, h.deadline = reason, deadline
	h.say("the lock %q is lost: %s; the command is signalled to end", h.Key, reason)
	h.supervisor.until(deadline, 0)
	h.command.terminate()
	h.alarm.set(deadline)
}

// keep renews the lease until ctx ends or the server says that the lock is lost.
func (h *hold) keep(ctx context.Context) {
	period := h.Lease / renewalsPerLease
	for next := period; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		begun := now()
		limited, cancel := context.WithTimeoutCause(ctx, min(period, patience), errors.New("the server does not answer"))
		v, err := h.session.do(limited, h.claim.renew(h.token)...)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && v.Int == 1:
			next = period
			select { // a newer time replaces the old one
			case <-h.renewed:
			default:
			}
			h.renewed <- begun
		case err == nil:
			h.hearLoss(h.token, "the server says: it is not held any more")
			return
		default:
			if next == period {
				h.say("the lock %q cannot be renewed at the moment: %v", h.Key, err)
			}
			next = min(period, longestPause) / 2
		}
	}
}
