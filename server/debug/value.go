package debug

import (
	"encoding/hex"
	"fmt"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/store"
	"lockserver/store/list"
	"lockserver/store/listpack"
)

const (
	errNoListpack  commands.Error = "ERR Not a listpack encoded object."
	errNoQuicklist commands.Error = "ERR Not a quicklist encoded object."
	errNoString    commands.Error = "ERR Not an sds encoded string."
	errNoTable     commands.Error = "ERR The value stored at the specified key is not represented using an hash table"
	errNoDatabase  commands.Error = "ERR Out of range database"
)

func digestOf(c *call) error {
	d := digest.Of(c.DB.Store())
	c.Out.Simple(hex.EncodeToString(d[:]))
	return nil
}

func digestValues(c *call) error {
	c.Out.Array(len(c.args))
	for _, key := range c.args {
		d := digest.Value(c.DB.Peek(key))
		c.Out.Simple(hex.EncodeToString(d[:]))
	}
	return nil
}

// find returns the value of the call's key. That does not count as a use of the key.
func (c *call) find() (r store.Ref, err error) {
	if r = c.DB.Peek(c.args[0]); !r.OK() {
		return r, commands.ErrNoSuchKey
	}
	return r, nil
}

// payloadFrame is the size of a DUMP payload without the value: its kind, the version, a checksum.
const payloadFrame = 1 + 2 + 8

// lruClockMask masks the bits of Redis' clock of uses, in seconds.
const lruClockMask = 1<<24 - 1

// object describes a value in the words of Redis. Addresses of values would be meaningless here.
func object(c *call) error {
	r, err := c.find()
	if err != nil {
		return err
	}
	idle := int64(0)
	if st := c.DB.Store(); !st.LFU() {
		idle = st.IdleS(r)
	}
	text := fmt.Sprintf("Value at:0x0 refcount:1 encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d", r.Encoding(),
		len(persistence.Dump(nil, r, c.host.Compresses()))-payloadFrame, (c.NowMS()/1000-idle)&lruClockMask, idle)
	if r.Kind() == store.List && r.Encoding() == "quicklist" {
		text += describeQuicklist(r.List(), c.DB.Store().Limits().List.Fill)
	}
	c.Out.Simple(text)
	return nil
}

// describeQuicklist returns the text of DEBUG OBJECT for a list of several nodes. fill is
// list-max-listpack-size.
func describeQuicklist(l *list.List, fill int) string {
	bytes := 0
	l.EachNode(func(b []byte, _ bool) { bytes += len(b) })
	nodes := l.NodeCount()
	return fmt.Sprintf(" ql_nodes:%d ql_avg_node:%.2f ql_listpack_max:%d ql_compressed:0 ql_uncompressed_size:%d",
		nodes, float64(l.Len())/float64(nodes), fill, bytes)
}

func sizes(c *call) error {
	r, err := c.find()
	switch {
	case err != nil:
		return err
	case r.Kind() != store.String || r.Encoding() == "int":
		return errNoString
	}
	key, value := len(c.args[0]), len(r.Bytes())
	c.Out.Simple(fmt.Sprintf("key_sds_len:%d, key_sds_avail:0, key_zmalloc: %d, val_sds_len:%d, val_sds_avail:0, val_zmalloc: %d",
		key, key, value, value))
	return nil
}

// listpackOf writes a small value's elements to the log; Redis writes them to its standard output.
func listpackOf(c *call) error {
	r, err := c.find()
	if err != nil {
		return err
	}
	lp, ok := packed(r)
	if !ok {
		return errNoListpack
	}
	c.host.Log(fmt.Sprintf("DEBUG LISTPACK: %d bytes: %q", len(lp), []byte(lp)))
	c.Out.Simple("Listpack structure printed on stdout")
	return nil
}

func packed(r store.Ref) (listpack.List, bool) {
	switch r.Kind() {
	case store.Hash:
		return r.Hash().Listpack()
	case store.Set:
		return r.Set().Listpack()
	case store.ZSet:
		return r.ZSet().Listpack()
	case store.List:
		return r.List().Listpack()
	}
	return nil, false
}

// quicklistOf writes the nodes of a list to the log; Redis writes them to its standard output.
func quicklistOf(c *call) error {
	r, err := c.find()
	switch {
	case err != nil:
		return err
	case r.Kind() != store.List || r.Encoding() != "quicklist":
		return errNoQuicklist
	}
	full, at := len(c.args) > 1 && number(c.args[1]) != 0, 0
	r.List().EachNode(func(b []byte, plain bool) {
		text := fmt.Sprintf("DEBUG QUICKLIST: node %d: %d bytes", at, len(b))
		if plain {
			text += ", one element"
		}
		if full {
			text += fmt.Sprintf(": %q", b)
		}
		c.host.Log(text)
		at++
	})
	c.Out.Simple("Quicklist structure printed on stdout")
	return nil
}

// htStats replies with the number of keys in a database, in the format of Redis. The tables of Redis have
// other sizes.
func htStats(c *call) error {
	id, ok := decimal.ParseInt(c.args[0])
	st := c.DB.Store()
	switch {
	case !ok:
		return commands.ErrNotInteger
	case id < 0 || id >= int64(st.Len()):
		return errNoDatabase
	}
	db := st.DB(int(id))
	c.Out.Verbatim("txt", "[Dictionary HT]\n"+table(db.Len())+"[Expires HT]\n"+table(db.Keys().Timed()))
	return nil
}

func htStatsOfKey(c *call) error {
	r, err := c.find()
	if err != nil {
		return err
	}
	n := 0
	switch encoding := r.Encoding(); {
	case encoding == "skiplist":
		n = r.ZSet().Len()
	case encoding != "hashtable":
		return errNoTable
	case r.Kind() == store.Set:
		n = r.Set().Len()
	default:
		n = r.Hash().Len()
	}
	c.Out.Verbatim("txt", table(n))
	return nil
}

func table(elements int) string {
	if elements == 0 {
		return ""
	}
	size := 4
	for size < elements {
		size *= 2
	}
	return fmt.Sprintf("Hash table 0 stats (main hash table):\n table size: %d\n number of elements: %d\n", size, elements)
}
