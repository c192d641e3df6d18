package runner

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"time"
)

// claim is the lock, or the permit of a semaphore, that a run wants. Its methods return the commands. Each
// command may be sent twice.
type claim struct {
	key, owner string
	limit      int // of the semaphore; 0: the claim is for a lock
	lease      time.Duration
}

// acquire returns a command. Its reply is the token, or null if another owner holds the lock.
func (c *claim) acquire(wait time.Duration) []string {
	words := []string{"LOCK", c.key, c.owner}
	if c.limit > 0 {
		words = []string{"SEM.ACQUIRE", c.key, c.owner, "LIMIT", strconv.Itoa(c.limit)}
	}
	words = append(words, "PX", millis(c.lease))
	if wait >= time.Millisecond { // WAIT 0 would wait without a limit
		words = append(words, "WAIT", millis(wait))
	}
	return append(words, "ONCE")
}

// renew returns a command. Its reply is 1, or 0 if the lock is not held any more.
func (c *claim) renew(token int64) []string {
	name := "RENEW"
	if c.limit > 0 {
		name = "SEM.RENEW"
	}
	return []string{name, c.key, c.owner, "PX", millis(c.lease), "TOKEN", strconv.FormatInt(token, 10)}
}

// release returns a command. Its reply is an integer, or null if the lock was not held any more. Token 0
// means any token of this owner.
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

// newOwner returns a unique name that an operator can understand.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("run:%s:%d:%s", host, os.Getpid(), rand.Text())
}
