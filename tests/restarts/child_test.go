package restarts

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/testkit"
)

var seedFlag = flag.Uint64("seed", 0, "seed of what is random; 0: that of testkit.Seed")

// childVariable is an environment variable with a child in JSON. It makes a process of this test a server.
const childVariable = "LOCKSERVER_RESTARTS_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(beServer(text))
	}
	os.Exit(testkit.Main(m.Run))
}

// child is a server with its own clock.
type child struct {
	Dir string
	// StartMS is the time of the clock at the start, in milliseconds since 1970; Speed is its speed.
	StartMS int64
	Speed   int64
	// AppendOnly means that it has a log with everything that it has acknowledged.
	AppendOnly bool
}

// bentClock is the clock of a child.
type bentClock struct {
	child
	began time.Time
}

// NowUS implements server.Clock.
func (c *bentClock) NowUS() int64 {
	return c.StartMS*1000 + c.Speed*time.Since(c.began).Microseconds()
}

// beServer runs a child. It ends when it is killed, by SHUTDOWN, or when its parent ends.
func beServer(text string) int {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println(err)
		return 1
	}
	conf := config.Default()
	conf.Port, conf.Dir, conf.Save = 0, c.Dir, nil
	conf.AppendOnly, conf.AppendFsync = c.AppendOnly, "always"
	srv, err := server.New(server.Options{Directives: conf.Directives(), EventLoops: true, Clock: &bentClock{c, time.Now()}})
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", srv.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	<-srv.Done()
	return 0
}

// startChild runs a server with its own clock.
func startChild(t *testing.T, c child) *testkit.Process {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	return testkit.Start(t, testkit.Command{Program: self, Env: []string{childVariable + "=" + string(text)}, Dir: c.Dir})
}
