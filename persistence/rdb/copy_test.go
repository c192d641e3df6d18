package rdb

import (
	"errors"
	"io"
)

// copySnapshot writes a copy of a snapshot with the calls of a container that loads and saves values.
func copySnapshot(dst io.Writer, src io.Reader, opts WriterOptions) error {
	r := NewReader(src, ReaderOptions{})
	w := NewWriter(dst, opts)
	db, functions := -1, false
	for {
		e, err := r.Next()
		if db < 0 {
			for _, a := range r.Aux() {
				w.Aux(a.Name, a.Value)
			}
		}
		if !functions {
			for _, f := range r.Functions() {
				w.Function(f)
			}
			functions = true
		}
		if err == io.EOF {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if e.DB != db {
			db = e.DB
			w.SelectDB(db)
			keys, expires := r.SizeHint()
			w.ResizeDB(int(keys), int(expires))
		}
		if e.IdleSec >= 0 {
			w.Idle(uint64(e.IdleSec))
		}
		if e.Freq >= 0 {
			w.Freq(uint8(e.Freq))
		}
		w.Key(e.Key, e.ExpireAtMS)
		copyObject(w, &e.Object)
		if err := errors.Join(e.Err(), w.Err()); err != nil {
			return err
		}
	}
}

// copyObject writes the value that an object holds.
func copyObject(w *Writer, o *Object) {
	switch {
	case o.Kind == String && o.IsInt:
		w.StringInt(o.Int)
	case o.Kind == String:
		w.String(o.Bytes)
	case o.Kind == Hash && o.Listpack != nil:
		w.HashListpack(o.Listpack)
	case o.Kind == Hash:
		copyHash(w, o)
	case o.Kind == Set && o.Intset != nil:
		w.SetIntset(o.Intset)
	case o.Kind == Set:
		members := allMembers(o)
		w.Set(len(members))
		for _, m := range members {
			w.Member(m)
		}
	case o.Kind == List:
		members := allMembers(o)
		nodes := min(3, len(members)) // all but the last two elements in one listpack
		w.List(nodes)
		for ; nodes > 0; nodes-- {
			node := members[:1]
			if nodes == 1 {
				node = members
			}
			if members = members[len(node):]; nodes == 2 && len(node[0]) > 0 {
				w.ListPlain(node[0])
				continue
			}
			var words []string
			for _, m := range node {
				words = append(words, string(m))
			}
			w.ListPacked(pack(words...))
		}
	case o.Kind == ZSet && o.Listpack != nil:
		w.ZSetListpack(o.Listpack)
	case o.Kind == ZSet:
		copyZSet(w, o)
	case o.Kind == Stream:
		copyStream(w, o)
	}
}

func allMembers(o *Object) [][]byte {
	var all [][]byte
	for m, ok := o.NextMember(); ok; m, ok = o.NextMember() {
		all = append(all, append([]byte(nil), m...))
	}
	return all
}

func copyHash(w *Writer, o *Object) {
	var all []Field
	least := int64(0)
	for f, ok := o.NextField(); ok; f, ok = o.NextField() {
		f.Name, f.Value = append([]byte(nil), f.Name...), append([]byte(nil), f.Value...)
		all = append(all, f)
		if f.ExpireAtMS > 0 && (least == 0 || f.ExpireAtMS < least) {
			least = f.ExpireAtMS
		}
	}
	if least > 0 {
		w.HashExpiring(len(all), least)
	} else {
		w.Hash(len(all))
	}
	for _, f := range all {
		if least > 0 {
			w.ExpiringField(f.Name, f.Value, f.ExpireAtMS)
		} else {
			w.Field(f.Name, f.Value)
		}
	}
}

func copyZSet(w *Writer, o *Object) {
	type scored struct {
		member []byte
		score  float64
	}
	var all []scored
	for m, s, ok := o.NextScored(); ok; m, s, ok = o.NextScored() {
		all = append(all, scored{append([]byte(nil), m...), s})
	}
	w.ZSet(len(all))
	for _, s := range all {
		w.Scored(s.member, s.score)
	}
}

func copyStream(w *Writer, o *Object) {
	var all []StreamNode
	for n, ok := o.NextNode(); ok; n, ok = o.NextNode() {
		n.Listpack = n.Listpack.Clone()
		all = append(all, n)
	}
	w.Stream(len(all))
	for _, n := range all {
		w.StreamNode(n.Master, n.Listpack)
	}
	info, _ := o.StreamInfo()
	info.Legacy = false
	w.StreamInfo(info)
	for g, ok := o.NextGroup(); ok; g, ok = o.NextGroup() {
		w.Group(g)
	}
}
