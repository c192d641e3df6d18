package console

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"lockserver/internal/call"
)

// The limits of logins: the number of failures within loginWindow, from one address and from all addresses.
const (
	failuresEach = 5
	failuresAll  = 50
	loginWindow  = time.Minute
)

// attempts counts logins that have failed, and logins that are not decided yet. So a client gets no more
// guesses by many logins at the same time.
type attempts struct {
	now   func() time.Time
	mu    sync.Mutex
	begun time.Time
	all   int
	from  map[netip.Addr]int // failuresAll at most
}

// reserve counts an attempt from an address before its password is checked. If the address has no attempt
// left, takeBack is nil. The caller calls takeBack if the login has not failed.
func (a *attempts) reserve(from netip.Addr) (takeBack func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if now.Sub(a.begun) > loginWindow {
		a.begun, a.all, a.from = now, 0, make(map[netip.Addr]int)
	}
	if a.all >= failuresAll || a.from[from] >= failuresEach {
		return nil
	}
	a.all++
	a.from[from]++
	begun := a.begun
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.begun.Equal(begun) {
			a.all--
			if a.from[from]--; a.from[from] == 0 {
				delete(a.from, from)
			}
		}
	}
}

// loginCookie has the token of the login form, because there is no session yet that could have it.
const loginCookie = "lockserver_login"

// loginForm is the content of the login page.
type loginForm struct {
	Token, User, Problem, Next string
}

// showLogin shows the form.
func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	c.writeLogin(w, http.StatusOK, loginForm{Next: r.URL.Query().Get("next")})
}

func (c *Console) writeLogin(w http.ResponseWriter, status int, form loginForm) {
	form.Token, form.Next = rand.Text(), ownPath(form.Next)
	setCookie(w, loginCookie, form.Token)
	c.render(w, status, "login.html", frame{Title: "Log in", Body: form})
}

// ownPath prevents a redirection to another site after a login.
func ownPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n") {
		return "/locks"
	}
	return path
}

// takeLogin logs a user of the ACL in.
func (c *Console) takeLogin(w http.ResponseWriter, r *http.Request) {
	form := loginForm{User: cmp.Or(r.PostFormValue("user"), "default"), Next: r.PostFormValue("next")}
	token, err := r.Cookie(loginCookie)
	if err != nil || subtle.ConstantTimeCompare([]byte(token.Value), []byte(r.PostFormValue("token"))) != 1 {
		form.Problem = "This form was too old. Please try again."
		c.writeLogin(w, http.StatusForbidden, form)
		return
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	from := peer.Addr().Unmap()
	takeBack := c.attempts.reserve(from)
	if takeBack == nil {
		w.Header().Set("Retry-After", "60")
		form.Problem = "Too many logins have failed. Please wait a minute."
		c.writeLogin(w, http.StatusTooManyRequests, form)
		return
	}
	conn, err := c.authenticate(r, form.User, r.PostFormValue("password"))
	var refused call.Error
	switch {
	case errors.As(err, &refused):
		c.audit("console-failed-login", form.User, from.String())
		c.log.Warn("console: a login was refused", "user", form.User, "addr", from.String())
		form.Problem = loginProblem(refused)
		c.writeLogin(w, http.StatusUnauthorized, form)
		return
	case err != nil:
		takeBack()
		form.Problem = "The server does not answer."
		c.writeLogin(w, http.StatusServiceUnavailable, form)
		return
	}
	takeBack()
	if old := c.sessions.find(r); old != nil {
		c.sessions.end(old)
	}
	s := c.sessions.begin(conn, form.User, true)
	c.audit("console-login", form.User, from.String())
	setCookie(w, sessionCookie, s.id)
	setCookie(w, loginCookie, "")
	http.Redirect(w, r, ownPath(form.Next), http.StatusSeeOther)
}

// errProtected is the reply to a request that may not log in as the user default without a password.
const errProtected call.Error = "the user default has no password, and may log in only on the server's own machine, with console-auto-login"

// authenticate logs in. The user default without a password is only for requests that AutoLogin accepts, as
// in protected mode.
func (c *Console) authenticate(r *http.Request, user, password string) (*call.Conn, error) {
	if user == "default" && !c.logsInByItself(r) {
		open, err := logIn(c.shards, "", "")
		if err == nil {
			open.Close()
			return nil, errProtected
		}
	}
	return logIn(c.shards, user, password)
}

func loginProblem(refused call.Error) string {
	if strings.HasPrefix(string(refused), "WRONGPASS") {
		return "The name or the password is wrong, or the user is disabled."
	}
	return "The server says: " + string(refused)
}

// takeLogout ends the session.
func (c *Console) takeLogout(w http.ResponseWriter, r *http.Request, s *session) {
	c.sessions.end(s)
	setCookie(w, sessionCookie, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
