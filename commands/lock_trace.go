package commands

import (
	"lockserver/internal/ascii"
	"lockserver/internal/tracecontext"
)

// LOCK, MLOCK and SEM.ACQUIRE take the trace of the caller (TRACE traceparent). It has no effect on the lock:
// the host keeps it for LOCK.INFO, the history, and spans of waits.

const traceWord = "TRACE"

// readTrace reads the traceparent after TRACE.
func (c *Ctx) readTrace(a *Scanner) {
	if c.Traced {
		a.Syntax()
	}
	text := a.Bytes()
	if a.Err() != nil {
		return
	}
	if c.Trace, c.Traced = tracecontext.Parse(text); !c.Traced {
		a.Fail(ErrTraceparent)
	}
}

// restoreTrace makes the trace of a call that has waited the trace of the context again.
func (w *WaitingLock) restoreTrace(c *Ctx) {
	if !w.traced {
		return
	}
	for i := len(c.Argv) - 2; i > 0 && !c.Traced; i-- {
		if ascii.EqualFold(c.Argv[i], traceWord) {
			c.Trace, c.Traced = tracecontext.Parse(c.Argv[i+1])
		}
	}
}

// Traced reports whether the call names a trace.
func (w *WaitingLock) Traced() bool { return w.traced }

// Trace returns the trace in the words of the call's command, or false.
func (w *WaitingLock) Trace(words Words) (trace tracecontext.Context, ok bool) {
	if !w.traced {
		return trace, false
	}
	c := Ctx{Argv: words.Argv()}
	w.restoreTrace(&c)
	return c.Trace, c.Traced
}
