package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"lockserver/admin/history"
	"lockserver/internal/call"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// Console is the handler of all pages of the console. It runs no goroutine of its own: the next request
// removes expired sessions.
type Console struct {
	// Audit gets the actions of users; nil: they only go to the log. Set it before the first request.
	Audit *slog.Logger
	// AutoLogin logs in requests of this machine as the user default, if that user has no password. Set it
	// before the first request.
	AutoLogin bool

	backend  Backend   // of the first shard, with what counts for all of them
	shards   []Backend // mostly one
	past     *history.Book
	log      *slog.Logger
	sessions sessions
	attempts attempts
	pages    *template.Template
	version  string // version of the embedded files: browsers cache them for as long as it is the same
	mux      *http.ServeMux
	part     part
}

// part names the shard of a cluster of raft groups that the console shows; empty: the server is in none.
type part struct{ Shard, Cluster string }

// New returns a console of a server, or of all shards of a cluster, in the order of their slots. Its charts
// begin with the data of past. It is the root of an HTTP server.
func New(shards []Backend, past *history.Book, log *slog.Logger) *Console {
	c := &Console{backend: shards[0], shards: shards, past: past, log: log, version: staticVersion(), mux: http.NewServeMux(),
		sessions: sessions{now: time.Now, of: make(map[string]*session)}, attempts: attempts{now: time.Now}}
	directives := c.backend.Directives()
	c.part = part{Shard: directives["cluster-shard"], Cluster: directives["cluster-name"]}
	c.pages = template.Must(template.New("").Funcs(c.functions()).ParseFS(templates, "templates/*.html"))
	c.mux.HandleFunc("GET /{$}", c.first)
	c.mux.HandleFunc("GET /static/{version}/{file}", c.serveStatic)
	c.mux.HandleFunc("GET /login", c.showLogin)
	c.mux.HandleFunc("POST /login", c.takeLogin)
	c.mux.HandleFunc("POST /logout", c.posted(c.takeLogout))
	c.mux.HandleFunc("POST /lock/release", c.posted(c.takeRelease))
	c.mux.HandleFunc("POST /lock/ask", c.posted(c.takeAsk))
	c.mux.HandleFunc("POST /delayed/cancel", c.posted(c.takeCancel))
	for _, v := range views() {
		c.mux.HandleFunc("GET "+v.path, c.page(v))
		c.mux.HandleFunc("GET "+v.path+"/live", c.stream(v))
	}
	return c
}

// audit records an action of a user, or an attempt.
func (c *Console) audit(event, user, address string, attrs ...any) {
	if c.Audit != nil {
		c.Audit.Info(event, append([]any{"user", user, "address", address}, attrs...)...)
	}
}

// functions returns the functions for templates.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset":    func(name string) string { return "/static/" + c.version + "/" + name },
		"count":    count,
		"bytes":    bytesText,
		"lockLink": lockLink,
		"shown":    shown,
		"short":    func(text string) string { return shorten(text, 18) },
		"number":   number,
		"percent":  percent,
		"seconds":  spanText,
		"millis":   func(us int64) string { return strconv.FormatFloat(float64(us)/1000, 'f', 3, 64) },
		"milli":    func(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) },
		"micro":    micro,
		"tenths": func(part, whole float64) string {
			return strconv.FormatFloat(100*part/max(part, whole, 1e-9), 'f', 1, 64)
		},
		"permille":  func(part, whole float64) int { return int(1000 * part / max(part, whole, 1e-9)) },
		"lasting":   lasting,
		"lastingUS": func(us int64) string { return lasting(float64(us) / 1000) },
		"float":     func(n int64) float64 { return float64(n) },
		"whole":     func(n int) int64 { return int64(n) },
		"add":       func(a, b int) int { return a + b },
	}
}

// policy lets a page load and run only files of the console.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// posted is a handler of a form, which carries the token of the session.
func (c *Console) posted(handle func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		s := c.sessions.find(r)
		if s == nil || !s.ownsToken(r.PostFormValue("token")) {
			http.Error(w, "The form is not one of this session. Go back, load the page anew, and try again.", http.StatusForbidden)
			return
		}
		handle(w, r, s)
	}
}

// mostForm bounds the size of a form in bytes.
const mostForm = 64 << 10

// frame holds the parts that every page shows around its Body.
type frame struct {
	Title, Path string
	Asked       bool // the user logged in
	User        string
	Token       string
	Pages       []link
	Live        string // the address of the page's events
	NowMS       int64
	Part        part
	Body        any
}

// viewer returns the user of a session.
func (c *Console) viewer(s *session) *viewer {
	return &viewer{name: s.user, conn: s.conn, backend: c.backend, shards: c.shards, past: c.past}
}

// navigation returns the pages that a user may see, for the database that is shown.
func (c *Console) navigation(s *session, path string, db int) (links []link) {
	for _, v := range views() {
		if v.path != "/lock" && v.isFor(c.viewer(s)) {
			name := v.title
			if v.path == "/graph" {
				name = "Graph"
			}
			to := v.path
			if v.eachDB && db != 0 {
				to += "?db=" + strconv.Itoa(db)
			}
			links = append(links, link{Path: to, Name: name, Here: v.path == path || v.path == "/locks" && path == "/lock"})
		}
	}
	return links
}

// first leads to the first page that the user may see.
func (c *Console) first(w http.ResponseWriter, r *http.Request) {
	to := "/locks"
	if s, err := c.current(w, r); err == nil && s != nil {
		if links := c.navigation(s, "/", database(r)); len(links) > 0 {
			to = links[0].Path
		}
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// page serves a view as a whole page.
func (c *Console) page(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := c.current(w, r)
		switch {
		case err != nil:
			c.fail(w, http.StatusServiceUnavailable, "The server does not answer", err.Error())
			return
		case s == nil:
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		f := frame{Title: v.title, Path: v.path, Asked: s.asked, User: s.user, Token: s.token, Pages: c.navigation(s, v.path, database(r)),
			Live: v.path + "/live?" + r.URL.RawQuery, NowMS: c.backend.NowMS()}
		if !v.isFor(c.viewer(s)) {
			f.Live = "" // it would be refused, too
			f.Body = problem{"Not for " + s.user, "The ACL does not let this user run " + strings.TrimSpace(strings.Join(v.needs, " ")) + "."}
			c.render(w, http.StatusForbidden, "problem.html", f)
			return
		}
		f.Body, err = v.load(c.viewer(s), r)
		var refused call.Error
		switch {
		case errors.Is(err, call.ErrLost):
			c.sessions.end(s)
			to := r.URL.RequestURI() // with a session that begins by itself
			if s.asked {
				to = "/login?next=" + url.QueryEscape(to)
			}
			http.Redirect(w, r, to, http.StatusSeeOther)
		case errors.As(err, &refused):
			f.Body = refusal(refused)
			c.render(w, http.StatusOK, "problem.html", f)
		default:
			c.render(w, http.StatusOK, v.template, f)
		}
	}
}

func (c *Console) fail(w http.ResponseWriter, status int, title, text string) {
	c.render(w, status, "problem.html", frame{Title: title, Body: problem{title, text}})
}

// render writes a page.
func (c *Console) render(w http.ResponseWriter, status int, name string, f frame) {
	f.Part = c.part
	body, err := c.execute(name, &f)
	if err != nil {
		c.log.Error("console: a page cannot be written", "page", name, "cause", err)
		http.Error(w, "The page cannot be written; the log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (c *Console) execute(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := c.pages.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// staticVersion is a hash of the embedded files.
func staticVersion() string {
	sum := sha256.New()
	entries, _ := static.ReadDir("static")
	for _, e := range entries {
		data, _ := static.ReadFile("static/" + e.Name())
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// serveStatic serves the embedded files. Browsers may cache them for ever, because the path contains the
// version.
func (c *Console) serveStatic(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("version") == c.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, static, "static/"+r.PathValue("file"))
}
