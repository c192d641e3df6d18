//go:build simulation

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// register is a string: SET, GET, and SET with GET.
type register string

func registerFamily() family {
	key := func(n int) string { return fmt.Sprint("register:", n) }
	about := func(n int) string { return fmt.Sprint("register ", n) }
	return family{name: "register", keys: 3, model: func() sequential { return register("") },
		final: func(n int) *operation { return op(about(n), "get", "GET", key(n)) },
		draw: func(c *client, n int) *operation {
			switch v := c.fresh(); c.chance.below(5) {
			case 0, 1:
				o := op(about(n), "set", "SET", key(n), v)
				o.value = v
				return o
			case 2:
				o := op(about(n), "swap", "SET", key(n), v, "GET")
				o.value = v
				return o
			}
			return op(about(n), "get", "GET", key(n))
		}}
}

func (r register) String() string { return string(r) }

func (r register) after(op *operation) []sequential {
	is := op.reply.Str
	switch op.what {
	case "get":
		return if1(r, op.unknown || is == string(r))
	case "swap":
		return if1(register(op.value), op.unknown || is == string(r))
	}
	return if1(register(op.value), op.unknown || is == "OK")
}

// counter is a number: INCRBY and GET.
type counter int64

func counterFamily() family {
	key := func(n int) string { return fmt.Sprint("counter:", n) }
	about := func(n int) string { return fmt.Sprint("counter ", n) }
	return family{name: "counter", keys: 2, model: func() sequential { return counter(0) },
		final: func(n int) *operation { return op(about(n), "get", "GET", key(n)) },
		draw: func(c *client, n int) *operation {
			if c.chance.oneIn(3) {
				return op(about(n), "get", "GET", key(n))
			}
			by := strconv.Itoa(1 + c.chance.below(9))
			o := op(about(n), "add", "INCRBY", key(n), by)
			o.value = by
			return o
		}}
}

func (c counter) String() string { return strconv.FormatInt(int64(c), 10) }

func (c counter) after(op *operation) []sequential {
	if op.what == "get" {
		is, _ := strconv.ParseInt(op.reply.Str, 10, 64)
		return if1(c, op.unknown || is == int64(c))
	}
	by, _ := strconv.ParseInt(op.value, 10, 64)
	return if1(c+counter(by), op.unknown || op.reply.Int == int64(c)+by)
}

// members is a set of numbers below 64, with one bit each: SADD, SREM, SMEMBERS.
type members uint64

func setFamily() family {
	key := func(n int) string { return fmt.Sprint("set:", n) }
	about := func(n int) string { return fmt.Sprint("set ", n) }
	return family{name: "set", keys: 2, model: func() sequential { return members(0) },
		final: func(n int) *operation { return op(about(n), "members", "SMEMBERS", key(n)) },
		draw: func(c *client, n int) *operation {
			v := strconv.Itoa(c.chance.below(40))
			var o *operation
			switch c.chance.below(4) {
			case 0:
				o = op(about(n), "members", "SMEMBERS", key(n))
			case 1:
				o = op(about(n), "remove", "SREM", key(n), v)
			default:
				o = op(about(n), "add", "SADD", key(n), v)
			}
			o.value = v
			return o
		}}
}

func (m members) String() string { return strconv.FormatUint(uint64(m), 2) }

func (m members) after(op *operation) []sequential {
	if op.what == "members" {
		var is members
		for _, e := range op.reply.Elems {
			n, _ := strconv.Atoi(e.Str)
			is |= 1 << n
		}
		return if1(m, op.unknown || is == m)
	}
	n, _ := strconv.Atoi(op.value)
	bit := members(1) << n
	if op.what == "add" {
		return if1(m|bit, op.unknown || op.reply.Int == 1 == (m&bit == 0))
	}
	return if1(m&^bit, op.unknown || op.reply.Int == 1 == (m&bit != 0))
}

// stream holds the appended entries in order: XADD, XRANGE. An id without a reply is "?".
type stream []string

func streamFamily() family {
	key := func(n int) string { return fmt.Sprint("stream:", n) }
	about := func(n int) string { return fmt.Sprint("stream ", n) }
	return family{name: "stream", prune: withoutLost, keys: 1, model: func() sequential { return stream(nil) },
		final: func(n int) *operation { return op(about(n), "range", "XRANGE", key(n), "-", "+") },
		draw: func(c *client, n int) *operation {
			if c.chance.oneIn(3) {
				return op(about(n), "range", "XRANGE", key(n), "-", "+")
			}
			v := c.fresh()
			o := op(about(n), "add", "XADD", key(n), "*", "v", v)
			o.value = v
			return o
		}}
}

// withoutLost drops appends of unknown outcome that are missing at the end: nothing is ever removed, so they
// never happened. The rest has far fewer possible orders.
func withoutLost(ops []*operation) []*operation {
	last := ops[0]
	for _, o := range ops {
		if o.what == "range" && !o.unknown && o.ret.event > last.ret.event || last.unknown {
			last = o
		}
	}
	there := map[string]bool{}
	for _, e := range entries(last.reply) {
		_, v, _ := strings.Cut(e, "=")
		there[v] = true
	}
	return slices.DeleteFunc(slices.Clone(ops), func(o *operation) bool { return o.unknown && !there[o.value] })
}

func (s stream) String() string { return strings.Join(s, " ") }

func (s stream) after(op *operation) []sequential {
	switch {
	case op.what == "range" && op.unknown:
		return if1(s, true)
	case op.what == "range":
		is := entries(op.reply)
		ok := len(is) == len(s)
		for i := 0; ok && i < len(s); i++ {
			ok = matches(s[i], is[i])
		}
		if !ok {
			return if1(s, false)
		}
		return if1(stream(is), true)
	case op.unknown:
		return if1(append(slices.Clip(s), "?="+op.value), true)
	}
	return if1(append(slices.Clip(s), op.reply.Str+"="+op.value), true)
}

// entries returns the entries in a reply of XRANGE as id=value.
func entries(v resp.Value) (all []string) {
	for _, e := range v.Elems {
		if len(e.Elems) == 2 && len(e.Elems[1].Elems) == 2 {
			all = append(all, e.Elems[0].Str+"="+e.Elems[1].Elems[1].Str)
		}
	}
	return all
}

// matches reports whether an appended entry is the one that was read.
func matches(added, read string) bool {
	id, v, _ := strings.Cut(added, "=")
	_, w, _ := strings.Cut(read, "=")
	return added == read || id == "?" && v == w
}
