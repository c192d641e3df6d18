package main

import (
	"errors"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	p := &process{log: slog.New(slog.DiscardHandler)}
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	code, done := p.waitShutdown(make(chan error), signals, time.Now().Add(-insistence))
	require.Equal(t, 1, code)
	require.True(t, done)
}

func TestOneSignalThatComesTwiceStillSaves(t *testing.T) {
	p := &process{log: slog.New(slog.DiscardHandler)}
	signals, ended := make(chan os.Signal), make(chan error, 1)
	go func() {
		signals <- os.Interrupt
		ended <- nil
	}()
	code, done := p.waitShutdown(ended, signals, time.Now().Add(time.Hour))
	require.Zero(t, code)
	require.True(t, done)
}

func TestFailedShutdownGoesOn(t *testing.T) {
	p := &process{log: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	ended <- errors.New("disk full")
	_, done := p.waitShutdown(ended, nil, time.Now())
	require.False(t, done)
}

// The system allows fewer open files than the test asks for. maxclients is lowered, and the log says so.
// Later the limit cannot be raised above that.
func TestMoreClientsThanDescriptors(t *testing.T) {
	if runtime.GOOS == "windows" { // which does not tell
		return
	}
	c, addr := startReady(t, t.TempDir(), "--save", "", "--maxclients", "4294967000")
	m := regexp.MustCompile(`# maxclients is (\d+) instead of 4294967000: `).FindStringSubmatch(c.Stdout.String())
	require.NotNil(t, m, c.Stdout.String())
	require.Equal(t, []string{"-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to " +
		"handle the specified number of clients, try with " + m[1], "+OK"},
		ask(t, addr, "CONFIG SET maxclients 4294967000", "CONFIG SET maxclients "+m[1]))
}

// The limit of open files is that of the process, and each shard has its part of the clients.
func TestFitShards(t *testing.T) {
	c := config.Default()
	c.Shards, c.MaxClients, c.IOThreads = 4, 100, 1
	fits, warning, err := fitShards(c, func(clients, loops int) (int, string, error) {
		require.Equal(t, 400, clients)
		require.Equal(t, 4+3*ownLoops, loops)
		return 202, "lower", nil
	})
	require.NoError(t, err)
	require.Equal(t, 50, fits)
	require.Equal(t, "All 4 shards together: lower", warning)
	_, _, err = fitShards(c, func(int, int) (int, string, error) { return 3, "", nil })
	require.ErrorContains(t, err, "no clients for each of 4 shards")
}
