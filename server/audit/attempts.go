package audit

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Attempts of clients: logins that succeed or fail, and commands that ACL refuses. A client can make millions
// of each, so attempts that are alike share two lines: the first at once, and one at the end of a period that
// counts the others. A period is a second, and a minute for logins that fail: clients without a password can
// cause those, and may not push other lines out of the file.

const (
	// mostAlike is how many different attempts of a period have lines of their own. The others share one.
	mostAlike = 500
	// mostNames is how many of the names that one address tried in a period are written.
	mostNames = 10
	// failuresSeconds is the period of logins that fail.
	failuresSeconds = 60
)

// alike is what attempts that share a line have in common. A client chooses none of it freely. from is the
// address of a login that failed.
type alike struct{ event, user, command, reason, from string }

// counted is what a period has of attempts that are alike.
type counted struct {
	alike
	more   int      // since the first one, which has its line
	last   Client   // the client of the last one
	detail []any    // of the last one
	names  []string // those that were tried, for logins that failed; at most mostNames
	write  written  // to the server's log; nil: it has lines of its own
}

// written writes a line about attempts to the server's log.
type written func(c *Client, attrs []any)

// attempts are those of a period. The zero value is ready.
type attempts struct {
	period int64
	of     []counted
	at     map[alike]int // where in of
	rest   int           // beyond mostAlike
}

// Refusal is a command that ACL refused.
type Refusal struct {
	// Command is the command's full name, Reason what was missing: the right to a command, key, channel or
	// database. Context is where the command stood, as in ACL LOG.
	Command, Reason, Context string
	// Object is the key, channel or database; nil: the command itself.
	Object []byte
}

// Refused logs that ACL refused a command of the client.
func (l *Log) Refused(c Client, r Refusal) {
	detail := []any{"command", r.Command, "reason", r.Reason, "context", r.Context}
	if r.Object != nil {
		detail = append(detail, "object", cutText(r.Object))
	}
	l.attempt(alike{event: "refused", user: c.User, command: r.Command, reason: r.Reason}, c, detail, l.serverRefused)
}

func (l *Log) serverRefused(c *Client, attrs []any) {
	if suppressed, ok := l.refusals.Allow(l.now(), mostLoginLines); ok {
		l.Server.Info("a command was refused: its user lacks the right", append(attrs, c.attrs(suppressed)...)...)
	}
}

// Login logs that the client has become its user. by is how: "password" or "certificate".
func (l *Log) Login(c Client, by string) {
	l.attempt(alike{event: "login", user: c.User, reason: by}, c, []any{"by", by}, l.serverLogin)
}

// serverLogin writes a line for those who look for it: programs log in all the time.
func (l *Log) serverLogin(c *Client, attrs []any) {
	if !l.Server.Enabled(context.Background(), LevelVerbose) {
		return
	}
	if suppressed, ok := l.entries.Allow(l.now(), mostLoginLines); ok {
		l.Server.Log(context.Background(), LevelVerbose, "a client has logged in", append(attrs, c.attrs(suppressed)...)...)
	}
}

// attempt writes a line, or counts the attempt for the line at the end of the second.
func (l *Log) attempt(kind alike, c Client, detail []any, write written) {
	l.startPeriod(&l.attempts, 1)
	if of := l.attempts.add(kind, c, detail); of != nil {
		of.write = write
		l.toOperators(kind.event, &c, c.User, detail...)
		write(&c, detail)
	}
}

// FailedLogin logs that a client could not log in by a name.
func (l *Log) FailedLogin(c Client, name []byte) {
	c.User = cutText(name)
	l.startPeriod(&l.failures, failuresSeconds)
	kind := alike{event: "failed-login", from: network(c.Addr)}
	if l.failures.add(kind, c, nil) != nil {
		l.toOperators(kind.event, &c, c.User)
	}
	l.failures.named(kind, c.User)
	if suppressed, ok := l.logins.Allow(l.now(), mostLoginLines); ok {
		l.Server.Info("a client could not log in: wrong name or password, or the user is off", c.attrs(suppressed)...)
	}
}

// network is the part of a client's address that it cannot choose freely: all of IPv4, half of IPv6.
func network(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, err := netip.ParseAddr(host)
	if ip = ip.Unmap(); err != nil || !ip.Is6() {
		return host
	}
	prefix, _ := ip.WithZone("").Prefix(64)
	return prefix.String()
}

// add counts an attempt. It returns one that is the first of its kind in the period.
func (a *attempts) add(kind alike, c Client, detail []any) (first *counted) {
	if i, ok := a.at[kind]; ok {
		of := &a.of[i]
		of.more++
		of.last, of.detail = c, detail
		return nil
	}
	if len(a.of) >= mostAlike {
		a.rest++
		return nil
	}
	if a.at == nil {
		a.at = make(map[alike]int)
	}
	a.at[kind] = len(a.of)
	a.of = append(a.of, counted{alike: kind})
	return &a.of[len(a.of)-1]
}

// named adds a name that was tried.
func (a *attempts) named(kind alike, name string) {
	i, ok := a.at[kind]
	if !ok {
		return
	}
	if of := &a.of[i]; len(of.names) < mostNames && !slices.Contains(of.names, name) {
		of.names = append(of.names, name)
	}
}

// now is the time by which lines are counted.
func (l *Log) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// startPeriod ends the period before, if the time is in the next one.
func (l *Log) startPeriod(a *attempts, seconds int64) {
	if period := l.now().Unix() / seconds; period != a.period {
		l.count(a)
		a.period = period
	}
}

// CountAttempts writes the lines that count the attempts of a period that is over. The server calls it once a
// second.
func (l *Log) CountAttempts() {
	l.count(&l.attempts)
	l.startPeriod(&l.failures, failuresSeconds)
}

// Close writes the lines that count the attempts up to now.
func (l *Log) Close() {
	l.count(&l.attempts)
	l.count(&l.failures)
}

// count writes the lines that count attempts, and forgets those.
func (l *Log) count(a *attempts) {
	for i := range a.of {
		of := &a.of[i]
		if of.more == 0 {
			continue
		}
		detail := append(of.detail, "more", of.more)
		if of.names != nil {
			detail = append(detail, "names", of.names)
		}
		l.toOperators(of.event, &of.last, of.last.User, detail...)
		if of.write != nil {
			of.write(&of.last, detail)
		}
	}
	if a.rest > 0 && l.Operators != nil {
		l.Operators.Info("attempts", slog.Int("more", a.rest))
	}
	clear(a.of)
	clear(a.at)
	a.of, a.rest = a.of[:0], 0
}
