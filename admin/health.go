package admin

import (
	"net/http"
	"strconv"
	"strings"
)

// healthz reports that the process runs. It does so in any state of the server, from which it reads nothing.
func (p *Port) healthz(w http.ResponseWriter, _ *http.Request) { tell(w, http.StatusOK, "ok") }

// readyz reports whether clients are served by all shards, and if not, why. It also reports alarms for an
// operator.
func (p *Port) readyz(w http.ResponseWriter, _ *http.Request) {
	status, text, alarms := http.StatusOK, "", ""
	for i, s := range p.shards {
		name := ""
		if len(p.shards) > 1 {
			name = "shard " + strconv.Itoa(i+1) + ": "
		}
		if err := s.Ready(); err != nil {
			status, text = http.StatusServiceUnavailable, text+"; "+name+err.Error()
		}
		for _, a := range s.Alarms() {
			alarms += "; " + name + a.Text
		}
	}
	if status == http.StatusOK {
		text = "; ok" + alarms
	}
	tell(w, status, strings.TrimPrefix(text, "; "))
}

// tell replies with one line of text.
func tell(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(strings.ReplaceAll(line, "\n", " ") + "\n"))
}
