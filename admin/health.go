package admin

import (
	"net/http"
	"strings"
)

// healthz says that the process is alivein any state of the server: it reads nothing from it.
func (p *Port) healthz(w http.ResponseWriter, _ *http.Request) { tell(w, http.StatusOK, "ok") }

// readyz says whether clients are served, and why not, and what an operator has to look at.
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
