package inspect

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// fields is a map as RESP3 has it. What is missing or null is the zero value.
type fields map[any]any

func (f fields) text(name string) string {
	s, _ := f[name].(string)
	return s
}

func (f fields) integer(name string) int64 {
	n, _ := f[name].(int64)
	return n
}

func (f fields) flag(name string) bool {
	yes, _ := f[name].(bool)
	return yes
}

func (f fields) list(name string) []any {
	l, _ := f[name].([]any)
	return l
}

func (f fields) number(name string) float64 {
	n, _ := f[name].(float64)
	return n
}

// maps are the elements of a list that are maps.
func (f fields) maps(name string) []fields { return mapsOf(f.list(name)) }

func mapsOf(list []any) (maps []fields) {
	for _, v := range list {
		if m, ok := v.(map[any]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

func (f fields) waiter() Waiter {
	w := Waiter{Owner: f.text("owner"), Client: f.client(), Deadline: f.moment("deadline")}
	if since := f.moment("waiting-since"); since != nil {
		w.Since = *since
	}
	return w
}

// moment is a time in milliseconds since 1970; nil: it is not known.
func (f fields) moment(name string) *time.Time {
	ms, ok := f[name].(int64)
	if !ok {
		return nil
	}
	t := time.UnixMilli(ms)
	return &t
}

func (f fields) client() *Client {
	c, ok := f["client"].(map[any]any)
	if !ok {
		return nil
	}
	of := fields(c)
	return &Client{ID: of.integer("id"), Address: of.text("address"), Name: of.text("name")}
}

// fieldsOf is the map of a reply.
func fieldsOf(cmd *redis.Cmd) (fields, error) {
	v, err := cmd.Result()
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[any]any)
	if !ok {
		return nil, fmt.Errorf("%v: a map was expected, not %T", cmd.Args()[0], v)
	}
	return m, nil
}

// pieceOf takes a reply in the form of SCAN's apart.
func pieceOf(reply []any) (next string, found []any, err error) {
	if len(reply) == 2 {
		next, ok := reply[0].(string)
		if found, isList := reply[1].([]any); ok && isList {
			return next, found, nil
		}
	}
	return "", nil, errors.New("a cursor and a list were expected")
}
