package console

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"lockserver/internal/call"
)

// The limits of sessions. Above mostSessions a new session replaces the session that was unused for longest.
const (
	mostSessions = 64
	mostStreams  = 8 // of a session at a time
	idleLimit    = 30 * time.Minute
	ageLimit     = 12 * time.Hour
)

const sessionCookie = "lockserver_console"

// session is one browser that is logged in.
type session struct {
	id, token string // for the cookie, and for forms
	user      string
	asked     bool // the user logged in, and may log out
	conn      *call.Conn
	begun     time.Time
	// used and streams are guarded by sessions.mu.
	used    time.Time
	streams int
}

// ownsToken reports whether a posted form belongs to the session.
func (s *session) ownsToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// sessions are all sessions of a console.
type sessions struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*session // by their ids
}

// begin makes a session for a connection that is logged in.
func (ss *sessions) begin(c *call.Conn, user string, asked bool) *session {
	now := ss.now()
	s := &session{id: rand.Text(), token: rand.Text(), user: user, asked: asked, conn: c, begun: now, used: now}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.expire(now)
	if len(ss.of) >= mostSessions {
		var oldest *session
		for _, other := range ss.of {
			if oldest == nil || other.used.Before(oldest.used) {
				oldest = other
			}
		}
		ss.drop(oldest)
	}
	ss.of[s.id] = s
	return s
}

// expire ends the sessions that have expired.
func (ss *sessions) expire(now time.Time) {
	for _, s := range ss.of {
		if now.Sub(s.used) > idleLimit || now.Sub(s.begun) > ageLimit {
			ss.drop(s)
		}
	}
}

func (ss *sessions) drop(s *session) {
	delete(ss.of, s.id)
	s.conn.Close()
}

// end ends a session.
func (ss *sessions) end(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.drop(s)
}

// find returns the session of a request, nil if there is no session.
func (ss *sessions) find(r *http.Request) *session {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.expire(ss.now())
	s := ss.of[cookie.Value]
	if s != nil {
		s.used = ss.now()
	}
	return s
}

// stream counts a stream of a session until the returned function is called; false if there are too many
// streams.
func (ss *sessions) stream(s *session) (end func(), ok bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.streams >= mostStreams {
		return nil, false
	}
	s.streams++
	return func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		s.streams--
	}, true
}

// alive reports whether a session has not ended. It counts as a use of the session.
func (ss *sessions) alive(s *session) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	now := ss.now()
	s.used = now
	ss.expire(now)
	return ss.of[s.id] == s
}

// logIn logs a connection in. Without a name it is the user default, as for a client that has not logged in.
// That works if this user needs no password.
func logIn(shards []Backend, name, password string) (*call.Conn, error) {
	c, err := connect(shards)
	if err != nil {
		return nil, err
	}
	hello := []string{"HELLO", "3"}
	if name != "" {
		hello = append(hello, "AUTH", name, password)
	}
	if _, err := c.Do(hello...); err != nil {
		c.Close()
		return nil, err
	}
	// Whether the user may name the connection does not matter.
	if _, err := c.All([]string{"CLIENT", "SETNAME", "console"}, []string{"CLIENT", "SETINFO", "LIB-NAME", "lockserver-console"}); err != nil {
		return nil, err
	}
	return c, nil
}

// isLocal reports whether a request comes from this machine, and from a page of the console. Another host
// name means that a foreign page has led the browser here. A proxy header means that the request comes from
// another machine. A proxy on this machine that adds no header and names the port by its address is not
// detected: AutoLogin is off for such a setup.
func isLocal(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	name := HostName(r)
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// HostName returns the host of a request, a name or an address, without the port. It is the name in the
// address of the page, whichever machine that name leads to.
func HostName(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// logsInByItself reports whether a request needs no login if the user default has no password.
func (c *Console) logsInByItself(r *http.Request) bool { return c.AutoLogin && isLocal(r) }

// current returns the session of a request. A request of this machine without a session gets a session as the
// user default, if that user has no password, as redis-cli does. nil: a login is needed.
func (c *Console) current(w http.ResponseWriter, r *http.Request) (*session, error) {
	if s := c.sessions.find(r); s != nil {
		return s, nil
	}
	if !c.logsInByItself(r) {
		return nil, nil
	}
	conn, err := logIn(c.shards, "", "")
	var refused call.Error
	switch {
	case errors.As(err, &refused):
		return nil, nil
	case err != nil:
		return nil, err
	}
	s := c.sessions.begin(conn, "default", false)
	setCookie(w, sessionCookie, s.id)
	return s, nil
}

func setCookie(w http.ResponseWriter, name, value string) {
	cookie := http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, &cookie)
}
