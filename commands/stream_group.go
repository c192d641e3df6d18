package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/stream"
)

// groupCall holds the names in an XGROUP, and the options of CREATE and SETID.
type groupCall struct {
	key, name []byte
	id        []byte
	mkStream  bool
	read      int64
}

// The largest numbers of words of XGROUP CREATE and SETID. Repeated options are refused if they make the call
// longer.
const (
	maxXGroupCreate = 8
	maxXGroupSetID  = 7
)

// readGroupCall reads an XGROUP up to the name of its group.
func readGroupCall(a *Scanner) groupCall {
	return groupCall{key: a.Key(), name: a.Bytes(), read: stream.UnknownRead}
}

// readOptions reads the ID and the options after it.
func (g *groupCall) readOptions(c *Ctx, a *Scanner) {
	g.id = a.Bytes()
	for a.More() {
		switch w := a.MaybeOption(); {
		case w == "MKSTREAM": // only the row of CREATE declares it
			g.mkStream = true
		case w == "ENTRIESREAD" && a.More():
			if g.read = a.Int(); a.Err() == nil && g.read < 0 && g.read != stream.UnknownRead {
				a.Fail(ErrEntriesRead)
			}
		default:
			a.Fail(ErrSubcommandSyntax("xgroup", c.Argv[1]))
		}
	}
}

// open opens the stream of the call. The stream must exist unless the call has MKSTREAM.
func (g *groupCall) open(c *Ctx) (e store.StreamEdit, err error) {
	e, ok := c.DB.OpenStream(g.key)
	switch {
	case !ok:
		return e, ErrWrongType
	case e.Stream() == nil && !g.mkStream:
		return e, ErrXGroupNoKey
	}
	return e, nil
}

// openGroup opens the group of the call, which must exist.
func (g *groupCall) openGroup(c *Ctx) (store.GroupEdit, error) {
	e, err := g.open(c)
	if err != nil {
		return store.GroupEdit{}, err
	}
	group, ok := e.EditGroup(g.name)
	if !ok {
		return group, ErrNoGroup(g.name, g.key)
	}
	return group, nil
}

// lastID returns the ID that the call gives a group of s; s is nil if the key does not exist yet.
func (g *groupCall) lastID(s *stream.Stream) (id stream.ID, err error) {
	if string(g.id) == "$" {
		if s != nil {
			id = s.LastID()
		}
		return id, nil
	}
	id, ok := parseStreamID(g.id, 0)
	if !ok {
		return id, ErrStreamID
	}
	return id, nil
}

// lastOrEnd is lastID for SETID, which also takes - and + for the lowest and the highest possible ID.
func (g *groupCall) lastOrEnd(s *stream.Stream) (stream.ID, error) {
	switch string(clip(g.id, len(g.id))) {
	case "-":
		return stream.ID{}, nil
	case "+":
		return stream.MaxID(), nil
	}
	return g.lastID(s)
}

func xgroupCreate(c *Ctx) error {
	a := c.Args()
	call := readGroupCall(a)
	call.readOptions(c, a)
	if err := a.Err(); err != nil {
		return err
	}
	e, err := call.open(c)
	if err != nil {
		return err
	}
	if len(c.Argv) > maxXGroupCreate {
		return ErrSubcommandSyntax("xgroup", c.Argv[1])
	}
	last, err := call.lastID(e.Stream())
	if err != nil {
		return err
	}
	if !e.CreateGroup(call.name, last, call.read) {
		return ErrBusyGroup
	}
	c.Notify(keyevent.Stream, "xgroup-create", call.key)
	c.Out.OK()
	return nil
}

func xgroupSetID(c *Ctx) error {
	a := c.Args()
	call := readGroupCall(a)
	call.readOptions(c, a)
	if err := a.Err(); err != nil {
		return err
	}
	g, err := call.openGroup(c)
	if err != nil {
		return err
	}
	if len(c.Argv) > maxXGroupSetID {
		return ErrSubcommandSyntax("xgroup", c.Argv[1])
	}
	last, err := call.lastOrEnd(g.Stream())
	if err != nil {
		return err
	}
	g.SetID(last, call.read)
	c.Notify(keyevent.Stream, "xgroup-setid", call.key)
	c.Out.OK()
	return nil
}

func xgroupDestroy(c *Ctx) error {
	a := c.Args()
	call := readGroupCall(a)
	if err := a.Err(); err != nil {
		return err
	}
	e, err := call.open(c)
	if err != nil {
		return err
	}
	gone := e.DestroyGroup(call.name)
	if gone {
		c.Notify(keyevent.Stream, "xgroup-destroy", call.key)
	}
	c.Out.Int(countIf(gone))
	return nil
}

func xgroupCreateConsumer(c *Ctx) error {
	a := c.Args()
	call, consumer := readGroupCall(a), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	g, err := call.openGroup(c)
	if err != nil {
		return err
	}
	_, added := consumerOf(c, &g, call.key, consumer)
	c.Out.Int(countIf(added))
	return nil
}

// consumerOf returns a consumer of a group of key's stream, and creates it if it does not exist.
func consumerOf(c *Ctx, g *store.GroupEdit, key, name []byte) (consumer *stream.Consumer, added bool) {
	consumer, added = g.Consumer(name)
	if added {
		c.Notify(keyevent.Stream, "xgroup-createconsumer", key)
	}
	return consumer, added
}

func xgroupDelConsumer(c *Ctx) error {
	a := c.Args()
	call, consumer := readGroupCall(a), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	g, err := call.openGroup(c)
	if err != nil {
		return err
	}
	known := g.Group().Consumer(consumer) != nil
	c.Out.Int(int64(g.RemoveConsumer(consumer)))
	if known {
		c.Notify(keyevent.Stream, "xgroup-delconsumer", call.key)
	}
	return nil
}

// countIf returns 1 if done, else 0.
func countIf(done bool) int64 {
	if done {
		return 1
	}
	return 0
}

// xack replies how many entries it has acknowledged. It checks the IDs only if the group exists, as Redis
// does.
func xack(c *Ctx) error {
	a := c.Args()
	key, name := a.Key(), a.Bytes()
	e, g, err := openGroup(c, key, name)
	if err != nil {
		return err
	}
	if e == nil {
		c.Out.Int(0)
		return nil
	}
	ids := streamIDs(a)
	if err := a.Err(); err != nil {
		return err
	}
	acknowledged := int64(0)
	for _, id := range ids {
		acknowledged += countIf(g.Acknowledge(id))
	}
	c.Out.Int(acknowledged)
	return nil
}

// openGroup opens a group for writing; e is nil if the key or the group does not exist. XACK and its
// relatives look the key up as if to read it, as in Redis, so a miss is reported as an event.
func openGroup(c *Ctx, key, name []byte) (e *store.StreamEdit, g *store.GroupEdit, err error) {
	return openGroupOf(c, c.DB.Find(key), key, name)
}

// openGroupOf is openGroup for a key that was already looked up.
func openGroupOf(c *Ctx, r store.Ref, key, name []byte) (e *store.StreamEdit, g *store.GroupEdit, err error) {
	if !r.Is(store.Stream) {
		return nil, nil, ErrWrongType
	}
	edit := c.DB.EditStream(key)
	group, ok := edit.EditGroup(name)
	if !ok {
		return nil, nil, nil
	}
	return &edit, &group, nil
}

// streamIDs reads the remaining arguments as IDs.
func streamIDs(a *Scanner) []stream.ID {
	var ids []stream.ID
	for a.More() && a.Err() == nil {
		ids = append(ids, streamID(a))
	}
	return ids
}
