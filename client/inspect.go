package client

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Info describes a key that is locked.
type Info struct {
	Mode    string   // "lock", "shared" or "semaphore"; "latch" for a latch that calls wait for
	Holders []Holder // in the order of the server, 1,000 at most
	Waiters []Waiter // in the order in which they are granted, 1,000 at most
}

// Holder is an owner of a lock, or of permits of a semaphore.
type Holder struct {
	Owner     string
	Token     int64
	Holds     int           // how many times it holds the lock; of a semaphore: its permits
	Remaining time.Duration // of the lease; -1: it has no end
	Renewed   bool          // by the server
	Client    string        // address and name of the client that acquired it; empty: the client is not connected
}

// Waiter is a call that waits.
type Waiter struct {
	Owner    string
	Since    time.Time
	Deadline time.Time // zero: no deadline
	Permits  int       // the requested permits of a semaphore; 0: it waits for a lock
	Priority int       // see [Priority]
}

// Info returns the holders of a key and the calls that wait for it, of all clients. ok is false if the key is
// free.
func (c *Client) Info(ctx context.Context, key string) (info Info, ok bool, err error) {
	of, err := c.fields(ctx, key, "LOCK.INFO", key)
	if err != nil || of == nil {
		return Info{}, false, err
	}
	info = Info{Mode: of.text("mode"), Waiters: of.waiters()}
	switch {
	case of["holders"] != nil:
		info.Holders = of.holders()
	case of["owner"] != nil:
		info.Mode, info.Holders = "lock", []Holder{of.holder()}
	}
	return info, true, nil
}

// Locked reports whether any owner, of any client, holds a key, exclusively or shared.
func (c *Client) Locked(ctx context.Context, key string) (bool, error) {
	info, _, err := c.Info(ctx, key)
	return len(info.Holders) > 0, err
}

// ForceUnlock takes a lock away from its present holders (LOCK.FORCE). They see the loss with the reason
// "forced". done: the lock was held. A later owner keeps the lock, even if the command is sent again.
func (c *Client) ForceUnlock(ctx context.Context, key string) (done bool, err error) {
	info, _, err := c.Info(ctx, key)
	for _, holder := range info.Holders {
		if _, err := c.number(ctx, []string{"LOCK.FORCE", key, "OWNER", holder.Owner}); err != nil {
			return done, err
		}
		done = true
	}
	return done, err
}

// SemaphoreInfo describes a semaphore.
type SemaphoreInfo struct {
	Limit, Available, Used int
	Holders                []Holder
	Waiters                []Waiter
}

// Info returns the permits of the semaphore, its holders and its waiters. ok is false if no permit is held.
func (s Semaphore) Info(ctx context.Context) (info SemaphoreInfo, ok bool, err error) {
	of, err := s.client.fields(ctx, s.key, "SEM.INFO", s.key)
	if err != nil || of == nil {
		return SemaphoreInfo{}, false, err
	}
	return SemaphoreInfo{of.number("limit"), of.number("available"), of.number("used"), of.holders(), of.waiters()}, true, nil
}

// fields are the fields of a map in a reply, by name.
type fields map[string]any

// fields sends a command about a key that replies with a map, or with nil.
func (c *Client) fields(ctx context.Context, key string, words ...string) (fields, error) {
	if err := named("a key", key); err != nil {
		return nil, err
	}
	reply, err := c.again(ctx, words)
	if err != nil || reply == nil {
		return nil, err
	}
	of := fieldsOf(reply)
	if of == nil {
		return nil, fmt.Errorf("%s: the reply is %v, no map", words[0], reply)
	}
	return of, nil
}

// fieldsOf reads a map. Libraries return a map in several forms, also as a list of names and values. It
// returns nil if v is no map.
func fieldsOf(v any) fields {
	of := fields{}
	switch v := v.(type) {
	case map[any]any:
		for name, value := range v {
			of[fmt.Sprint(name)] = value
		}
	case map[string]any:
		return v
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			of[fmt.Sprint(v[i])] = v[i+1]
		}
	default:
		return nil
	}
	return of
}

func (of fields) text(name string) string {
	text, _ := of[name].(string)
	return text
}

func (of fields) number(name string) int {
	n, _ := of[name].(int64)
	return int(n)
}

// list returns an array of maps.
func (of fields) list(name string) (list []fields) {
	items, _ := of[name].([]any)
	for _, item := range items {
		list = append(list, fieldsOf(item))
	}
	return list
}

// when returns a time in milliseconds since 1970; zero if there is no such field.
func (of fields) when(names ...string) time.Time {
	for _, name := range names {
		if ms, _ := of[name].(int64); ms > 0 {
			return time.UnixMilli(ms)
		}
	}
	return time.Time{}
}

func (of fields) holder() Holder {
	h := Holder{Owner: of.text("owner"), Holds: max(of.number("holds"), of.number("permits")), Remaining: -1}
	h.Token, _ = of["token"].(int64)
	if ttl, ok := of["ttl"].(int64); ok && ttl >= 0 {
		h.Remaining = time.Duration(ttl) * time.Millisecond
	}
	switch renewed := of["watchdog"].(type) {
	case bool:
		h.Renewed = renewed
	case int64:
		h.Renewed = renewed != 0
	}
	if by := fieldsOf(of["client"]); by != nil {
		h.Client = strings.TrimSpace(by.text("address") + " " + by.text("name"))
	}
	return h
}

func (of fields) holders() (holders []Holder) {
	for _, holder := range of.list("holders") {
		holders = append(holders, holder.holder())
	}
	return holders
}

func (of fields) waiters() (waiters []Waiter) {
	for _, w := range of.list("waiters") {
		waiters = append(waiters, Waiter{w.text("owner"), w.when("waiting-since", "since"), w.when("deadline"), w.number("permits"), w.number("priority")})
	}
	return waiters
}
