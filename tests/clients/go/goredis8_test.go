package clients

import (
	"context"
	"time"

	redis8 "github.com/go-redis/redis/v8"
)

// goRedis8 is go-redis v8.
type goRedis8 struct {
	ctx context.Context
	c   *redis8.Client
}

func newGoRedis8(addr string) earlier {
	return goRedis8{context.Background(), redis8.NewClient(&redis8.Options{Addr: addr, ReadTimeout: patience})}
}

func notNil8(got any, err error) (any, error) {
	if err == redis8.Nil {
		return nil, nil
	}
	return got, err
}

func (g goRedis8) do(words ...any) (any, error) { return notNil8(g.c.Do(g.ctx, words...).Result()) }

func (g goRedis8) setNX(key, value string, lease time.Duration) (bool, error) {
	return g.c.SetNX(g.ctx, key, value, lease).Result()
}

func (g goRedis8) hash(key string) (map[string]string, error) {
	return g.c.HGetAll(g.ctx, key).Result()
}

func (g goRedis8) script(source string) func(keys []string, args ...any) (any, error) {
	s := redis8.NewScript(source)
	return func(keys []string, args ...any) (any, error) {
		return notNil8(s.Run(g.ctx, g.c, keys, args...).Result())
	}
}

func (g goRedis8) increment(key string, between func()) (bool, error) {
	err := g.c.Watch(g.ctx, func(tx *redis8.Tx) error {
		between()
		_, err := tx.TxPipelined(g.ctx, func(pipe redis8.Pipeliner) error { return pipe.Incr(g.ctx, key).Err() })
		return err
	}, key)
	if err == redis8.TxFailedErr {
		return false, nil
	}
	return err == nil, err
}

func (g goRedis8) listen(channel, pattern string) (<-chan message, error) {
	sub := g.c.Subscribe(g.ctx, channel)
	if _, err := sub.Receive(g.ctx); err != nil {
		return nil, err
	}
	if err := sub.PSubscribe(g.ctx, pattern); err != nil {
		return nil, err
	}
	if _, err := sub.Receive(g.ctx); err != nil {
		return nil, err
	}
	messages := make(chan message)
	go func() {
		for m := range sub.Channel() {
			messages <- message{m.Pattern, m.Channel, m.Payload}
		}
	}()
	return messages, nil
}

func (g goRedis8) createGroup(stream, group string) error {
	return g.c.XGroupCreateMkStream(g.ctx, stream, group, "0").Err()
}

func (g goRedis8) add(stream string, fields map[string]any) (string, error) {
	return g.c.XAdd(g.ctx, &redis8.XAddArgs{Stream: stream, Values: fields}).Result()
}

func (g goRedis8) read(stream, group, consumer string, count int64, block time.Duration) ([]entry, error) {
	got, err := g.c.XReadGroup(g.ctx, &redis8.XReadGroupArgs{Group: group, Consumer: consumer, Streams: []string{stream, ">"},
		Count: count, Block: block}).Result()
	if err != nil {
		return nil, err
	}
	return entries8(got[0].Messages, nil)
}

func entries8(messages []redis8.XMessage, err error) ([]entry, error) {
	var entries []entry
	for _, m := range messages {
		entries = append(entries, entry{m.ID, m.Values})
	}
	return entries, err
}

func (g goRedis8) ack(stream, group string, ids ...string) (int64, error) {
	return g.c.XAck(g.ctx, stream, group, ids...).Result()
}

func (g goRedis8) pending(stream, group string) (map[string][]string, error) {
	sum, err := g.c.XPending(g.ctx, stream, group).Result()
	if err != nil {
		return nil, err
	}
	list, err := g.c.XPendingExt(g.ctx, &redis8.XPendingExtArgs{Stream: stream, Group: group, Start: sum.Lower, End: sum.Higher,
		Count: sum.Count}).Result()
	ids := map[string][]string{}
	for _, p := range list {
		ids[p.Consumer] = append(ids[p.Consumer], p.ID)
	}
	return ids, err
}

func (g goRedis8) claim(stream, group, consumer string, ids ...string) ([]entry, error) {
	return entries8(g.c.XClaim(g.ctx, &redis8.XClaimArgs{Stream: stream, Group: group, Consumer: consumer, Messages: ids}).Result())
}

func (g goRedis8) close() error { return g.c.Close() }
