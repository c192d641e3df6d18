package slotdata

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
	"lockserver/store"
)

// apply executes the effects of a unit.
func apply(t *testing.T, db *store.DB, unit []store.Effect) {
	for _, e := range unit {
		key := e.Args[1]
		switch string(e.Args[0]) {
		case "SET":
			db.EditString(key).Set(e.Args[2], store.NoTTL)
		case "DEL":
			db.Delete(key)
		case "HSET":
			h := db.EditHash(key)
			h.Set(e.Args[2], e.Args[3])
		case "SADD":
			s := db.EditSet(key)
			s.Add(e.Args[2])
		case "PEXPIREAT":
			at, err := strconv.ParseInt(string(e.Args[2]), 10, 64)
			require.NoError(t, err)
			db.Expire(key, at)
		default:
			t.Fatal(string(e.Args[0]))
		}
	}
}

// unitsOf returns random units. Any two neighbours differ, and so do the results of some orders.
func unitsOf(r *rand.Rand, n int) (units [][]store.Effect) {
	for i := range n {
		key := func(kind string) string { return fmt.Sprint(kind, r.IntN(5)) }
		some := []string{
			fmt.Sprint("SET ", key("text"), " ", i), "DEL " + key("text"), "DEL " + key("hash"),
			fmt.Sprint("HSET ", key("hash"), " f", r.IntN(3), " ", i), fmt.Sprint("SADD ", key("set"), " ", i),
			fmt.Sprint("PEXPIREAT ", key("text"), " ", nowUS/1000-500+int64(r.IntN(1000))),
		}
		unit := []store.Effect{effectOf(fmt.Sprint("SET last ", i))}
		for range 1 + r.IntN(3) {
			unit = append(unit, effectOf(some[r.IntN(len(some))]))
		}
		units = append(units, unit)
	}
	return units
}

// faultsOfStreams are faults between the source and the target. Each of them must make the sums differ.
var faultsOfStreams = []string{"", "piece lost", "piece doubled", "pieces reordered", "unit lost", "unit doubled", "units reordered",
	"argument changed", "value changed", "deadline changed", "key removed", "field changed"}

// TestSumSeesFaults plays streams with a fault at a random place. Overdue keys of the source are not removed.
// The stream is cut into entries anywhere. The staging is saved and read between two entries.
func TestSumSeesFaults(t *testing.T) {
	all := SlotsOf([]cluster.Range{cluster.All()})
	for seed := range uint64(4) {
		for _, fault := range faultsOfStreams {
			r := rand.New(rand.NewPCG(seed, 63))
			source, target := newStore(), newStore()
			fill(source, 9000, lower)
			for i := range 5 {
				source.DB(0).EditString(fmt.Append(nil, "text", i)).Set([]byte("v"), store.NoTTL)
			}
			ours, staging := NewSource(all, nil), NewStaging(target, all)
			pieces := send(t, source, all)
			require.Greater(t, len(pieces), 1)
			var arrived [][]byte // frames
			for _, p := range pieces {
				require.NoError(t, ours.Piece(p))
				frame, _, _ := ours.Take(math.MaxInt)
				arrived = append(arrived, frame)
			}
			ours.Whole()
			switch fault {
			case "piece lost":
				arrived = arrived[1:]
			case "piece doubled":
				arrived = append(arrived, arrived[len(arrived)-1])
			case "pieces reordered":
				arrived[0], arrived[1] = arrived[1], arrived[0]
			}
			stream := slices.Concat(arrived...)
			units := unitsOf(r, 40)
			at := 1 + r.IntN(len(units)-2)
			take := func(some int) {
				staging.Add(nowUS, stream[:some], func(argv [][]byte) error {
					apply(t, staging.DB(), []store.Effect{{Args: argv}})
					return nil
				})
				stream = stream[some:]
			}
			for i := 0; i < len(units); {
				n, now := min(1+r.IntN(5), len(units)-i), ""
				for ; n > 0; n-- {
					source.SetFrozenTime(true)
					apply(t, source.DB(0), units[i])
					source.SetFrozenTime(false)
					ours.Append(units[i])
					ours.Take(math.MaxInt) // its own frame: the test makes those that arrive
					for _, unit := range arriving(units, i, at, fault) {
						stream = appendFrame(stream, frameUnit, appendUnit(nil, unit))
					}
					if i++; i == at+1 {
						now = fault
					}
				}
				take(r.IntN(len(stream) + 1))
				if r.IntN(8) == 0 {
					staging = savedAndRead(t, staging, target)
				}
				take(len(stream))
				damage(staging.DB(), now)
				ours.Close(source)
				closing, _, _ := ours.Take(math.MaxInt)
				stream = append(stream, closing...)
				take(len(stream))
			}
			failed := strings.HasPrefix(fault, "piece doubled")
			require.Equal(t, failed, staging.Failed() != nil, "seed %d: %s: %v", seed, fault, staging.Failed())
			require.Equal(t, fault == "", ours.Digest() == staging.Digest(), "seed %d: %s", seed, fault)
		}
	}
}

// savedAndRead writes a staging into a snapshot, and reads it.
func savedAndRead(t *testing.T, s *Staging, beside *store.Store) *Staging {
	saved := s.Save()
	var file bytes.Buffer
	require.NoError(t, saved.Write(&file, nil))
	saved.Release()
	whole := file.Bytes()
	read := func(b []byte) (*Staging, error) {
		return ReadSaved(bufio.NewReader(bytes.NewReader(b)), func() *Staging { return NewStaging(beside, s.slots) }, func(f func() error) error { return f() })
	}
	again, err := read(whole)
	require.NoError(t, err)
	require.Equal(t, sumOf(s.data), sumOf(again.data))
	require.Equal(t, s.Digest(), again.Digest())
	_, err = read(whole[:len(whole)/2])
	require.ErrorIs(t, err, errSaved)
	passed, err := ReadSaved(bufio.NewReader(bytes.NewReader(whole)), nil, nil)
	require.NoError(t, err)
	require.Nil(t, passed)
	return again
}

// arriving returns what arrives at the target in the place of the unit i. The fault is at the unit at.
func arriving(units [][]store.Effect, i, at int, fault string) [][]store.Effect {
	switch {
	case fault == "unit lost" && i == at:
		return nil
	case fault == "unit doubled" && i == at:
		return [][]store.Effect{units[i], units[i]}
	case fault == "units reordered" && i == at:
		return units[i+1 : i+2]
	case fault == "units reordered" && i == at+1:
		return units[i-1 : i]
	case fault == "argument changed" && i == at:
		return [][]store.Effect{append([]store.Effect{effectOf("SET last other")}, units[i][1:]...)}
	}
	return units[i : i+1]
}

// damage changes a value of the target that the entry has set, without an effect.
func damage(db *store.DB, fault string) {
	last := []byte("last")
	switch fault {
	case "value changed":
		db.EditString(last).Set([]byte("other"), store.NoTTL)
	case "deadline changed":
		db.Expire(last, nowUS/1000+1)
	case "key removed":
		db.Delete(last)
	case "field changed":
		db.Delete(last)
		h := db.EditHash(last)
		h.Set([]byte("f"), []byte("v"))
	}
}
