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

// FindTool returns the path of a program of a Redis installation.
func FindTool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing: run 'make deps'", name)
	}
	return path, nil
}

// FindBeside returns the path of another program from the installation of server. It is in the same
// directory, or else in PATH.
func FindBeside(server, name string) (string, error) {
	path := filepath.Join(filepath.Dir(server), name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	return FindTool(name)
}

// Build builds a program of the module in a directory like a release, and returns its path in dir.
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
	Name string // its name in the report
	Path string
	Args []string // arguments before port, address, directory and save
	Pong string   // its reply to PING; empty means PONG
}

// Server is a running process of a product.
type Server struct {
	Product
	Addr  string
	Port  int
	Dir   string
	Log   string        // path of the log file
	Ready time.Duration // from the start of the process to its first PONG

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// readyLimit is the longest time until a server has loaded and answers.
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
		_ = s.cmd.Wait() // its log shows how it ended
		close(s.ended)
	}()
	if err := s.waitReady(begun.Add(readyLimit)); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%s did not get ready: %w\n%s", p.Name, err, s.LogTail())
	}
	s.Ready = time.Since(begun)
	return s, nil
}

// StartFresh starts a product in a new directory below root.
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

// waitReady sends PING until the server answers it. While they load, both servers listen and answer LOADING.
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

// Stop ends the process and waits for it. Without save points neither server writes a snapshot when it is
// asked to end. A server that does not end within ten seconds is killed.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// PID returns the id of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// CPU returns the CPU time that the process has used.
func (s *Server) CPU() (time.Duration, error) { return CPUTime(s.PID()) }

// Resident returns the memory of the process in bytes.
func (s *Server) Resident() (int64, error) { return ResidentBytes(s.PID()) }

// Peak returns the largest memory of the process so far, in bytes.
func (s *Server) Peak() (int64, error) { return PeakBytes(s.PID()) }

// Do runs a command on a new connection; the reply has the form of Conn.Do.
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

// InfoNumber returns a number in a section of INFO.
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

// LogTail returns the end of the server's log, for an error.
func (s *Server) LogTail() string {
	text, _ := os.ReadFile(s.Log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
