package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"lockserver/internal/call"
)

// sendTimeout is the largest time until a browser has taken what a stream sends.
const sendTimeout = 30 * time.Second

// stream sends the changing part of a page after each change, until the browser disconnects or the session
// ends.
func (c *Console) stream(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := c.sessions.find(r)
		if s == nil || !v.isFor(c.viewer(s)) {
			http.Error(w, "log in first", http.StatusForbidden)
			return
		}
		end, ok := c.sessions.stream(s)
		if !ok {
			http.Error(w, "too many pages of this session are open", http.StatusTooManyRequests)
			return
		}
		defer end()
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		_ = out.SetReadDeadline(time.Time{}) // the port's deadline, which would end the request as well
		tick := time.NewTicker(v.every)
		defer tick.Stop()
		var last []byte
		past := false // it was sent
		for c.sessions.alive(s) {
			body, err := v.load(c.viewer(s), r)
			name := v.template + ":live"
			var refused call.Error
			if errors.As(err, &refused) { // until the server answers again, as after a change of the leader
				body, name = refusal(refused), "problem"
			} else if err != nil {
				c.sessions.end(s) // its connection cannot be used any more: the browser loads the page anew, and logs in
				return
			}
			f := frame{Path: v.path, Asked: s.asked, User: s.user, Token: s.token, Body: body}
			part, err := c.execute(name, &f)
			if err != nil {
				c.log.Error("console: a part of a page cannot be written", "page", v.template, "cause", err)
				return
			}
			// The reading of the data does not count: the deadline is for a browser that does not read.
			_ = out.SetWriteDeadline(time.Now().Add(sendTimeout))
			if !bytes.Equal(part, last) {
				writeEvent(w, "", part)
				last = part
			} else {
				fmt.Fprint(w, "event: beat\n\n") // console.js tells by it that the page is live
			}
			if v.points != nil && refused == "" {
				points := v.points(c.viewer(s), body)
				if !past {
					writeJSON(w, "past", c.pastOf(points))
					past = true
				}
				writeJSON(w, "points", points)
			}
			if out.Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}
}

// pastOf returns the former values of a page's charts, if the user may see them.
func (c *Console) pastOf(points map[string][]float64) map[string][][]float64 {
	past := make(map[string][][]float64)
	for name := range points {
		if columns := c.past.Of(name); columns != nil {
			past[name] = columns
		}
	}
	return past
}

// writeJSON writes a server-sent event of values.
func writeJSON(w http.ResponseWriter, name string, values any) {
	data, _ := json.Marshal(values)
	writeEvent(w, name, data)
}

// writeEvent writes a server-sent event.
func writeEvent(w http.ResponseWriter, name string, data []byte) {
	var b bytes.Buffer
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	for line := range bytes.Lines(data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	_, _ = w.Write(b.Bytes())
}
