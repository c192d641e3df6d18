package hll

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// SelfTest checks the registers and the estimates with random data and returns the first fault. It takes some
// milliseconds.
func SelfTest(random func() uint64) error {
	if err := testRegisters(random); err != nil {
		return err
	}
	return testEstimates(random)
}

// testRegisters writes every register of a dense HyperLogLog and reads them back.
func testRegisters(random func() uint64) error {
	b, err := ToDense(New())
	if err != nil {
		return err
	}
	var want Registers
	for range 4 * registerCount {
		at, v := int(random()%registerCount), uint8(random()%(1<<registerBits))
		put(b, at, v)
		want[at] = v
	}
	var got Registers
	if err := got.Merge(b); err != nil {
		return err
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("register %d should be %d but is %d", i, want[i], got[i])
		}
	}
	return nil
}

// testEstimates adds the same elements to a dense and a sparse HyperLogLog. It compares them, and their
// estimates with the real number: six standard errors are allowed.
func testEstimates(random func() uint64) error {
	d, err := ToDense(New())
	if err != nil {
		return err
	}
	s, lim := New(), DefaultLimits()
	seed := random()
	var element [8]byte
	for n := uint64(1); n <= 100_000; n++ {
		binary.LittleEndian.PutUint64(element[:], n^seed)
		if d, _, err = Add(lim, d, element[:]); err != nil {
			return err
		}
		if s, _, err = Add(lim, s, element[:]); err != nil {
			return err
		}
		if n&(n-1) != 0 && n != 100_000 {
			continue
		}
		dense, err := ToDense(s)
		if err != nil {
			return err
		}
		if !bytes.Equal(dense[headerSize:], d[headerSize:]) {
			return fmt.Errorf("sparse and dense differ after %d elements", n)
		}
		got, err := Count(s)
		if err != nil {
			return err
		}
		allowed := 6 * 1.04 / math.Sqrt(registerCount) * float64(n)
		if off := math.Abs(float64(got) - float64(n)); off > max(allowed, 1) {
			return fmt.Errorf("%d elements were estimated to be %d", n, got)
		}
	}
	return nil
}
