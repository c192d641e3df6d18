package acl

import (
	"crypto/rand"
	"encoding/hex"

	"lockserver/commands"
)

func cat(c *commands.Ctx, h Directory) error {
	var names []string
	switch len(c.Argv) {
	case 2:
		names = commands.AllCategories()
	case 3:
		category, ok := commands.CategoryByName(c.Argv[2])
		if !ok {
			return commands.ErrCategory(c.Argv[2])
		}
		names = h.Users().maker.table.Names(func(r *commands.Row) bool { return r.Categories()&category != 0 })
	default:
		return commands.ErrSubcommandSyntax("acl", c.Argv[1])
	}
	writeWords(c.Out, names)
	return nil
}

const (
	passwordBits     = 256
	mostPasswordBits = 4096
)

// genPass replies with hexadecimal digits, of four bits each.
func genPass(c *commands.Ctx, _ Directory) error {
	if len(c.Argv) > 3 {
		return commands.ErrSubcommandSyntax("acl", c.Argv[1])
	}
	bits := int64(passwordBits)
	if a := c.Args(); a.More() {
		bits = a.Int()
		if err := a.Err(); err != nil {
			return err
		}
		if bits < 1 || bits > mostPasswordBits {
			return commands.ErrPasswordBits
		}
	}
	digits := (bits + 3) / 4
	secret := make([]byte, (digits+1)/2)
	_, _ = rand.Read(secret) // never fails
	c.Out.BulkString(hex.EncodeToString(secret)[:digits])
	return nil
}
