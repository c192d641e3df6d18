package commands

import (
	"math"

	"lockserver/internal/resp"
	"lockserver/store/list"
)

func llen(c *Ctx) error {
	l, err := c.findList(c.Argv[1])
	if err != nil {
		return err
	}
	n := 0
	if l != nil {
		n = l.Len()
	}
	// plant:list-length
	c.Out.Int(int64(n))
	return nil
}

// lindex checks the key before the index, as Redis does.
func lindex(c *Ctx) error {
	a := c.Args()
	l, err := c.findList(a.Key())
	if err != nil {
		return err
	}
	if l == nil {
		c.Out.Null()
		return nil
	}
	i := a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	if v, ok := l.Index(int(i)); ok {
		writeElement(c.Out, v)
	} else {
		c.Out.Null()
	}
	return nil
}

func lrange(c *Ctx) error {
	a := c.Args()
	key, start, stop := a.Key(), a.Int(), a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	l, err := c.findList(key)
	if err != nil {
		return err
	}
	if l == nil {
		c.Out.Array(0)
		return nil
	}
	from, n := between(start, stop, l.Len())
	c.Out.Array(n)
	l.Range(from, n, list.Right, func(v list.Value) bool {
		writeElement(c.Out, v)
		return true
	})
	return nil
}

// between returns the part of a list of the given length between two inclusive indexes. A negative index
// counts from the end.
func between(start, stop int64, length int) (from, n int) {
	if start < 0 {
		start = max(start+int64(length), 0)
	}
	if stop < 0 {
		stop += int64(length)
	}
	stop = min(stop, int64(length)-1)
	if start > stop {
		return 0, 0
	}
	return int(start), int(stop - start + 1)
}

// writeElement writes an element of a list.
func writeElement(out *resp.Writer, v list.Value) {
	if v.IsInt {
		out.BulkInt(v.Int)
	} else {
		out.Bulk(v.Bytes())
	}
}

// positionCall holds the options of LPOS.
type positionCall struct {
	rank   int64 // the first match that counts; negative: from the right
	count  int64 // the largest number of matches, 0 means all; -1: no COUNT, so the reply is no array
	maxLen int64 // the largest number of elements to compare, 0 means all
}

func lpos(c *Ctx) error {
	a := c.Args()
	key, element := a.Key(), a.Bytes()
	call := positionCall{rank: 1, count: -1}
	call.read(a)
	if err := a.Err(); err != nil {
		return err
	}
	l, err := c.findList(key)
	if err != nil {
		return err
	}
	switch {
	case call.count >= 0:
		call.writeAll(c.Out, l, element)
	case l == nil:
		c.Out.Null()
	default:
		call.writeFirst(c.Out, l, element)
	}
	return nil
}

func (p *positionCall) read(a *Scanner) {
	for a.More() {
		switch a.Option() {
		case "RANK":
			switch p.rank = a.Int(); p.rank {
			case 0:
				a.Fail(ErrRankZero)
			case math.MinInt64:
				a.Fail(ErrCountRange)
			}
		case "COUNT":
			if p.count = a.IntOr(ErrCountSign); p.count < 0 {
				a.Fail(ErrCountSign)
			}
		case "MAXLEN":
			if p.maxLen = a.IntOr(ErrMaxLenSign); p.maxLen < 0 {
				a.Fail(ErrMaxLenSign)
			}
		default:
			a.Syntax()
		}
	}
}

// matches calls fn with the index of each match that counts.
func (p *positionCall) matches(l *list.List, element []byte, fn func(i int) bool) {
	from, skip := list.Left, p.rank-1
	if p.rank < 0 {
		from, skip = list.Right, -p.rank-1
	}
	l.Matches(element, from, int(p.maxLen), func(i int) bool {
		if skip > 0 {
			skip--
			return true
		}
		return fn(i)
	})
}

func (p *positionCall) writeFirst(out *resp.Writer, l *list.List, element []byte) {
	found := -1
	p.matches(l, element, func(i int) bool {
		found = i
		return false
	})
	if found < 0 {
		out.Null()
	} else {
		out.Int(int64(found))
	}
}

func (p *positionCall) writeAll(out *resp.Writer, l *list.List, element []byte) {
	if l == nil {
		out.Array(0)
		return
	}
	n := 0
	array := out.DeferArray()
	p.matches(l, element, func(i int) bool {
		out.Int(int64(i))
		n++
		return p.count == 0 || int64(n) < p.count
	})
	out.SetArray(array, n)
}
