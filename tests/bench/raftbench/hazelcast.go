package raftbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hazelcast is the Maven module of the members and of their load.
type hazelcast struct {
	java      string
	classPath string
	version   string
}

// findHazelcast finds a JVM and the classes that Maven has compiled in a directory.
func findHazelcast(directory string) (*hazelcast, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("hazelcast needs java: run 'make deps' (%w)", err)
	}
	libraries, err := os.ReadFile(filepath.Join(directory, "target", "classpath"))
	if err != nil {
		return nil, fmt.Errorf("hazelcast is not compiled, 'make hazelcast' does that: %w", err)
	}
	h := &hazelcast{java: java, classPath: filepath.Join(directory, "target", "classes") + ":" + strings.TrimSpace(string(libraries)), version: "unknown"}
	for jar := range strings.SplitSeq(string(libraries), ":") {
		if name, ok := strings.CutPrefix(filepath.Base(strings.TrimSpace(jar)), "hazelcast-"); ok {
			h.version = strings.TrimSuffix(name, ".jar")
		}
	}
	return h, nil
}

// hazelcastVersion returns the measured version.
func (b *bench) hazelcastVersion() string {
	if b.hazelcast == nil {
		return "not measured: -hazelcast names its module"
	}
	return b.hazelcast.version
}

// program returns a command for one of the two programs of the module. Hazelcast wants these packages to be
// opened; it warns without them.
func (h *hazelcast) program(ctx context.Context, class string, args ...string) *exec.Cmd {
	java := []string{"-Xms512m", "-Xmx512m"}
	for _, opened := range []string{"java.base/java.lang", "java.base/sun.nio.ch", "java.management/sun.management", "jdk.management/com.sun.management.internal"} {
		java = append(java, "--add-opens", opened+"=ALL-UNNAMED")
	}
	java = append(java, "--add-modules", "java.se", "--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED", "-cp", h.classPath, "lockserver.comparison."+class)
	return exec.CommandContext(ctx, h.java, append(java, args...)...)
}

// hazelcastWarm is how long a JVM runs the whole load before the measurement, in spans, so that its code is
// compiled by then.
const hazelcastWarm = 2 // spans

// hazelcastLocks measures one round with three members.
func (b *bench) hazelcastLocks(ctx context.Context) (perSecond, each float64, err error) {
	dir, err := os.MkdirTemp(b.Dir, "hazelcast")
	if err != nil {
		return 0, 0, err
	}
	ports, err := freePorts(members)
	if err != nil {
		return 0, 0, err
	}
	var all processes
	for i, port := range ports {
		name := "h" + strconv.Itoa(i)
		all = append(all, &process{name: name, log: filepath.Join(dir, name+".log"), command: func() *exec.Cmd {
			return b.hazelcast.program(ctx, "Member", append([]string{port}, ports...)...)
		}})
	}
	defer all.kill()
	if err := all.start(); err != nil {
		return 0, 0, err
	}
	l, err := b.startLoad(ctx, dir, ports)
	if err != nil {
		return 0, 0, fmt.Errorf("hazelcast: %w\n%s", err, all[0].logTail())
	}
	defer l.end()
	return b.measure(ctx, "hazelcast", hazelcastWarm*b.sizes.span+b.sizes.warm, l.pairs, all)
}

// hazelcastLoad is the process with threads that lock and unlock.
type hazelcastLoad struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // its output; closed when it has ended
	log   string
}

// startLoad starts the clients, and waits until each has had its lock.
func (b *bench) startLoad(ctx context.Context, dir string, ports []string) (*hazelcastLoad, error) {
	l := &hazelcastLoad{lines: make(chan string), log: filepath.Join(dir, "load.log")}
	l.cmd = b.hazelcast.program(ctx, "Load", append([]string{strconv.Itoa(b.sizes.clients)}, ports...)...)
	log, err := os.Create(l.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	l.cmd.Stderr = log
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		l.in, err = l.cmd.StdinPipe()
	}
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(l.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	said, err := l.line(2 * readyLimit)
	if err == nil && said != "ready" {
		err = fmt.Errorf("the load says %q", said)
	}
	if err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// line returns the next line of the load's output.
func (l *hazelcastLoad) line(limit time.Duration) (string, error) {
	select {
	case said, ok := <-l.lines:
		if ok {
			return said, nil
		}
		text, _ := os.ReadFile(l.log)
		return "", fmt.Errorf("the load has ended\n%s", text[max(0, len(text)-1500):])
	case <-time.After(limit):
		return "", errors.New("the load says nothing")
	}
}

// pairs returns the number of pairs so far.
func (l *hazelcastLoad) pairs() (int64, error) {
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		return 0, err
	}
	said, err := l.line(readyLimit)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(said, 10, 64)
}

func (l *hazelcastLoad) end() {
	_ = l.in.Close()
	_ = l.cmd.Process.Kill()
	for range l.lines { // so that its reader ends before the pipe is closed
	}
	_ = l.cmd.Wait()
}
