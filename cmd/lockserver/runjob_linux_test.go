package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/tests/testkit"
)

// jobs is a directory in which commands leave files, and a server. The test moves the server's clock, so that
// no lease ends before the test says so.
type jobs struct {
	t    *testing.T
	dir  string
	addr string
	c    *testkit.Client
}

func newJobs(t *testing.T) *jobs {
	t.Helper()
	t.Parallel() // most of the time they wait
	srv, addr := startReady(t, t.TempDir(), "--test-mode", "yes")
	j := &jobs{t: t, dir: socketDir(t), addr: addr, c: srv.Client(t)}
	require.False(t, j.c.Do("TEST.CLOCK", "FREEZE").IsError())
	return j
}

// run starts `lockserver run --key job` with flags and a shell's script, in which $dir is the directory.
func (j *jobs) run(script string, flags ...string) *child {
	j.t.Helper()
	args := append([]string{"run", "--key", "job", "--addr", j.addr}, flags...)
	return runChild(j.t, testkit.Command{Program: testkit.Lockserver(j.t), Dir: j.dir, Env: []string{"REDISCLI_AUTH=", "dir=" + j.dir},
		Args: append(args, "--", "sh", "-c", script)})
}

// await waits until a command has written a whole line to a file, and returns it.
func (j *jobs) await(file string) (line string) {
	j.t.Helper()
	j.eventually(func() bool {
		text, _ := os.ReadFile(filepath.Join(j.dir, file))
		first, _, whole := strings.Cut(string(text), "\n")
		line = first
		return whole
	}, "the file "+file)
	return line
}

func (j *jobs) pid(file string) int {
	j.t.Helper()
	pid, err := strconv.Atoi(j.await(file))
	require.NoError(j.t, err)
	return pid
}

// write makes a file that a command waits for.
func (j *jobs) write(file string) {
	require.NoError(j.t, os.WriteFile(filepath.Join(j.dir, file), []byte("\n"), 0o600))
}

func (j *jobs) eventually(ok func() bool, what string) {
	j.t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		require.True(j.t, time.Now().Before(end), "waited too long for: %s", what)
	}
}

// holder is the owner of the lock, empty if there is none.
func (j *jobs) holder() string {
	v := j.c.Do("HGETALL", "job")
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if !strings.HasPrefix(v.Elems[i].Str, "$") {
			return v.Elems[i].Str
		}
	}
	return ""
}

// isDead reports whether a process has ended. A process that waits for its parent has ended, too.
func isDead(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(text), ") ")
	return err != nil || state == "" || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

func (j *jobs) awaitDead(pids ...int) {
	j.t.Helper()
	for _, pid := range pids {
		j.eventually(func() bool { return isDead(pid) }, fmt.Sprintf("the end of process %d", pid))
	}
}

// supervisorOf finds the supervisor of a runner.
func (j *jobs) supervisorOf(runner int) (pid int) {
	j.t.Helper()
	j.eventually(func() bool {
		pid = findSupervisor(runner)
		return pid != 0
	}, "a supervisor")
	return pid
}

// findSupervisor returns the supervisor of a runner, 0 if there is none.
func findSupervisor(runner int) (pid int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, _ := os.ReadFile(file)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(runner) &&
			strings.HasSuffix(string(line), "run\x00--supervisor\x00") {
			pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}

// waits is a script that writes its process and that of a child of it, and goes on for ever, SIGTERM or not.
const waits = `trap '' TERM; (while :; do sleep 0.05; done) & echo $! > $dir/child; echo $$ > $dir/pid; while :; do sleep 0.05; done`

// inTime runs a part of a test that needs the runner's lease to last at first. The part reports whether
// it has: a machine that is too slow for the lease gets a longer one.
func (j *jobs) inTime(part func(lease string) (lasted bool)) {
	j.t.Helper()
	for lease := 4 * time.Second; !part(lease.String()); lease *= 2 {
		require.Less(j.t, lease, 10*time.Minute)
		j.c.Do("DEL", "job")
		_ = os.Remove(filepath.Join(j.dir, "pid"))
		_ = os.Remove(filepath.Join(j.dir, "child"))
	}
}

// begun returns the processes of a runner that executes waits; 0 if the runner lost its lease before they
// began.
func (j *jobs) begun(p *child) (command, child int) {
	j.t.Helper()
	j.eventually(func() bool {
		_, err := os.Stat(filepath.Join(j.dir, "pid")) // the last that waits writes
		return err == nil || isLost(p)
	}, "the command's processes")
	if isLost(p) {
		require.Equal(j.t, 80, p.exit(j.t))
		return 0, 0
	}
	return j.pid("pid"), j.pid("child")
}

// isLost reports whether a runner has ended, or has lost its lock.
func isLost(p *child) bool { return p.Ended() || strings.Contains(p.Stderr.String(), "is lost") }

// endLease lets a lease pass on the server's clock.
func (j *jobs) endLease(lease string) {
	d, err := time.ParseDuration(lease)
	require.NoError(j.t, err)
	j.c.Do("TEST.CLOCK", "ADVANCE", strconv.FormatInt(d.Milliseconds(), 10))
}

// TestRunGivesTheCommand its environment, its input and output, and returns its status.
func TestRunGivesTheCommand(t *testing.T) {
	j := newJobs(t)
	p := j.run(`read line; echo "got $line"; echo err >&2; echo "$LOCKSERVER_KEY $LOCKSERVER_OWNER $LOCKSERVER_TOKEN" > $dir/env; read line; exit 7`)
	_, err := p.Input.Write([]byte("words\n"))
	require.NoError(t, err)
	env := strings.Fields(j.await("env"))
	require.Equal(t, []string{"job", j.holder(), j.c.Do("HGET", "job", "$token").Str}, env)
	require.NotEmpty(t, env[1])
	_, err = p.Input.Write([]byte("end\n"))
	require.NoError(t, err)
	require.Equal(t, 7, p.exit(t))
	require.Equal(t, []string{"got words\n", "err\n"}, []string{p.Stdout.String(), p.Stderr.String()})
	require.Empty(t, j.holder())

	p = j.run(`kill -KILL $$`) // kill -9 of the command
	require.Equal(t, 128+9, p.exit(t))
	require.Empty(t, j.holder())
}

// isIgnored says whether a program that is started now ignores a signal. signal.Ignored does not know it any
// more when a test has asked for the signal and stopped.
func isIgnored(t *testing.T, number syscall.Signal) bool {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, mask, found := strings.Cut(string(status), "\nSigIgn:\t")
	require.True(t, found)
	mask, _, _ = strings.Cut(mask, "\n")
	ignored, err := strconv.ParseUint(mask, 16, 64)
	require.NoError(t, err)
	return ignored>>(number-1)&1 == 1
}

// TestRunPassesSignalsOn, those that end programs to the children of a shell as well.
func TestRunPassesSignalsOn(t *testing.T) {
	j := newJobs(t)
	p := j.run(`for s in USR1 USR2 HUP INT TERM; do trap "echo > $dir/$s" $s; done; echo > $dir/ready; until [ -e $dir/TERM ]; do sleep 0.05; done; exit 3`)
	j.await("ready")
	for _, s := range []struct {
		name   string
		number syscall.Signal
	}{{"USR1", syscall.SIGUSR1}, {"USR2", syscall.SIGUSR2}, {"HUP", syscall.SIGHUP}, {"INT", syscall.SIGINT}, {"TERM", syscall.SIGTERM}} {
		if isIgnored(t, s.number) {
			continue // the tests run under nohup, or in the background of a shell, and so does the command
		}
		require.NoError(t, p.Signal(s.number))
		j.await(s.name)
	}
	require.Equal(t, 3, p.exit(t))

	p = j.run(`sleep 1000 & echo $! > $dir/child; wait`)
	child := j.pid("child")
	require.NoError(t, p.Signal(syscall.SIGTERM))
	require.Equal(t, 128+15, p.exit(t))
	j.awaitDead(child)
	require.Empty(t, j.holder())
}

// TestRunPassesAnAskOn: the command gets the signal of --on-ask, for its own lock, and decides by itself.
func TestRunPassesAnAskOn(t *testing.T) {
	j := newJobs(t)
	script := `trap "echo >> $dir/asked" USR1; trap "exit 9" USR2; echo > $dir/ready; while :; do sleep 0.05; done`
	p := j.run(script, "--on-ask", "sigusr1")
	j.await("ready")
	heard := func() bool { return j.c.Do("LOCK.ASK", "job", "REASON", "a deploy").Int == 1 }
	require.True(t, heard())
	j.await("asked")
	require.Contains(t, p.Stderr.String(), `lockserver run: the lock "job" is asked for: "a deploy"; the command gets a signal`)
	require.False(t, isLost(p))
	require.NoError(t, p.Signal(syscall.SIGUSR2))
	require.Equal(t, 9, p.exit(t))

	p = j.run(`sleep 1000 & echo $! > $dir/child; wait`, "--on-ask", "TERM", "--limit", "1")
	child := j.pid("child")
	require.True(t, heard())
	require.Equal(t, 128+15, p.exit(t))
	j.awaitDead(child)

	p = j.run(`echo > $dir/deaf; until [ -e $dir/go ]; do sleep 0.05; done; exit 5`)
	j.await("deaf")
	require.True(t, heard(), "the runner is attached, and ignores it")
	j.write("go")
	require.Equal(t, 5, p.exit(t))

	for _, wrong := range []string{"KILL", "STOP", "9", "TERMINATE"} {
		p := j.run(`echo > $dir/never`, "--on-ask", wrong)
		require.Equal(t, 64, p.exit(t))
		require.Contains(t, p.Stderr.String(), "--on-ask "+wrong+" is not one of the signals")
	}
	require.NoFileExists(t, filepath.Join(j.dir, "never"))
}

// TestRunOfABusyLock: 75 at once, or the lock after a wait, unless a signal ends the wait.
func TestRunOfABusyLock(t *testing.T) {
	j := newJobs(t)
	first := j.run(`echo $LOCKSERVER_TOKEN > $dir/first; until [ -e $dir/go ]; do sleep 0.05; done`)
	token := j.await("first")
	busy := j.run(`echo > $dir/never`)
	require.Equal(t, 75, busy.exit(t))
	require.Contains(t, busy.Stderr.String(), `lockserver run: the lock "job" is busy`)
	waiters := func(n int) func() bool {
		return func() bool { return len(call.FieldsOf(j.c.Do("LOCK.INFO", "job")).List("waiters")) == n }
	}
	second := j.run(`echo $LOCKSERVER_TOKEN > $dir/second`, "--wait", "10m")
	j.eventually(waiters(1), "a waiter")
	third := j.run(`echo > $dir/never`, "--wait", "10m")
	j.eventually(waiters(2), "another one")
	require.NoError(t, third.Signal(syscall.SIGTERM))
	require.Equal(t, 128+15, third.exit(t))
	j.eventually(waiters(1), "that it has left the queue")
	j.write("go")
	require.Zero(t, first.exit(t))
	require.Zero(t, second.exit(t))
	require.Greater(t, j.await("second"), token)
	require.NoFileExists(t, filepath.Join(j.dir, "never"))
	require.Empty(t, j.holder())
}

// TestRunWithPermits: as many at a time as the limit says. A permit of a killed runner is free at the end of
// its lease.
func TestRunWithPermits(t *testing.T) {
	j := newJobs(t)
	script := `echo $LOCKSERVER_TOKEN >> $dir/tokens; until [ -e $dir/go ]; do sleep 0.05; done; exit 4`
	started := func(n int) func() bool {
		return func() bool {
			text, _ := os.ReadFile(filepath.Join(j.dir, "tokens"))
			return strings.Count(string(text), "\n") == n
		}
	}
	first, second := j.run(script, "--limit", "2"), j.run(script, "--limit", "2")
	j.eventually(started(2), "two commands")
	require.Equal(t, 75, j.run(script, "--limit", "2").exit(t))
	other := j.run(script, "--limit", "3")
	require.Equal(t, 69, other.exit(t))
	require.Contains(t, other.Stderr.String(), "LIMITMISMATCH")
	third := j.run(script, "--limit", "2", "--wait", "1h")
	j.eventually(func() bool { return len(call.FieldsOf(j.c.Do("SEM.INFO", "job")).List("waiters")) == 1 }, "a waiter")
	first.Kill()
	j.c.Do("TEST.CLOCK", "ADVANCE", "30000") // also past the lease of the second, unless it was renewed
	j.eventually(started(3), "the waiter's command")
	j.write("go")
	require.Equal(t, 4, third.exit(t))
	second.Kill()
}

// TestRunThatCannotBegin has the status that says why.
func TestRunThatCannotBegin(t *testing.T) {
	j := newJobs(t)
	require.NoError(t, os.WriteFile(filepath.Join(j.dir, "pass"), []byte("secret\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(j.dir, "text"), []byte("no program"), 0o600))
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--key", "job", "--addr", "127.0.0.1:1", "--", "true"}, 69, "connection refused"},
		{[]string{"--key", "job", "--addr", "127.0.0.1:1," + j.addr, "--", "true"}, 0, ""},
		{[]string{"--key", "job", "--addr", j.addr, "--user", "unknown", "--password", "wrong", "--", "true"}, 69, "WRONGPASS"},
		{[]string{"--key", "string", "--addr", j.addr, "--", "true"}, 69, "WRONGTYPE"},
		{[]string{"--key", "job", "--addr", j.addr}, 64, "the command is missing"},
		{[]string{"--addr", j.addr, "--", "true"}, 64, "--key is missing"},
		{[]string{"--key", "job", "--lease", "0", "--", "true"}, 64, "--lease is more than 0"},
		{[]string{"--key", "job", "--colour", "--", "true"}, 64, "unknown flag --colour"},
		{[]string{"--key", "job", "--cert-key", "x", "--", "true"}, 64, "--cert-key and --sni need --tls"},
		{[]string{"--key", "job", "--addr", j.addr, "--", "no-such-program"}, 127, "no-such-program"},
		{[]string{"--key", "job", "--addr", j.addr, "--", filepath.Join(j.dir, "text")}, 126, "permission denied"},
		{[]string{"--help"}, 0, ""},
	} {
		j.c.Do("SET", "string", "x")
		p := runChild(t, testkit.Command{Program: testkit.Lockserver(t), Args: append([]string{"run"}, c.args...), Env: []string{"REDISCLI_AUTH="}})
		require.Equal(t, c.status, p.exit(t), "%v: %s", c.args, p.Stderr.String())
		require.Contains(t, p.Stderr.String(), c.says)
	}
	require.Empty(t, j.holder())
	// The rights that docs/RUN.md names are enough.
	require.False(t, j.c.Do(strings.Fields("ACL SETUSER cron on >secret ~job ~job:tick +hello +select +ping +lock +unlock +renew "+
		"+lock.attach +eval +time +get +set")...).IsError())
	p := j.run("true", "--tick", "1m", "--user", "cron", "--pass-file", filepath.Join(j.dir, "pass"))
	require.Zero(t, p.exit(t))
	require.Empty(t, p.Stderr.String())
	require.False(t, j.c.Do("CONFIG", "SET", "requirepass", "secret").IsError())
	require.Equal(t, 69, j.run("true").exit(t))
	require.Zero(t, j.run("true", "--pass-file", filepath.Join(j.dir, "pass")).exit(t))
	require.Zero(t, j.run("true", "--user", "default", "--pass-file", filepath.Join(j.dir, "pass")).exit(t))
}

// TestRunOfALockThatIsLost: the command gets SIGTERM at once, and SIGKILL after the grace.
func TestRunOfALockThatIsLost(t *testing.T) {
	j := newJobs(t)
	p := j.run(`trap 'echo > $dir/asked; exit 0' TERM; echo > $dir/ready; while :; do sleep 0.05; done`)
	j.await("ready")
	require.EqualValues(t, 1, j.c.Do("LOCK.FORCE", "job").Int)
	j.await("asked")
	require.Equal(t, 80, p.exit(t))
	require.Contains(t, p.Stderr.String(), "was lost: the server says: forced")

	p = j.run(waits, "--grace", "50ms")
	command, child := j.pid("pid"), j.pid("child")
	j.c.Do("DEL", "job")
	require.Equal(t, 80, p.exit(t))
	j.awaitDead(command, child)
}

// TestRunWithoutAServer: the command ends before the lease does.
func TestRunWithoutAServer(t *testing.T) {
	j := newJobs(t)
	srv, addr := startReady(t, t.TempDir(), "--save", "")
	j.addr = addr
	j.c = srv.Client(t)
	j.inTime(func(lease string) bool {
		p := j.run(waits, "--lease", lease, "--grace", "100ms")
		command, child := j.begun(p)
		if command == 0 {
			return false
		}
		srv.Kill()
		require.Equal(t, 80, p.exit(t))
		j.awaitDead(command, child)
		require.Contains(t, p.Stderr.String(), "its lease could not be renewed in time")
		return true
	})
}

// TestRunOutlivesTheServersCrash: it renews the lease as soon as the server is there again, with its log.
func TestRunOutlivesTheServersCrash(t *testing.T) {
	j := newJobs(t)
	srv, addr := startReady(t, t.TempDir(), "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	_, port, _ := strings.Cut(addr, ":")
	j.addr = addr
	p := j.run(`echo > $dir/ready; until [ -e $dir/go ]; do sleep 0.05; done; exit 5`)
	j.await("ready")
	srv.Kill()
	srv.Args[1] = port
	require.NoError(t, srv.Start())
	j.c = srv.Client(t)
	ends := func() int64 { return j.c.Do("PEXPIRETIME", "job").Int }
	before := ends()
	require.Positive(t, before)
	j.eventually(func() bool { return ends() > before }, "a renewal")
	j.write("go")
	require.Equal(t, 5, p.exit(t))
	require.Empty(t, j.holder())
}

// TestRunnerIsStopped: the supervisor kills the command before the lease ends, and the next holder comes
// after that.
func TestRunnerIsStopped(t *testing.T) {
	j := newJobs(t)
	j.inTime(func(lease string) bool {
		p := j.run(waits, "--lease", lease, "--grace", "1s")
		command, child := j.begun(p)
		if command == 0 {
			return false
		}
		if p.Pause() != nil || isLost(p) {
			_ = p.Continue()
			require.Equal(t, 80, p.exit(t))
			return false
		}
		next := j.run(`case "$(cut -d " " -f 3 /proc/$(cat $dir/child)/stat)" in Z | X | "") echo > $dir/next; esac`, "--wait", "1h")
		j.awaitDead(command, child)
		require.Contains(t, j.holder(), "run:", "the server's clock stands still: the lease is not over")
		require.NoFileExists(t, filepath.Join(j.dir, "next"))
		j.endLease(lease)
		j.await("next")
		require.Zero(t, next.exit(t))
		if p.Continue() == nil { // else it was stopped before the supervisor knew the group, and was killed with it
			require.Equal(t, 80, p.exit(t))
		}
		return true
	})
}

// TestRunnerIsKilled: the command and its children die with it, and the lock stays until the lease ends.
func TestRunnerIsKilled(t *testing.T) {
	j := newJobs(t)
	p := j.run(waits)
	command, child := j.pid("pid"), j.pid("child")
	supervisor := j.supervisorOf(p.Pid())
	owner := j.holder()
	p.Kill()
	j.awaitDead(command, child, supervisor)
	require.Equal(t, owner, j.holder())
	require.Equal(t, 75, j.run("true").exit(t))
	j.c.Do("TEST.CLOCK", "ADVANCE", "30000")
	require.Zero(t, j.run("true").exit(t))
}

// TestSupervisorIsKilled: the runner starts another one, which does the same. The lease must not end
// before that.
func TestSupervisorIsKilled(t *testing.T) {
	j := newJobs(t)
	j.inTime(func(lease string) bool {
		p := j.run(waits, "--lease", lease, "--grace", "1s")
		command, child := j.begun(p)
		if command == 0 {
			return false
		}
		first := 0
		j.eventually(func() bool {
			first = findSupervisor(p.Pid())
			return first != 0 || isLost(p)
		}, "a supervisor")
		if !isLost(p) {
			require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
			j.eventually(func() bool {
				second := findSupervisor(p.Pid())
				return second != 0 && second != first || isLost(p)
			}, "another supervisor")
		}
		lasted := !isLost(p) && p.Pause() == nil
		j.awaitDead(command, child)
		if lasted {
			require.NoError(t, p.Continue())
		}
		require.Equal(t, 80, p.exit(t))
		return lasted
	})
}

// TestRunOncePerTick: of many at the same time one runs its command, in each tick.
func TestRunOncePerTick(t *testing.T) {
	j := newJobs(t)
	for tick := 1; tick <= 3; tick++ {
		var all []*child
		for range 6 {
			all = append(all, j.run(`echo ran >> $dir/runs`, "--tick", "1h", "--keep", "2h", "--wait", "1h"))
		}
		for _, p := range all {
			require.Zero(t, p.exit(t), p.Stderr.String())
		}
		text, err := os.ReadFile(filepath.Join(j.dir, "runs"))
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("ran\n", tick), string(text))
		require.EqualValues(t, 2*time.Hour.Milliseconds(), j.c.Do("PTTL", "job:tick").Int)
		j.c.Do("TEST.CLOCK", "ADVANCE", strconv.FormatInt(time.Hour.Milliseconds(), 10))
	}
}
