package debug

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

const errReloadOption commands.Error = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."

func reload(c *call) error {
	var r Reload
	for _, word := range c.args {
		switch {
		case ascii.EqualFold(word, "merge"):
			r.Merge = true
		case ascii.EqualFold(word, "noflush"):
			r.NoFlush = true
		case ascii.EqualFold(word, "nosave"):
			r.NoSave = true
		default:
			return errReloadOption
		}
	}
	if err := c.host.Reload(r); err != nil {
		return err
	}
	c.Out.OK()
	return nil
}

func loadLog(c *call) error {
	if err := c.host.ReloadLog(); err != nil {
		return err
	}
	c.Out.OK()
	return nil
}
