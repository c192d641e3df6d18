package raft

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"lockserver/server/cluster"
	"lockserver/server/slotdata"
	"lockserver/server/slotmove"
)

// stagings are the stores of slots that arrive, one for each element of slotmove.Table.In. The log of the
// group makes and fills them, so all members have the same. They are used under the host's lock.
type stagings map[slotmove.ID]*slotdata.Staging

// used returns the memory of all of them, in bytes.
func (all stagings) used() (n int) {
	for _, s := range all {
		n += s.Used()
	}
	return n
}

// savedStagings are the stagings in a cut of the group's data.
type savedStagings []savedStaging

type savedStaging struct {
	id    slotmove.ID
	slots []cluster.Range
	saved *slotdata.Saved
}

// save takes all stagings as they are now.
func (o *OwnedSlots) save() (all savedStagings) {
	s := o.now.Load()
	if s == nil {
		return nil
	}
	for i := range s.table.In {
		in := &s.table.In[i]
		all = append(all, savedStaging{in.Move, in.Slots, o.stagings[in.Move].Save()})
	}
	return all
}

// write writes the stagings behind the head of a snapshot of a group that has moved slots. The format, do not
// change, is the number of stagings, and for each:
//   - the name of the source, and the number of the move;
//   - the number of ranges, and the first and the last slot of each;
//   - the result of slotdata.Saved.
//
// The name begins with its
// length. All numbers are unsigned varints.
func (all savedStagings) write(w io.Writer) error {
	b := binary.AppendUvarint(nil, uint64(len(all)))
	for i := range all {
		s := &all[i]
		b = binary.AppendUvarint(b, uint64(len(s.id.Source)))
		b = append(b, s.id.Source...)
		b = binary.AppendUvarint(b, uint64(s.id.Number))
		b = binary.AppendUvarint(b, uint64(len(s.slots)))
		for _, r := range s.slots {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.First)), uint64(r.Last))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		if err := s.saved.Write(w, nil); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := w.Write(b)
	return err
}

// release frees the memory of the cuts. Under the lock.
func (all savedStagings) release() {
	for i := range all {
		all[i].saved.Release()
	}
}

var errStagings = errors.New("a snapshot of the group has damaged slots that arrive")

// mostName bounds the length of the name of a shard.
const mostName = 64

// readStagings reads the result of write. Without a host they are passed over.
func readStagings(r *bufio.Reader, host MemberServer) (all stagings, err error) {
	number := func(most uint64) (n uint64) {
		if err == nil {
			if n, err = binary.ReadUvarint(r); err == nil && n > most {
				n, err = 0, errStagings
			}
		}
		return n
	}
	for count := number(1 << 10); count > 0 && err == nil; count-- {
		name := make([]byte, number(mostName))
		if err == nil {
			_, err = io.ReadFull(r, name)
		}
		id := slotmove.ID{Source: string(name), Number: int64(number(1 << 62))}
		var slots []cluster.Range
		for n := number(1 << 14); n > 0 && err == nil; n-- {
			first := number(1<<14 - 1)
			slots = append(slots, cluster.Range{First: int(first), Last: int(number(1<<14 - 1))})
		}
		if err != nil {
			break
		}
		if host == nil {
			_, err = slotdata.ReadSaved(r, nil, nil)
			continue
		}
		var s *slotdata.Staging
		s, err = slotdata.ReadSaved(r, func() *slotdata.Staging { return host.NewStaging(slots) }, func(f func() error) (err error) {
			host.Slice(func() { err = f() })
			return err
		})
		if all == nil {
			all = stagings{}
		}
		all[id] = s
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStagings, err)
	}
	return all, nil
}

// complete returns an error if the stagings of a snapshot are not those of its table.
func (all stagings) complete(s *groupSlots) error {
	n := 0
	if s != nil {
		n = len(s.table.In)
		if slices.ContainsFunc(s.table.In, func(in slotmove.In) bool { return all[in.Move] == nil }) {
			return errStagings
		}
	}
	if len(all) != n {
		return errStagings
	}
	return nil
}
