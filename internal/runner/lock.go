package runner

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"time"
)

// claim is the lock, or the permit of a semaphore, that a run wants. Its methods are the commands, each of
// which may be sent twice.
type claim struct {
	key, owner string
	limit      int // of the semaphore; 0: it is a lock
	lease      time.Duration
}

// acquire is the command that replies the token, or null if it is held elsewhere.
func (c *claim) acquire(wait time.Duration) []string {
	words := []string{"LOCK", c.key, c.owner}
	if c.limit > 0 {
		words = []string{"SEM.ACQUIRE", c.key, c.owner, "LIMIT", strconv.Itoa(c.limit)}
	}
	words = append(words, "PX", millis(c.lease))
	if wait >= time.Millisecond { // WAIT 0 waits without limit
		words = append(words, "WAIT", millis(wait))
	}
	return append(words, "ONCE")
}

// renew is the command that replies 1, or 0 if the lock is not held any more.
func (c *claim) renew(token int64) []string {
	name := "RENEW"
	if c.limit > 0 {
		name = "SEM.RENEW"
	}
	return []string{name, c.key, c.owner, "PX", millis(c.lease), "TOKEN", strconv.FormatInt(token, 10)}
}

// release is the command that replies an integer, or null if the lock was not held any more. Token 0: any
// that this owner has.
func (c *claim) release(token int64) []string {
	name := "UNLOCK"
	if c.limit > 0 {
		name = "SEM.RELEASE"
	}
	words := []string{name, c.key, c.owner}
	if token != 0 {
		words = append(words, "TOKEN", strconv.FormatInt(token, 10))
	}
	return words
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// newOwner returns a name that no other run has, and that an operator understands.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("run:%s:%d:%s", host, os.Getpid(), rand.Text())
}
