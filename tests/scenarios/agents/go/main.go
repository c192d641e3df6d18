//go:build unix

// Command go is the agent of the client package for Go. It carries out the requests of tests/scenarios with
// package client.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
	"lockserver/tests/scenarios"
)

func main() {
	a := &agent{out: bufio.NewWriter(os.Stdout), named: make(map[string]*client.Lock), waits: make(map[string]context.CancelFunc)}
	go a.watchTimer()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q scenarios.Request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			panic(err)
		}
		go func() {
			answer := a.do(q)
			answer.ID, answer.At = q.ID, scenarios.Now()
			a.write(answer)
		}()
	}
}

// agent holds the state that the requests have created.
type agent struct {
	writing sync.Mutex
	out     *bufio.Writer

	mu    sync.Mutex
	locks *client.Client
	tasks map[string]context.Context
	named map[string]*client.Lock
	waits map[string]context.CancelFunc

	resting  atomic.Bool
	workers  sync.WaitGroup
	sections atomic.Int64
	noAnswer atomic.Int64
	stalled  atomic.Int64
}

func (a *agent) write(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = a.out.Write(append(text, '\n'))
	_ = a.out.Flush()
}

func (a *agent) tell(event, key string, token int64, reason string) {
	a.write(scenarios.Event{Event: event, At: scenarios.Now(), Key: key, Token: token, Reason: reason})
}

// watchTimer measures the delay of this program's timers.
func (a *agent) watchTimer() {
	const step = 20 * time.Millisecond
	for {
		began := scenarios.Now()
		time.Sleep(step)
		if late := scenarios.Now() - began - step.Microseconds(); late > a.stalled.Load() {
			a.stalled.Store(late)
		}
	}
}

func (a *agent) do(q scenarios.Request) scenarios.Answer {
	switch q.Do {
	case "connect":
		return failed(a.connect(q))
	case "acquire":
		return a.acquire(q)
	case "cancel":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.waits[q.As]()
	case "release":
		l := a.lock(q.As)
		for key, token := range l.Tokens() {
			a.tell(scenarios.Out, key, token, "")
		}
		return failed(l.Unlock(context.Background()))
	case "guard":
		words := make([]any, len(q.Words))
		for i, word := range q.Words {
			words[i] = word
		}
		_, err := a.lock(q.As).Guard(context.Background(), words...)
		return failed(err)
	case "check":
		return failed(context.Cause(a.lock(q.As).Context()))
	case "work":
		a.resting.Store(false)
		a.sections.Store(0)
		a.noAnswer.Store(0)
		for range q.Workers {
			a.workers.Go(func() { a.work(q) })
		}
	case "count":
		return a.counts()
	case "rest":
		a.resting.Store(true)
		a.workers.Wait()
		return a.counts()
	case "stalled":
		return scenarios.Answer{Stalled: a.stalled.Swap(0)}
	case "close":
		a.client().Close()
	default:
		return scenarios.Answer{Error: "other", Text: "there is no " + q.Do}
	}
	return scenarios.Answer{}
}

func (a *agent) counts() scenarios.Answer {
	return scenarios.Answer{Sections: int(a.sections.Load()), NoAnswer: int(a.noAnswer.Load())}
}

func (a *agent) client() *client.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.locks
}

func (a *agent) lock(as string) *client.Lock {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.named[as]
}

func (a *agent) connect(q scenarios.Request) (err error) {
	settings := []client.Setting{client.Name("go"), client.Timeout(time.Duration(q.TimeoutMS) * time.Millisecond),
		client.Observe(client.Hooks{Lost: func(lost *client.LostError) { a.tell(scenarios.Lost, lost.Key, lost.Token, lost.Reason) }})}
	var c *client.Client
	switch q.Kind {
	case "cluster":
		c, err = client.NewCluster(redis.NewClusterClient(&redis.ClusterOptions{Addrs: q.Addrs, ClusterStateReloadInterval: time.Second}), settings...)
	case "sentinel":
		c, err = client.New(redis.NewFailoverClient(&redis.FailoverOptions{MasterName: q.Master, SentinelAddrs: q.Addrs}), settings...)
	default:
		c, err = client.New(redis.NewClient(&redis.Options{Addr: q.Addrs[0]}), settings...)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.locks, a.tasks = c, make(map[string]context.Context)
	return err
}

// options returns the options of a request.
func options(q scenarios.Request) (list []client.Option) {
	if q.WaitMS >= 0 {
		list = append(list, client.Wait(time.Duration(q.WaitMS)*time.Millisecond))
	}
	if q.LeaseMS > 0 {
		list = append(list, client.Lease(time.Duration(q.LeaseMS)*time.Millisecond))
	}
	return list
}

// task returns the context of the locks that share an owner, by the runner's name for it.
func (a *agent) task(name string) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case name == "":
		return context.Background()
	case a.tasks[name] == nil:
		a.tasks[name] = a.locks.Task(context.Background())
	}
	return a.tasks[name]
}

func (a *agent) acquire(q scenarios.Request) scenarios.Answer {
	ctx, cancel := context.WithCancel(a.task(q.Task))
	if q.DeadlineMS > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(q.DeadlineMS)*time.Millisecond)
	}
	a.mu.Lock()
	a.waits[q.As] = cancel
	a.mu.Unlock()
	l, err := a.client().Lock(ctx, q.Key, options(q)...)
	if err != nil {
		return failed(err)
	}
	a.tell(scenarios.In, q.Key, l.Token(), "")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.named[q.As] = l
	return scenarios.Answer{Token: l.Token()}
}

// work acquires locks until the request rest.
func (a *agent) work(q scenarios.Request) {
	for !a.resting.Load() {
		key := q.Keys[rand.IntN(len(q.Keys))]
		l, err := a.client().Lock(context.Background(), key, options(q)...)
		if err != nil {
			a.unanswered("Lock", err)
			continue
		}
		if !q.Quiet {
			a.tell(scenarios.In, key, l.Token(), "")
			if _, err = l.Guard(context.Background(), "SET", "written:"+key, strconv.FormatInt(l.Token(), 10)); err != nil {
				a.unanswered("Guard", err)
			}
			a.tell(scenarios.Out, key, l.Token(), "")
		}
		if err = l.Unlock(context.Background()); err != nil {
			a.unanswered("Unlock", err)
		}
		a.sections.Add(1)
	}
}

// unanswered counts an error that a broken connection explains, and reports any other error. A loss is an
// event.
func (a *agent) unanswered(what string, err error) {
	switch is := failed(err); is.Error {
	case "no_connection", "lost":
		a.noAnswer.Add(1)
		time.Sleep(5 * time.Millisecond)
	default:
		a.tell(scenarios.Failed, "", 0, fmt.Sprintf("%s: %s: %s", what, is.Error, is.Text))
		time.Sleep(100 * time.Millisecond)
	}
}

// failed returns the answer for an error.
func failed(err error) (a scenarios.Answer) {
	if err == nil {
		return a
	}
	a.Error, a.Text = "other", err.Error()
	var lost *client.LostError
	var reply client.ReplyError
	switch {
	case errors.As(err, &lost):
		a.Error, a.Reason = "lost", lost.Reason
	case errors.Is(err, client.ErrReleased):
		a.Error = "released"
	case errors.Is(err, client.ErrClosed):
		a.Error = "closed"
	case errors.Is(err, client.ErrNotAcquired):
		a.Error = "not_acquired"
	case errors.Is(err, client.ErrDeadlock):
		a.Error = "deadlock"
	case errors.Is(err, client.ErrNoAnswer):
		a.Error = "no_connection"
	case errors.Is(err, context.DeadlineExceeded):
		a.Error = "deadline"
	case errors.Is(err, context.Canceled):
		a.Error = "cancelled"
	case !errors.As(err, &reply) || isElsewhere(string(reply)): // an error of the connection
		a.Error = "no_connection"
	}
	return a
}

// isElsewhere reports whether a reply says that the command did not run, because this server is not the
// leader.
func isElsewhere(reply string) bool {
	for _, word := range []string{"MOVED ", "CLUSTERDOWN ", "MASTERDOWN ", "READONLY ", "LOADING "} {
		if len(reply) > len(word) && reply[:len(word)] == word {
			return true
		}
	}
	return false
}
