package server

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/audit"
)

// failure is a line about logins that failed.
type failure struct {
	Msg, User, Address string
	More               int
	Names              []string
}

// failuresLog is a log with a clock that the test moves, and a function that returns the lines since its last
// call.
func failuresLog(t *testing.T) (l *audit.Log, now *time.Time, take func() []failure) {
	t.Helper()
	at := time.Unix(6_000_000, 0)
	var text strings.Builder
	l = &audit.Log{Server: slog.New(slog.NewTextHandler(io.Discard, nil)), Operators: slog.New(slog.NewJSONHandler(&text, nil)), Now: func() time.Time { return at }}
	return l, &at, func() (lines []failure) {
		for line := range strings.Lines(text.String()) {
			var f failure
			require.NoError(t, json.Unmarshal([]byte(line), &f), line)
			lines = append(lines, f)
		}
		text.Reset()
		return lines
	}
}

// TestFailedLoginsShareLines: guesses of one address have two lines a minute, whatever names they try. The
// lines say from where, how many, and which names.
func TestFailedLoginsShareLines(t *testing.T) {
	l, now, take := failuresLog(t)
	guess := func(addr, name string) { l.FailedLogin(audit.Client{Addr: addr}, []byte(name)) }
	for i := range 100_000 {
		if i%2_000 == 1_999 { // the server's ticker
			*now = now.Add(time.Second)
			l.CountAttempts()
		}
		guess(fmt.Sprintf("10.0.0.3:%d", 1000+i%5000), fmt.Sprintf("invented%d", i))
	}
	guess("10.0.0.4:1", "bob")
	require.Equal(t, []failure{{"failed-login", "invented0", "10.0.0.3:1000", 0, nil}, {"failed-login", "bob", "10.0.0.4:1", 0, nil}}, take())
	*now = now.Add(9 * time.Second)
	l.CountAttempts()
	require.Empty(t, take(), "the minute is not over")
	*now = now.Add(time.Second)
	l.CountAttempts()
	names := []string{"invented0", "invented1", "invented2", "invented3", "invented4", "invented5", "invented6", "invented7", "invented8", "invented9"}
	require.Equal(t, []failure{{"failed-login", "invented99999", "10.0.0.3:5999", 99_999, names}}, take())

	guess("10.0.0.3:7", "eve")
	guess("10.0.0.3:8", "mallory")
	require.Equal(t, []failure{{"failed-login", "eve", "10.0.0.3:7", 0, nil}}, take(), "the next minute begins with a line")
	l.Close()
	require.Equal(t, []failure{{"failed-login", "mallory", "10.0.0.3:8", 1, []string{"eve", "mallory"}}}, take(), "nothing is left at the end")
}

// TestFailedLoginsOfManyAddresses: the addresses of one network of IPv6 are one, and many addresses do not
// fill the file either. All attempts are counted.
func TestFailedLoginsOfManyAddresses(t *testing.T) {
	l, now, take := failuresLog(t)
	for i := range 1000 {
		l.FailedLogin(audit.Client{Addr: fmt.Sprintf("[2001:db8::%x]:1", i+1)}, []byte("bob"))
	}
	require.Len(t, take(), 1)
	for i := range 1000 {
		l.FailedLogin(audit.Client{Addr: fmt.Sprintf("10.0.%d.%d:1", i/250, i%250)}, []byte("bob"))
	}
	require.Len(t, take(), 499)
	*now = now.Add(time.Minute)
	l.CountAttempts()
	lines := take()
	require.Len(t, lines, 2)
	require.Equal(t, 999, lines[0].More)
	require.Equal(t, failure{Msg: "attempts", More: 1000 - 499}, lines[1])
}
