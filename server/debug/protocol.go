package debug

import (
	"strings"

	"lockserver/commands"
)

const (
	errNoPush      commands.Error = "ERR RESP2 is not supported by this command"
	errNoSuchReply commands.Error = "ERR Wrong protocol type name. Please use one of the following: " +
		"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"
)

// replies holds the replies of DEBUG PROTOCOL by type, for testing a client's decoder.
func replies() map[string]func(c *call) error {
	plain := func(write func(c *call)) func(*call) error {
		return func(c *call) error {
			write(c)
			return nil
		}
	}
	three := func(c *call) {
		for i := range int64(3) {
			c.Out.Int(i)
		}
	}
	return map[string]func(c *call) error{
		"string":  plain(func(c *call) { c.Out.BulkString("Hello World") }),
		"integer": plain(func(c *call) { c.Out.Int(12345) }),
		"double":  plain(func(c *call) { c.Out.Double(3.141) }),
		"bignum":  plain(func(c *call) { c.Out.BigNumber("1234567999999999999999999999999999999") }),
		"null":    plain(func(c *call) { c.Out.Null() }),
		"array":   plain(func(c *call) { c.Out.Array(3); three(c) }),
		"set":     plain(func(c *call) { c.Out.Set(3); three(c) }),
		"map": plain(func(c *call) {
			c.Out.Map(3)
			for i := range int64(3) {
				c.Out.Int(i)
				c.Out.Bool(i == 1)
			}
		}),
		"attrib":   plain(attribute),
		"push":     push,
		"verbatim": plain(func(c *call) { c.Out.Verbatim("txt", "This is a verbatim\nstring") }),
		"true":     plain(func(c *call) { c.Out.Bool(true) }),
		"false":    plain(func(c *call) { c.Out.Bool(false) }),
	}
}

func protocol(c *call) error {
	reply := replies()[strings.ToLower(string(c.args[0]))]
	if reply == nil {
		return errNoSuchReply
	}
	return reply(c)
}

// attribute is a reply with an attribute before it, which version 2 of the protocol does not have.
func attribute(c *call) {
	if c.Out.Proto >= 3 {
		c.Out.Raw([]byte("|1\r\n"))
		c.Out.BulkString("key-popularity")
		c.Out.Array(2)
		c.Out.BulkString("key:123")
		c.Out.Int(90)
	}
	c.Out.BulkString("Some real reply following the attribute")
}

// push writes a reply with a push message after it, in the order of Redis.
func push(c *call) error {
	if c.Out.Proto < 3 {
		return errNoPush
	}
	c.Out.BulkString("Some real reply following the push reply")
	c.Out.Push(2)
	c.Out.BulkString("server-cpu-usage")
	c.Out.Int(42)
	return nil
}
