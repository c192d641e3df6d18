package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is the one of the examples: the program that LOCKSERVER names, or the one of this repository. The
// tests of what the client does with a server are in tests/client of the module lockserver, so that this
// module needs go-redis only.
var server struct {
	options *redis.Options // how to reach it; nil before the first example
	process *exec.Cmd
	dir     string
}

func TestMain(m *testing.M) {
	status := m.Run()
	if server.process != nil {
		_ = server.process.Process.Kill()
		_ = server.process.Wait()
	}
	_ = os.RemoveAll(server.dir)
	os.Exit(status)
}

// reach returns how to reach the server of the examples. The first call starts it.
func reach() *redis.Options {
	if server.options == nil {
		if err := serve(); err != nil {
			log.Fatal("the server for the examples: ", err)
		}
	}
	return server.options
}

// serve starts the server. It listens on a socket in a directory of its own.
func serve() (err error) {
	if server.dir, err = os.MkdirTemp("", "client"); err != nil {
		return err
	}
	program := os.Getenv("LOCKSERVER")
	if program == "" {
		// The go command links it only if it is not up to date: the tests of the module lockserver build it
		// there.
		if program, err = filepath.Abs(filepath.Join("..", "bin", "testkit", "lockserver")); err != nil {
			return err
		}
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		build := exec.Command("go", "build", "-o", program, "./cmd/lockserver")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	socket := filepath.Join(server.dir, "s")
	server.process = exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", server.dir)
	server.process.Stderr = os.Stderr
	if err = server.process.Start(); err != nil {
		return err
	}
	server.options = &redis.Options{Network: "unix", Addr: socket}
	rdb := redis.NewClient(server.options)
	defer func() { _ = rdb.Close() }()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = rdb.Ping(context.Background()).Err(); err == nil || time.Since(began) > time.Minute {
			return err
		}
	}
}
