package commands

import (
	"lockserver/internal/glob"
	"lockserver/store"
)

// lockList lists the held locks of the database that the client may read, in no order: those that have a
// token. One that Redisson's scripts took is among them as soon as a native command has.
func lockList(c *Ctx) error {
	var pattern, owner []byte
	most := int64(-1)
	for a := c.Args(); a.More(); {
		switch a.Option() {
		case "MATCH":
			pattern = a.Bytes()
		case "OWNER":
			owner = a.Bytes()
		case "COUNT":
			if most = a.IntOr(ErrNotPositive); most < 1 {
				a.Fail(ErrNotPositive)
			}
		}
		if err := a.Err(); err != nil {
			return err
		}
	}
	list := c.Out.DeferArray()
	n := int64(0)
	c.DB.EachToken(func(key string, r store.Ref) bool {
		if pattern != nil && !glob.Match(pattern, []byte(key), false) || !c.Host.MayRead(c, []byte(key)) {
			return true
		}
		l, err := lockAt(r)
		if err != nil || l.Holds == 0 || owner != nil && string(l.Owner) != string(owner) {
			return true
		}
		c.Out.Map(5)
		c.Out.BulkString("key")
		c.Out.BulkString(key)
		c.Out.BulkString("owner")
		c.Out.Bulk(l.Owner)
		c.Out.BulkString("holds")
		c.Out.Int(l.Holds)
		c.Out.BulkString("token")
		c.Out.Int(l.Token)
		c.Out.BulkString("ttl")
		c.Out.Int(l.TTLMS(c.NowMS()))
		n++
		return n != most
	})
	c.Out.SetArray(list, int(n))
	return nil
}
