package admin

import (
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"
)

// Debug is the content of /debug besides profiles.
type Debug struct {
	// Log returns the last lines of the server's log.
	Log func() []byte
}

// The duration of a processor profile, in seconds.
const (
	usualProfileS = 5
	mostProfileS  = 60
)

// debug returns the handler for the paths of /debug, which exist with admin-debug. Unlike net/http/pprof it
// does not show the command line, which may contain a password.
func (p *Port) debug(d *Debug) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/log", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(d.Log())
	})
	mux.HandleFunc("GET /debug/pprof/profile", p.profileProcessor)
	mux.HandleFunc("GET /debug/pprof/{name}", profileNamed)
	return mux
}

// profileNamed sends a profile of the runtime, such as heap or goroutine. debug is the format: 0 is for 'go
// tool pprof'; 1 and 2 are text.
func profileNamed(w http.ResponseWriter, r *http.Request) {
	profile := pprof.Lookup(r.PathValue("name"))
	form, err := wholeOf(r, "debug", 0, 0, 2)
	switch {
	case profile == nil:
		tell(w, http.StatusNotFound, "no profile has this name")
		return
	case err != "":
		tell(w, http.StatusBadRequest, err)
		return
	}
	w.Header().Set("Content-Type", map[bool]string{true: "application/octet-stream", false: "text/plain; charset=utf-8"}[form == 0])
	_ = profile.WriteTo(w, form)
}

// profileProcessor profiles the processor for some seconds, and sends the profile.
func (p *Port) profileProcessor(w http.ResponseWriter, r *http.Request) {
	seconds, bad := wholeOf(r, "seconds", usualProfileS, 1, mostProfileS)
	if bad != "" {
		tell(w, http.StatusBadRequest, bad)
		return
	}
	lasts := time.Duration(seconds) * time.Second
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lasts + writeTimeout))
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := pprof.StartCPUProfile(w); err != nil {
		tell(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(lasts):
	case <-r.Context().Done():
	case <-p.closing:
	}
}

// wholeOf returns a number of the query, which must be within bounds. bad describes the error.
func wholeOf(r *http.Request, name string, usual, least, most int) (n int, bad string) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, ""
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, name + " is a number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
	}
	return n, ""
}
