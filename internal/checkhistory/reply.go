package checkhistory

import (
	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// History is a reply of LOCK.HISTORY.
type History struct {
	// SinceMS is the time of the first known event, in milliseconds since 1970. Reason says why earlier
	// events are not known; "off" means that the server keeps no events.
	SinceMS int64
	Reason  string
	LastID  int64 // the number of the latest event of any lock
	Lines   []Line
}

// FromReply reads a reply of version 3 of the protocol.
func FromReply(v resp.Value) History {
	f := call.FieldsOf(v)
	h := History{SinceMS: f.Int("known-since"), Reason: f.Text("reason"), LastID: f.Int("last-id")}
	for _, event := range f.List("events") {
		h.Lines = append(h.Lines, lineOf(call.FieldsOf(event)))
	}
	return h
}

func lineOf(f call.Fields) Line {
	l := Line{ID: f.Int("id"), TimeMS: f.Int("time"), Event: f.Text("event"), Reason: f.Text("reason"), Key: f.Text("key"),
		Owner: f.Text("owner"), Token: f.Int("token"), Mode: f.Text("mode"), Permits: f.Int("permits"), Trace: f.Text("trace")}
	if f["client"].Kind == resp.Map {
		c := call.FieldsOf(f["client"])
		l.ClientID, l.ClientAddress = c.Int("id"), c.Text("address")
	}
	for name, to := range map[string]**float64{"held": &l.HeldMS, "waited": &l.WaitedMS} {
		if f[name].Kind == resp.Double {
			ms := f.Number(name)
			*to = &ms
		}
	}
	return l
}

// Began returns the line that says from which time on events are known.
func (h *History) Began() Line { return Line{TimeMS: h.SinceMS, Event: Began, Reason: h.Reason} }
