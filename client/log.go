package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Logger sets the logger for losses, disconnections and forgotten locks. The default is slog.Default at the
// time of each line; nil logs nothing.
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

// connected logs that a connection of the client's own was made again, or has ended and why. addr is that of
// a shard; empty: there is only one server.
func (c *Client) connected(addr string, err error) {
	attributes := []any{"client", c.name}
	if addr != "" {
		attributes = append(attributes, "shard", addr)
	}
	switch {
	case errors.Is(err, ErrClosed):
	case err == nil:
		c.log(slog.LevelInfo, "the connection that keeps the locks is there again", attributes...)
	default:
		c.log(slog.LevelWarn, "the connection that keeps the locks has ended", append(attributes, "error", err)...)
	}
}

// tellConnected tells the hooks that the client's own connections are there, or are not and why.
func (c *Client) tellConnected(err error) {
	for _, hooks := range c.hooks {
		if hooks.Connected != nil {
			hooks.Connected(err)
		}
	}
}

// wasLost reports that a lock was lost.
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

// refusal adds the keys to the error of a call for a lock. It adds the holder if the holder belongs to this
// client.
func (c *Client) refusal(w *wish, err error) error {
	var reply ReplyError
	if errors.As(err, &reply) && !errors.Is(err, ErrCrossSlot) || errors.Is(err, ErrLost) || errors.Is(err, ErrClosed) || errors.Is(err, ErrDeadlock) || errors.Is(err, ErrHeldOtherwise) {
		return err // which has a text of its own
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

// holderOf returns a text about the hold of this client that blocks the call, or an empty text.
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
