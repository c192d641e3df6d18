package aof

import (
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/internal/resp"
	"lockserver/store"
)

// Encoder writes units in the form of an incremental file.
type Encoder struct {
	db     int   // database that the file has selected, -1: none yet
	stampS int64 // second of the last annotation
}

// DB returns the selected database; -1 means that the next unit selects its own.
func (e *Encoder) DB() int { return e.db }

// Select sets the database that is selected at the place of the next unit; -1 means none.
func (e *Encoder) Select(db int) { e.db = db }

// Unit appends the effects of one unit.
func (e *Encoder) Unit(dst []byte, effects []store.Effect) []byte {
	// plant:unit-begin
	if len(effects) > 1 {
		dst = append(dst, "*1\r\n$5\r\nMULTI\r\n"...)
	}
	for i := range effects {
		// plant:unit-effect
		dst = e.effect(dst, &effects[i])
	}
	if len(effects) > 1 {
		dst = append(dst, "*1\r\n$4\r\nEXEC\r\n"...)
	}
	return dst
}

func (e *Encoder) effect(dst []byte, effect *store.Effect) []byte {
	if effect.DB != e.db {
		e.db = effect.DB
		var number [20]byte
		dst = append(dst, "*2\r\n$6\r\nSELECT\r\n"...)
		dst = resp.AppendBulk(dst, strconv.AppendInt(number[:0], int64(e.db), 10))
	}
	dst = resp.AppendArray(dst, len(effect.Args))
	for _, a := range effect.Args {
		dst = resp.AppendBulk(dst, a)
	}
	return dst
}

// annotation appends the time, if a new second has begun since the last annotation.
func (e *Encoder) annotation(dst []byte, nowMS int64) []byte {
	if s := nowMS / 1000; s != e.stampS {
		e.stampS = s
		dst = strconv.AppendInt(append(dst, "#TS:"...), s, 10)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// isMulti and isExec recognize the commands at the beginning and the end of a unit.
func isMulti(args [][]byte) bool { return ascii.EqualFold(args[0], "MULTI") }
func isExec(args [][]byte) bool  { return ascii.EqualFold(args[0], "EXEC") }

// transaction holds the commands after MULTI until EXEC arrives.
type transaction struct {
	open  bool
	begin int64 // offset of MULTI
	flat  []byte
	ends  []int // end of each argument in flat
	count []int // number of arguments of each command
	args  [][]byte
}

// start begins a transaction at an offset.
func (t *transaction) start(at int64) {
	t.open, t.begin = true, at
	t.flat, t.ends, t.count = t.flat[:0], t.ends[:0], t.count[:0]
	if cap(t.flat) > readBuffer {
		t.flat = nil
	}
}

// add keeps a copy of a command.
func (t *transaction) add(args [][]byte) {
	for _, a := range args {
		t.flat = append(t.flat, a...)
		t.ends = append(t.ends, len(t.flat))
	}
	t.count = append(t.count, len(args))
}

// each ends the transaction and passes its commands to use.
func (t *transaction) each(use func(args [][]byte) error) error {
	t.open = false
	from, i := 0, 0
	for _, n := range t.count {
		t.args = t.args[:0]
		for range n {
			to := t.ends[i]
			t.args = append(t.args, t.flat[from:to:to])
			from = to
			i++
		}
		if err := use(t.args); err != nil {
			return err
		}
	}
	return nil
}

// wholeUnits returns how many bytes at the beginning of b are whole units.
func wholeUnits(b []byte) int {
	whole, inside := 0, false
	var args [][]byte
	for at := 0; at < len(b); {
		p := parser{b: b[at:], args: args[:0]}
		n := p.parse()
		if n == 0 {
			break
		}
		at += n
		args = p.args
		switch {
		case b[at-n] == '#':
		case isMulti(args):
			inside = true
		case isExec(args):
			inside = false
		}
		if !inside {
			whole = at
		}
	}
	return whole
}
