package memory

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCollector: a collection begins after each call of Begin. Calls during a collection share the next one.
func TestCollector(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	c := &Collector{collect: func() { begun <- struct{}{}; <-end }}
	next := func() {
		t.Helper()
		select {
		case <-begun:
		case <-time.After(time.Minute):
			require.Fail(t, "no collection has begun")
		}
	}
	for range 3 {
		c.Begin()
		next()
		for range 100 {
			c.Begin()
		}
		end <- struct{}{}
		next()
		end <- struct{}{}
		require.Eventually(t, func() bool { return c.wanted.Load() == 0 }, time.Minute, time.Millisecond)
	}
}

func TestCollectorOfTheProcess(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := NewCollector()
	c.Begin()
	require.Eventually(t, func() bool { return c.wanted.Load() == 0 }, time.Minute, time.Millisecond)
	runtime.ReadMemStats(&after)
	require.Greater(t, after.NumGC, before.NumGC)
}
