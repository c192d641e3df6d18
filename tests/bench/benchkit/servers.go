package benchkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// FindTool is the path of a program of a Redis installation.
func FindTool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing: run 'make deps'", name)
	}
	return path, nil
}

// FindBeside is the path of another program of the installation that server belongs to: it
// lies beside it, or else in PATH.
func FindBeside(server, name string) (string, error) {
	path := filepath.Join(filepath.Dir(server), name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	return FindTool(name)
}

// Build builds a program of the module in a directory, as its releases are built, and returns its path in
// dir.
func Build(ctx context.Context, module, dir, program string) (string, error) {
	profile, err := filepath.Abs(filepath.Join(module, program, "release.pgo"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(profile); err != nil {
		profile = "auto"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo="+profile, "-o", dir+string(os.PathSeparator), program)
	cmd.Dir = module
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build %s in %s: %w\n%s", program, module, err, out)
	}
	return filepath.Join(dir, filepath.Base(program)), nil
}

// Product is a server program that takes its directives on the command line as redis-server does.
type Product struct {
	Name string // as the report calls it
	Path string
	Args []string // in front of port, address, directory and save
	Pong string   // what it answers to PING; empty: PONG
}

// Server is a running process of a product.
type Server struct {
	Product
	Addr  string
	Port  int
	Dir   string
	Log   string        // the file
	Ready time.Duration // from the start of the process to its first PONG

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone
}

// readyLimit is how long a server may take to load and to answer.
const readyLimit = 2 * time.Minute

// Start runs a product on a free port of 127.0.0.1, with its data in dir, and returns
// when it has answered a PING.
func Start(ctx context.Context, p Product, dir string) (*Server, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &Server{Product: p, Port: port, Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Dir: dir,
		Log: filepath.Join(dir, "server.log"), ended: make(chan struct{})}
	log, err := os.Create(s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	args := append(slices.Clone(p.Args), "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "")
	s.cmd = exec.CommandContext(ctx, p.Path, args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in its log
		close(s.ended)
	}()
	if err := s.waitReady(begun.Add(readyLimit)); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%s did not get ready: %w\n%s", p.Name, err, s.LogTail())
	}
	s.Ready = time.Since(begun)
	return s, nil
}

// StartFresh starts a product on an empty directory of its own below root.
func StartFresh(ctx context.Context, p Product, root string) (*Server, error) {
	dir, err := os.MkdirTemp(root, p.Name)
	if err != nil {
		return nil, err
	}
	return Start(ctx, p, dir)
}

// FreePort returns a free TCP port.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// waitReady asks until the server answers a PING. Both listen while they load, and answer LOADING.
func (s *Server) waitReady(deadline time.Time) error {
	const pause = 500 * time.Microsecond
	for time.Now().Before(deadline) {
		select {
		case <-s.ended:
			return errors.New("the process has ended")
		default:
		}
		c, err := Dial(s.Addr)
		if err != nil {
			time.Sleep(pause)
			continue
		}
		for err == nil && time.Now().Before(deadline) {
			var text string
			if text, err = c.Do("PING"); text == cmp.Or(s.Pong, "PONG") {
				c.Close()
				return nil
			}
			var refused ReplyError
			if errors.As(err, &refused) && strings.HasPrefix(string(refused), "LOADING") {
				err = nil
				time.Sleep(pause)
			}
		}
		c.Close()
		time.Sleep(pause)
	}
	return errors.New("timed out")
}

// Stop ends the process and waits for that. Without save points neither server writes a snapshot when it is
// asked to end; one that does not end in ten seconds is killed.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// PID is the number of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// CPU is the CPU time that the process has used.
func (s *Server) CPU() (time.Duration, error) { return CPUTime(s.PID()) }

// Resident is the memory of the process in bytes.
func (s *Server) Resident() (int64, error) { return ResidentBytes(s.PID()) }

// Peak is the most memory that the process has had so far, in bytes.
func (s *Server) Peak() (int64, error) { return PeakBytes(s.PID()) }

// Do asks on a connection of its own; the reply is as Conn.Do returns it.
func (s *Server) Do(args ...string) (string, error) {
	c, err := Dial(s.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	text, err := c.Do(args...)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", s.Name, args[0], err)
	}
	return text, nil
}

// InfoNumber is one number of a section of INFO.
func (s *Server) InfoNumber(section, name string) (int, error) {
	text, err := s.Do("INFO", section)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("%s: INFO %s has no %s", s.Name, section, name)
}

// LogTail is the end of the server's log, for an error.
func (s *Server) LogTail() string {
	text, _ := os.ReadFile(s.Log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
