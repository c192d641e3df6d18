package main

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
