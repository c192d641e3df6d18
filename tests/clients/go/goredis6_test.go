package clients

import (
	"time"

	redis6 "github.com/go-redis/redis"
)

// goRedis6 is go-redis v6. Its methods take no context.
type goRedis6 struct{ c *redis6.Client }

func newGoRedis6(addr string) earlier {
	return goRedis6{redis6.NewClient(&redis6.Options{Addr: addr, ReadTimeout: patience})}
}

func notNil6(got any, err error) (any, error) {
	if err == redis6.Nil {
		return nil, nil
	}
	return got, err
}

func (g goRedis6) do(words ...any) (any, error) { return notNil6(g.c.Do(words...).Result()) }

func (g goRedis6) setNX(key, value string, lease time.Duration) (bool, error) {
	return g.c.SetNX(key, value, lease).Result()
}

func (g goRedis6) hash(key string) (map[string]string, error) { return g.c.HGetAll(key).Result() }

func (g goRedis6) script(source string) func(keys []string, args ...any) (any, error) {
	s := redis6.NewScript(source)
	return func(keys []string, args ...any) (any, error) { return notNil6(s.Run(g.c, keys, args...).Result()) }
}

func (g goRedis6) increment(key string, between func()) (bool, error) {
	err := g.c.Watch(func(tx *redis6.Tx) error {
		between()
		_, err := tx.TxPipelined(func(pipe redis6.Pipeliner) error { return pipe.Incr(key).Err() })
		return err
	}, key)
	if err == redis6.TxFailedErr {
		return false, nil
	}
	return err == nil, err
}

func (g goRedis6) listen(channel, pattern string) (<-chan message, error) {
	sub := g.c.Subscribe(channel)
	if _, err := sub.Receive(); err != nil {
		return nil, err
	}
	if err := sub.PSubscribe(pattern); err != nil {
		return nil, err
	}
	if _, err := sub.Receive(); err != nil {
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

func (g goRedis6) createGroup(stream, group string) error {
	return g.c.XGroupCreateMkStream(stream, group, "0").Err()
}

func (g goRedis6) add(stream string, fields map[string]any) (string, error) {
	return g.c.XAdd(&redis6.XAddArgs{Stream: stream, Values: fields}).Result()
}

func (g goRedis6) read(stream, group, consumer string, count int64, block time.Duration) ([]entry, error) {
	got, err := g.c.XReadGroup(&redis6.XReadGroupArgs{Group: group, Consumer: consumer, Streams: []string{stream, ">"},
		Count: count, Block: block}).Result()
	if err != nil {
		return nil, err
	}
	return entries6(got[0].Messages, nil)
}

func entries6(messages []redis6.XMessage, err error) ([]entry, error) {
	var entries []entry
	for _, m := range messages {
		entries = append(entries, entry{m.ID, m.Values})
	}
	return entries, err
}

func (g goRedis6) ack(stream, group string, ids ...string) (int64, error) {
	return g.c.XAck(stream, group, ids...).Result()
}

func (g goRedis6) pending(stream, group string) (map[string][]string, error) {
	sum, err := g.c.XPending(stream, group).Result()
	if err != nil {
		return nil, err
	}
	list, err := g.c.XPendingExt(&redis6.XPendingExtArgs{Stream: stream, Group: group, Start: sum.Lower, End: sum.Higher,
		Count: sum.Count}).Result()
	ids := map[string][]string{}
	for _, p := range list {
		ids[p.Consumer] = append(ids[p.Consumer], p.Id)
	}
	return ids, err
}

func (g goRedis6) claim(stream, group, consumer string, ids ...string) ([]entry, error) {
	return entries6(g.c.XClaim(&redis6.XClaimArgs{Stream: stream, Group: group, Consumer: consumer, Messages: ids}).Result())
}

func (g goRedis6) close() error { return g.c.Close() }
