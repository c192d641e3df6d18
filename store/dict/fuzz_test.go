package dict

import (
	"maps"
	"strconv"
	"testing"

	"lockserver/store/cow"
)

// FuzzOps runs a sequence of operations on a dict and its model. Two bytes give the operation and the key.
func FuzzOps(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x02\x03\x00\x01\x01\x04\x00\x00\x03\x02\x02\x05\x00"))
	grow := []byte{}
	for i := range 100 { // more than the size at which the first segment splits
		grow = append(grow, 6, byte(i))
	}
	grow = append(grow, 3, 0)
	for i := range 100 {
		grow = append(grow, 7, byte(i))
	}
	f.Add(grow)
	f.Fuzz(func(t *testing.T, ops []byte) {
		ops = ops[:min(len(ops), 512)] // longer inputs only take longer
		var ep cow.Epoch
		m := newModel(t, &ep)
		type snapshot struct {
			view View[int]
			want map[string]int
		}
		var open []snapshot
		for i := 0; i+1 < len(ops); i += 2 {
			op, arg := ops[i], int(ops[i+1])
			switch op % 8 {
			case 0, 1:
				m.put(strconv.Itoa(arg), i)
			case 2:
				m.remove(strconv.Itoa(arg))
			case 3:
				if len(open) < 4 {
					ep.Cut()
					open = append(open, snapshot{m.d.View(), maps.Clone(m.want)})
				}
			case 4:
				if len(open) > 0 {
					requireSame(t, open[0].want, content(open[0].view))
					open = open[1:]
					ep.Release()
				}
			case 5:
				ep.Cut()
				m.d = m.d.Clone()
				ep.Release()
			case 6: // many at once, to reach the sizes at which chunks and segments change
				for k := range 40 {
					m.put(strconv.Itoa(arg*40+k), i)
				}
			case 7:
				for k := range 40 {
					m.remove(strconv.Itoa(arg*40 + k))
				}
			}
		}
		for _, s := range open {
			requireSame(t, s.want, content(s.view))
		}
		m.verify()
	})
}
