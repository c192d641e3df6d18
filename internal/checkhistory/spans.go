package checkhistory

import (
	"slices"

	"lockserver/internal/lockhistory"
)

// Span is the time during which an owner held a lock, or waited for it.
type Span struct {
	Owner   string `json:"owner"`
	Token   int64  `json:"token,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Permits int64  `json:"permits,omitempty"`
	FromMS  int64  `json:"from_ms,omitempty"` // since 1970; 0: before the history begins
	ToMS    int64  `json:"to_ms,omitempty"`   // 0: the span has not ended
	// End is the event that ended the span, with its reason. It is empty while the span has not ended.
	End string `json:"end,omitempty"`
	// ClientID and ClientAddress come from the event that began the span. 0 means that they are not known.
	ClientID      int64  `json:"client_id,omitempty"`
	ClientAddress string `json:"client_address,omitempty"`
	Trace         string `json:"trace,omitempty"`
}

// Covers reports whether the span includes a time.
func (s *Span) Covers(ms int64) bool { return s.FromMS <= ms && (s.ToMS == 0 || s.ToMS > ms) }

// Spans lists the holds of one lock and the waits for it, each in the order of their first events.
type Spans struct{ Holds, Waits []*Span }

// SpansOf reads the events of one lock, with the oldest event first.
func SpansOf(lines []Line) *Spans {
	s := &Spans{}
	for i := range lines {
		s.add(&lines[i])
	}
	return s
}

func (s *Spans) add(l *Line) {
	if l.Key == "" { // the event concerns all locks of the database
		for _, p := range s.Holds {
			if p.ToMS == 0 {
				p.end(l)
			}
		}
		return
	}
	if l.Event == lockhistory.Queued.String() {
		s.Waits = append(s.Waits, begin(l, l.TimeMS))
		return
	}
	if lockhistory.EndsWait(l.Event) {
		s.endWait(l)
	}
	hold := s.HoldOf(l.Token)
	switch {
	case l.Event == lockhistory.Granted.String() && hold == nil:
		s.Holds = append(s.Holds, begin(l, l.TimeMS))
	case !lockhistory.EndsHold(l.Event, l.Reason):
	case hold != nil && hold.ToMS == 0:
		hold.end(l)
	case hold == nil: // the grant is older than the history
		p := begin(l, before(l, l.HeldMS))
		p.ClientID, p.ClientAddress = 0, ""
		p.end(l)
		s.Holds = append(s.Holds, p)
	}
}

// endWait ends the wait of an owner. If the history does not know the wait, the event says when the wait
// began.
func (s *Spans) endWait(l *Line) {
	wait := latest(s.Waits, func(p *Span) bool { return p.Owner == l.Owner && p.ToMS == 0 })
	if wait == nil && l.WaitedMS != nil && *l.WaitedMS > 0 {
		wait = begin(l, before(l, l.WaitedMS))
		s.Waits = append(s.Waits, wait)
	}
	if wait != nil {
		wait.end(l)
	}
}

// HoldOf returns the hold with a token, or nil.
func (s *Spans) HoldOf(token int64) *Span {
	return latest(s.Holds, func(p *Span) bool { return p.Token == token && token != 0 })
}

// before returns the time of the event minus ms. It is 0 if ms is not known.
func before(l *Line, ms *float64) int64 {
	if ms == nil {
		return 0
	}
	return l.TimeMS - int64(*ms)
}

func begin(l *Line, fromMS int64) *Span {
	return &Span{Owner: l.Owner, Token: l.Token, Mode: l.Mode, Permits: l.Permits, FromMS: fromMS, ClientID: l.ClientID, ClientAddress: l.ClientAddress, Trace: l.Trace}
}

func (s *Span) end(l *Line) {
	s.ToMS, s.End = l.TimeMS, l.Event
	if l.Reason != "" {
		s.End += " (" + l.Reason + ")"
	}
}

func latest(spans []*Span, is func(p *Span) bool) *Span {
	for _, p := range slices.Backward(spans) {
		if is(p) {
			return p
		}
	}
	return nil
}
