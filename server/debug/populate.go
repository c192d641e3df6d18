package debug

import (
	"strconv"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/store"
)

// populate makes missing keys, and leaves existing keys alone. They are logged like any write.
func populate(c *call) error {
	count, err := c.natural(0)
	if err != nil {
		return err
	}
	prefix, size := []byte("key"), int64(0)
	if len(c.args) > 1 {
		prefix = c.args[1]
	}
	if len(c.args) > 2 {
		if size, err = c.natural(2); err != nil {
			return err
		}
		if size > c.Settings.MaxStringBytes {
			return commands.ErrStringTooBig
		}
	}
	var key, value []byte
	for i := range count {
		key = strconv.AppendInt(append(append(key[:0], prefix...), ':'), i, 10)
		if c.DB.Peek(key).OK() {
			continue
		}
		value = strconv.AppendInt(append(value[:0], "value:"...), i, 10)
		if size > 0 {
			value = padded(value, int(size))
		}
		c.DB.EditString(key).Set(value, store.NoTTL)
	}
	c.Out.OK()
	return nil
}

// natural reads a word as a number of at least 0.
func (c *call) natural(at int) (int64, error) {
	n, ok := decimal.ParseInt(c.args[at])
	if !ok || n < 0 {
		return 0, commands.ErrNotPositive
	}
	return n, nil
}

// padded cuts a value to a size, or fills it up with zero bytes, as Redis does.
func padded(value []byte, size int) []byte {
	for len(value) < size {
		value = append(value, 0)
	}
	return value[:size]
}
