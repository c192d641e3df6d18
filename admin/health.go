package admin

import (
	"net/http"
	"strings"
)

// healthz reports that the process runs. It does so in any state of the server, from which it reads nothing.
func (p *Port) healthz(w http.ResponseWriter, _ *http.Request) { tell(w, http.StatusOK, "ok") }

// readyz reports whether clients are served, and if not, why. It also reports alarms for an operator.
func (p *Port) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := p.source.Ready(); err != nil {
		tell(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	text := "ok"
	for _, a := range p.source.Alarms() {
		text += "; " + a.Text
	}
	tell(w, http.StatusOK, text)
}

// tell replies with one line of text.
func tell(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(strings.ReplaceAll(line, "\n", " ") + "\n"))
}
