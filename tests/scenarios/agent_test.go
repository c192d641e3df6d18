//go:build scenarios

package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// patience is the longest time that a test waits for an event, on a busy machine.
const patience = 90 * time.Second

// agent is a process that controls a client.
type agent struct {
	name string
	t    testing.TB
	p    *testkit.Process

	mu      sync.Mutex
	rest    []byte // the last, incomplete line
	next    int
	answers map[int]chan Answer
	events  []Event
}

// command returns the command line of an agent: AGENT_GO and similar variables have the program and its
// arguments.
func command(t testing.TB, client string) []string {
	t.Helper()
	words := strings.Fields(os.Getenv("AGENT_" + strings.ToUpper(client)))
	require.NotEmpty(t, words, "AGENT_%s names no agent: use 'make scenarios'", strings.ToUpper(client))
	return words
}

// chosen returns the clients that take part: all, or those in CLIENTS.
func chosen() []string {
	if names := os.Getenv("CLIENTS"); names != "" {
		return strings.Split(names, ",")
	}
	return Clients
}

func newAgent(t testing.TB, client string) *agent {
	t.Helper()
	words := command(t, client)
	a := &agent{name: client, t: t, answers: make(map[int]chan Answer)}
	a.p = testkit.Prepare(t, testkit.Command{Program: words[0], Args: words[1:], Copy: a, Ready: func() bool { return true }})
	require.NoError(t, a.p.Launch())
	return a
}

// Write receives the output of the agent.
func (a *agent) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rest = append(a.rest, text...)
	for {
		line, rest, ok := bytes.Cut(a.rest, []byte("\n"))
		if !ok {
			return len(text), nil
		}
		a.rest = rest
		a.take(line)
	}
}

// take handles a line; the caller holds mu.
func (a *agent) take(line []byte) {
	var said struct {
		ID *int `json:"id"`
	}
	var answer Answer
	var e Event
	for _, to := range []any{&said, &answer, &e} {
		if err := json.Unmarshal(line, to); err != nil {
			e = Event{Event: Failed, Reason: fmt.Sprintf("%v: %s", err, line)}
			said.ID = nil
			break
		}
	}
	if said.ID == nil {
		e.Client = a.name
		a.events = append(a.events, e)
		return
	}
	if came := a.answers[answer.ID]; came != nil {
		came <- answer
		delete(a.answers, answer.ID)
	}
}

// send sends a request. The answer comes on the channel.
func (a *agent) send(q Request) <-chan Answer {
	a.t.Helper()
	came := make(chan Answer, 1)
	a.mu.Lock()
	a.next++
	q.ID = a.next
	a.answers[q.ID] = came
	a.mu.Unlock()
	line, err := json.Marshal(q)
	require.NoError(a.t, err)
	_, err = a.p.Input.Write(append(line, '\n'))
	require.NoError(a.t, err)
	return came
}

// answered waits for an answer. If none comes, the fault is "a call is not bounded".
func (a *agent) answered(came <-chan Answer, what string) Answer {
	a.t.Helper()
	select {
	case answer := <-came:
		return answer
	case <-a.p.Exited():
		require.Fail(a.t, "the agent has ended", "%s: %s", a.name, what)
		return Answer{}
	case <-time.After(patience):
		require.Fail(a.t, "a call is not bounded", "%s: %s", a.name, what)
		return Answer{}
	}
}

// ask sends a request and waits for the answer.
func (a *agent) ask(q Request) Answer {
	a.t.Helper()
	return a.answered(a.send(q), q.Do+" "+q.As)
}

// must is ask for a request that must succeed.
func (a *agent) must(q Request) Answer {
	a.t.Helper()
	answer := a.ask(q)
	require.Empty(a.t, answer.Error, "%s: %s %s: %s", a.name, q.Do, q.As, answer.Text)
	return answer
}

// fails is ask for a request that must fail with one of the given errors.
func (a *agent) fails(q Request, ways ...string) Answer {
	a.t.Helper()
	answer := a.ask(q)
	require.Contains(a.t, ways, answer.Error, "%s: %s %s: %s", a.name, q.Do, q.As, answer.Text)
	return answer
}

// hold acquires a lock. Its name in later requests is its key.
func (a *agent) hold(key string, leaseMS int) Answer {
	a.t.Helper()
	return a.must(Request{Do: "acquire", As: key, Key: key, WaitMS: -1, LeaseMS: leaseMS})
}

// guarded runs a command under a lock. A guarded command is sent once, so it is sent again if there is no
// answer.
func (a *agent) guarded(as string) {
	a.t.Helper()
	for end := time.Now().Add(patience); ; {
		answer := a.ask(Request{Do: "guard", As: as, Words: []string{"SET", "guarded:" + as, a.name}})
		if answer.Error == "" {
			return
		}
		require.Equal(a.t, "no_connection", answer.Error, "%s: %s: %s", a.name, as, answer.Text)
		require.True(a.t, time.Now().Before(end), "%s: no guarded command is done: %s", a.name, answer.Text)
	}
}

// happened returns a copy of the events so far.
func (a *agent) happened() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Event(nil), a.events...)
}

// lost waits until the client reports the loss of a lock, and returns the event.
func (a *agent) lost(key string, token int64) (found Event) {
	a.t.Helper()
	eventually(a.t, a.name+" reports the loss of "+key, func() bool {
		for _, e := range a.happened() {
			if e.Event == Lost && e.Key == key && e.Token == token {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func (a *agent) stop() {
	require.NoError(a.t, a.p.Signal(syscall.SIGSTOP))
	require.NoError(a.t, testkit.AwaitStopped(a.p.Pid()))
}

func (a *agent) goOn() { require.NoError(a.t, a.p.Signal(syscall.SIGCONT)) }

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "it did not come to that in %v: %s", patience, what)
	}
}
