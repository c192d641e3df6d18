//go:build !linux

package runner

import "time"

var started = time.Now()

// now returns a monotonic time in nanoseconds, valid only in this process.
func now() int64 { return int64(time.Since(started)) }

// alarm sends on C when now reaches its time.
type alarm struct {
	C     chan struct{}
	timer *time.Timer
}

func newAlarm() (*alarm, error) {
	a := &alarm{C: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(time.Hour, func() {
		select {
		case a.C <- struct{}{}:
		default:
		}
	})
	return a, nil
}

// set replaces the time of the alarm.
func (a *alarm) set(at int64) { a.timer.Reset(time.Duration(at - now())) }

func (a *alarm) close() { a.timer.Stop() }
