package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Logger is where losses, disconnections and forgotten locks are logged. Without it that is slog.Default, as
// it is at that moment; nil logs nothing.
func Logger(l *slog.Logger) Setting {
	return func(c *Client) {
		if c.logger = l; l == nil {
			c.logger = slog.New(slog.DiscardHandler)
		}
	}
}

func (c *Client) log(level slog.Level, text string, attributes ...any) {
	logger := c.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Log(context.Background(), level, "lockserver: "+text, attributes...)
}

// connected tells of the client's own connection: it is there, or has ended, and why.
func (c *Client) connected(err error, first bool) {
	switch {
	case err == nil && first, errors.Is(err, ErrClosed):
	case err == nil:
		c.log(slog.LevelInfo, "the connection that keeps the locks is there again", "client", c.name)
	default:
		c.log(slog.LevelWarn, "the connection that keeps the locks has ended", "client", c.name, "error", err)
	}
	for _, hooks := range c.hooks {
		if hooks.Connected != nil {
			hooks.Connected(err)
		}
	}
}

// wasLost tells of a lock that was lost.
func (c *Client) wasLost(h *hold, lost *LostError) {
	level := slog.LevelWarn
	if lost.Reason == closed { // by the program itself
		level = slog.LevelInfo
	}
	c.log(level, "a lock is lost", append(h.attributes(lost.Key), "reason", lost.Reason, "held", lost.Held)...)
	for _, hooks := range c.hooks {
		if hooks.Lost != nil {
			hooks.Lost(lost)
		}
	}
}

// refusal names the keys in the error of a call for a lock, and the holder if it is one of this client.
func (c *Client) refusal(w *wish, err error) error {
	var reply ReplyError
	if errors.As(err, &reply) || errors.Is(err, ErrLost) || errors.Is(err, ErrClosed) || errors.Is(err, ErrDeadlock) || errors.Is(err, ErrHeldOtherwise) {
		return err // has its own words
	}
	keys := make([]string, 0, len(w.keys))
	for _, key := range w.keys {
		keys = append(keys, fmt.Sprintf("%q", key))
	}
	holder := ""
	if errors.Is(err, ErrNotAcquired) {
		holder = c.holderOf(w.keys)
	}
	return fmt.Errorf("%s: %w%s", strings.Join(keys, ", "), err, holder)
}

// holderOf says which hold of this client is in the way, or nothing.
func (c *Client) holderOf(keys []string) string {
	k := c.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if h := k.byKey[key]; h != nil {
			return fmt.Sprintf(": %s of this program, for %v, %s, acquired at %s", h.task.owner, time.Since(h.since).Round(time.Millisecond),
				leaseText(h.lease), siteOf(h.site))
		}
	}
	return ""
}
