package clients

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"
)

// failures is asynq's logger: what it calls an error fails the test, unless the test is about errors.
type failures struct {
	t        *testing.T
	expected bool
}

func (failures) Debug(...any) {}
func (failures) Info(...any)  {}
func (failures) Warn(...any)  {}
func (f failures) Error(args ...any) {
	if !f.expected {
		f.t.Error(args...)
	}
}
func (f failures) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// worked lists the tasks that the handler has got: type and payload of each, in order.
type worked struct {
	mu   sync.Mutex
	list []string
}

func (w *worked) record(task *asynq.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, task.Type()+" "+string(task.Payload()))
}

func (w *worked) count(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.list {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// farm is a server with asynq's client, inspector and workers.
type farm struct {
	opt     asynq.RedisClientOpt
	client  *asynq.Client
	inspect *asynq.Inspector
	worked  *worked
}

func newFarm(t *testing.T) *farm {
	t.Parallel() // they mostly wait for asynq's own timers
	s := start(t)
	f := &farm{opt: asynq.RedisClientOpt{Addr: s.addr, ReadTimeout: patience}, worked: &worked{}}
	f.client, f.inspect = asynq.NewClient(f.opt), asynq.NewInspector(f.opt)
	t.Cleanup(func() {
		_ = f.client.Close()
		_ = f.inspect.Close()
	})
	return f
}

func (f *farm) enqueue(t *testing.T, kind, payload string, opts ...asynq.Option) *asynq.TaskInfo {
	t.Helper()
	info, err := f.client.EnqueueContext(within(t), asynq.NewTask(kind, []byte(payload)), opts...)
	require.NoError(t, err)
	return info
}

// work starts workers; handle may be nil.
func (f *farm) work(t *testing.T, change func(*asynq.Config), handle func(context.Context, *asynq.Task) error) {
	t.Helper()
	config := asynq.Config{Concurrency: 4, Logger: failures{t: t}, LogLevel: asynq.ErrorLevel, ShutdownTimeout: time.Second,
		TaskCheckInterval: 200 * time.Millisecond, DelayedTaskCheckInterval: 200 * time.Millisecond,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Millisecond }}
	if change != nil {
		change(&config)
	}
	srv := asynq.NewServer(f.opt, config)
	require.NoError(t, srv.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		f.worked.record(task)
		if handle != nil {
			return handle(ctx, task)
		}
		return nil
	})))
	t.Cleanup(srv.Shutdown)
}

func TestAsynqTasks(t *testing.T) {
	f := newFarm(t)
	for i := range 50 {
		f.enqueue(t, "now", fmt.Sprint(i))
	}
	f.enqueue(t, "later", "x", asynq.ProcessIn(500*time.Millisecond))
	f.enqueue(t, "far", "x", asynq.ProcessIn(time.Hour), asynq.TaskID("far-away"))
	kept := f.enqueue(t, "kept", "x", asynq.Retention(time.Hour), asynq.Queue("critical"))
	f.enqueue(t, "once", "x", asynq.Unique(time.Hour))
	_, err := f.client.Enqueue(asynq.NewTask("once", []byte("x")), asynq.Unique(time.Hour))
	require.ErrorIs(t, err, asynq.ErrDuplicateTask)
	_, err = f.client.Enqueue(asynq.NewTask("far", nil), asynq.TaskID("far-away"))
	require.ErrorIs(t, err, asynq.ErrTaskIDConflict)
	queues, err := f.inspect.Queues()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"default", "critical"}, queues)
	info, err := f.inspect.GetQueueInfo("default")
	require.NoError(t, err)
	require.Equal(t, []int{51, 2, 53}, []int{info.Pending, info.Scheduled, info.Size})
	require.Positive(t, info.MemoryUsage)

	f.work(t, func(c *asynq.Config) { c.Queues = map[string]int{"critical": 6, "default": 1} }, nil)
	eventually(t, func() bool {
		return f.worked.count("now") == 50 && f.worked.count("later") == 1 && f.worked.count("once") == 1 && f.worked.count("kept") == 1
	}, "all are done")
	require.Zero(t, f.worked.count("far"))
	eventually(t, func() bool {
		got, err := f.inspect.GetTaskInfo("critical", kept.ID)
		return err == nil && got.State == asynq.TaskStateCompleted
	}, "it is kept as completed")
	require.NoError(t, f.inspect.RunTask("default", "far-away"))
	eventually(t, func() bool { return f.worked.count("far") == 1 }, "it was run before its time")
	f.enqueue(t, "once", "x", asynq.Unique(time.Hour))
	eventually(t, func() bool { return f.worked.count("once") == 2 }, "again, as the first is done")
	eventually(t, func() bool {
		history, err := f.inspect.History("default", 1)
		return err == nil && len(history) == 1 && history[0].Processed == 54 && history[0].Failed == 0
	}, "the day's statistics are right")
	servers, err := f.inspect.Servers()
	require.NoError(t, err)
	require.Len(t, servers, 1)
}

func TestAsynqFailures(t *testing.T) {
	f := newFarm(t)
	var mu sync.Mutex
	left := map[string]int{"twice": 2, "always": 1 << 30}
	running := make(chan struct{})
	cancelled := make(chan struct{})
	f.work(t, func(c *asynq.Config) { c.Logger = failures{t: t, expected: true} }, func(ctx context.Context, task *asynq.Task) error {
		switch task.Type() {
		case "skip":
			return fmt.Errorf("hopeless: %w", asynq.SkipRetry)
		case "long":
			close(running)
			<-ctx.Done()
			close(cancelled)
			return asynq.SkipRetry
		case "panic":
			panic("a handler's bug")
		}
		mu.Lock()
		defer mu.Unlock()
		if left[task.Type()] > 0 {
			left[task.Type()]--
			return errors.New("not yet")
		}
		return nil
	})
	f.enqueue(t, "twice", "", asynq.MaxRetry(5))
	always := f.enqueue(t, "always", "", asynq.MaxRetry(2))
	skip := f.enqueue(t, "skip", "", asynq.MaxRetry(5))
	f.enqueue(t, "panic", "", asynq.MaxRetry(0))
	long := f.enqueue(t, "long", "")
	eventually(t, func() bool { return f.worked.count("twice") == 3 && f.worked.count("always") == 3 }, "retries")
	<-running
	require.NoError(t, f.inspect.CancelProcessing(long.ID))
	<-cancelled
	eventually(t, func() bool {
		list, err := f.inspect.ListArchivedTasks("default")
		return err == nil && len(list) == 4
	}, "what failed for good is archived")
	got, err := f.inspect.GetTaskInfo("default", always.ID)
	require.NoError(t, err)
	require.Equal(t, asynq.TaskStateArchived, got.State)
	require.Equal(t, "not yet", got.LastErr)
	require.Equal(t, 2, got.Retried)
	require.NoError(t, f.inspect.DeleteTask("default", skip.ID))
	mu.Lock()
	left["always"] = 0
	mu.Unlock()
	require.NoError(t, f.inspect.RunTask("default", always.ID))
	eventually(t, func() bool { return f.worked.count("always") == 4 }, "run again by hand")
	n, err := f.inspect.DeleteAllArchivedTasks("default")
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestAsynqPause(t *testing.T) {
	f := newFarm(t)
	f.enqueue(t, "a", "1")
	require.NoError(t, f.inspect.PauseQueue("default"))
	f.work(t, func(c *asynq.Config) { c.Queues = map[string]int{"default": 1, "other": 1} }, nil)
	f.enqueue(t, "b", "1", asynq.Queue("other"))
	eventually(t, func() bool { return f.worked.count("b") == 1 }, "the other queue goes on")
	require.Zero(t, f.worked.count("a"))
	info, err := f.inspect.GetQueueInfo("default")
	require.NoError(t, err)
	require.True(t, info.Paused)
	require.NoError(t, f.inspect.UnpauseQueue("default"))
	eventually(t, func() bool { return f.worked.count("a") == 1 }, "it goes on")
	require.NoError(t, f.inspect.DeleteQueue("default", true))
}

func TestAsynqGroups(t *testing.T) {
	f := newFarm(t)
	for i := range 5 {
		f.enqueue(t, "mail", fmt.Sprint(i), asynq.Group("alice"))
	}
	f.enqueue(t, "mail", "9", asynq.Group("bob"))
	groups, err := f.inspect.Groups("default")
	require.NoError(t, err)
	require.Len(t, groups, 2)
	f.work(t, func(c *asynq.Config) {
		c.GroupGracePeriod, c.GroupMaxSize = time.Second, 5
		c.GroupAggregator = asynq.GroupAggregatorFunc(func(group string, tasks []*asynq.Task) *asynq.Task {
			var all []string
			for _, task := range tasks {
				all = append(all, string(task.Payload()))
			}
			sort.Strings(all)
			return asynq.NewTask("digest", []byte(group+":"+strings.Join(all, ",")))
		})
	}, nil)
	eventually(t, func() bool {
		return f.worked.count("digest alice:0,1,2,3,4") == 1 && f.worked.count("digest bob:9") == 1
	}, "each group is one task")
}

func TestAsynqScheduler(t *testing.T) {
	f := newFarm(t)
	f.work(t, nil, nil)
	scheduler := asynq.NewScheduler(f.opt, &asynq.SchedulerOpts{Logger: failures{t: t}, LogLevel: asynq.ErrorLevel})
	_, err := scheduler.Register("@every 1s", asynq.NewTask("tick", nil))
	require.NoError(t, err)
	require.NoError(t, scheduler.Start())
	defer scheduler.Shutdown()
	eventually(t, func() bool { return f.worked.count("tick") >= 2 }, "it ticks")
	eventually(t, func() bool {
		entries, err := f.inspect.SchedulerEntries()
		return err == nil && len(entries) == 1 && entries[0].Spec == "@every 1s"
	}, "the inspector knows it")
}
