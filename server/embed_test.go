package server

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// openFiles counts this process' descriptors; 0 where that is not known.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// TestManyServers: of hundreds of servers, one after the other, each allocates little and leaves nothing
// behind. The bounds are about twice what a server takes.
func TestManyServers(t *testing.T) {
	const mostObjects, mostBytes = 500, 250_000
	for _, loops := range []bool{false, true} {
		srv, err := newInstance(Options{EventLoops: loops}) // what happens once in a process
		require.NoError(t, err)
		require.NoError(t, srv.Start())
		require.NoError(t, srv.Close())
		goroutines, files := runtime.NumGoroutine(), openFiles()
		const servers = 300
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range servers {
			srv, err := newInstance(Options{EventLoops: loops})
			require.NoError(t, err)
			require.NoError(t, srv.Start())
			require.NoError(t, srv.Close())
		}
		runtime.ReadMemStats(&after)
		objects, bytes := (after.Mallocs-before.Mallocs)/servers, (after.TotalAlloc-before.TotalAlloc)/servers
		t.Logf("event loops %v: each server allocates %d objects of %d bytes together", loops, objects, bytes)
		require.LessOrEqual(t, objects, uint64(mostObjects))
		require.LessOrEqual(t, bytes, uint64(mostBytes))
		eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines }, "no goroutine is left behind")
		require.Equal(t, files, openFiles(), "no descriptor is left behind")
	}
}

func TestManyServersAtOnce(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), openFiles()
	var servers []*instance
	for i := range 100 {
		srv, err := newInstance(Options{EventLoops: i%2 == 0})
		require.NoError(t, err)
		require.NoError(t, srv.Start())
		servers = append(servers, srv)
	}
	var all sync.WaitGroup
	for _, srv := range servers {
		c := testkit.Dial(t, overPort(srv))
		all.Go(func() {
			v, err := c.Call("SET", "k", srv.Addr().String())
			if noError(t, err) && equal(t, "+OK", v.String()) {
				v, err = c.Call("GET", "k")
				_ = noError(t, err) && equal(t, srv.Addr().String(), v.Str)
			}
			_ = noError(t, srv.Close())
			c.Close()
		})
	}
	all.Wait()
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines }, "no goroutine is left behind")
	require.Equal(t, files, openFiles(), "no descriptor is left behind")
}

// Close while clients wait in commands, send pipelines, and do not read.
func TestCloseInTheMiddleOfThings(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			goroutines := runtime.NumGoroutine()
			srv, err := newInstance(Options{EventLoops: tr.options.EventLoops})
			require.NoError(t, err)
			require.NoError(t, srv.Start())
			dial := srv.Dial
			if !tr.pipe {
				dial = overPort(srv)
			}
			testkit.Dial(t, dial).Do("LOCK", "k", "holder")
			testkit.Dial(t, dial).Do("SET", "big", strings.Repeat("x", 1<<20))
			for i := range 10 {
				testkit.Dial(t, dial).Send("LOCK", "k", "waiter", "WAIT", "0")
				awaitParked(t, srv, i+1)
			}
			var busy sync.WaitGroup
			for range 3 {
				pipelines, deaf := testkit.Dial(t, dial), testkit.Dial(t, dial)
				busy.Go(func() {
					for {
						if _, err := pipelines.CallPipeline([][]string{{"INCR", "n"}, {"LOCK", "j", "a"}, {"UNLOCK", "j", "a"}}); err != nil {
							return
						}
					}
				})
				busy.Go(func() {
					for range 200 {
						if _, err := deaf.Conn().Write([]byte("GET big\r\n")); err != nil {
							return
						}
					}
				})
			}
			before := srv.commandsRun()
			eventually(t, func() bool { return srv.commandsRun() > before+100 }, "the clients are at work")
			begun := time.Now()
			var closers sync.WaitGroup
			for range 3 {
				closers.Go(func() { _ = noError(t, srv.Close()) })
			}
			closers.Wait()
			require.Less(t, time.Since(begun), soon)
			busy.Wait()
			select {
			case <-srv.Done():
			default:
				require.Fail(t, "Done is closed when Close has returned")
			}
			require.Zero(t, srv.ExitCode())
			eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines }, "no goroutine is left behind")
		})
	}
}

func TestLifeOfAServer(t *testing.T) {
	srv, err := newInstance(Options{})
	require.NoError(t, err)
	require.Nil(t, srv.Addr())
	_, err = srv.Dial()
	require.Equal(t, errNotRunning, err)
	require.NoError(t, srv.Start())
	require.Equal(t, errClosed, srv.Start(), "it starts once")
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close())
	require.Equal(t, errClosed, srv.Start())
	require.Equal(t, errClosed, srv.Shutdown(ShutdownOptions{}))
	_, err = srv.Dial()
	require.Equal(t, errNotRunning, err)
	_, err = overPort(srv)()
	require.Error(t, err)

	never, err := New(Options{})
	require.NoError(t, err)
	require.NoError(t, never.Close())
	require.Equal(t, errClosed, never.Start())

	// A server that was never started must not save what it has not loaded.
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), []byte("precious"), 0o644))
	never, err = New(Options{Directives: inDir(dir).Directives()})
	require.NoError(t, err)
	require.NoError(t, never.Shutdown(ShutdownOptions{Save: true}))
	left, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	require.NoError(t, err)
	require.Equal(t, "precious", string(left))
}

func TestShutdownSaves(t *testing.T) {
	dir := t.TempDir()
	srv := start(t, Options{Directives: inDir(dir).Directives()})
	c := client(t, srv)
	c.Do("SET", "k", "v")
	c.Do("LOCK", "l", "o", "PX", "60000")
	require.NoError(t, srv.Shutdown(ShutdownOptions{Save: true}))
	<-srv.Done()
	awaitClosed(t, c.Conn())
	again := client(t, start(t, Options{Directives: inDir(dir).Directives()}))
	require.Equal(t, "v", again.Do("GET", "k").Str)
	require.EqualValues(t, 1, again.Do("UNLOCK", "l", "o").Int)
}

// TestReady: a server says whether it serves, and why not.
func TestReady(t *testing.T) {
	srv, err := newInstance(Options{Directives: inDir(t.TempDir()).Directives()})
	require.NoError(t, err)
	require.Equal(t, errNotRunning, srv.Ready())
	require.NoError(t, srv.Start())
	require.NoError(t, srv.Ready())
	srv.life.Lock()
	srv.state = stateLoading
	srv.life.Unlock()
	require.Equal(t, errLoading, srv.Ready())
	srv.life.Lock()
	srv.state = stateRunning
	srv.life.Unlock()
	srv.executor.shutdown.enter(PhaseEnding)
	require.Equal(t, errStopping, srv.Ready())
	srv.executor.shutdown.enter(PhaseStaying)
	require.NoError(t, srv.Ready())
	srv.executor.Do(func() { srv.executor.Failed = errNotRunning })
	require.Equal(t, errDamaged, srv.Ready())
	require.NoError(t, srv.Close())
	require.Equal(t, errStopping, srv.Ready())
}
