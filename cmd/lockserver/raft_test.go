package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListensElsewhere: raft-listen and the address in raft-members may differ in words and mean the same.
func TestListensElsewhere(t *testing.T) {
	for _, c := range []struct {
		listen, member string
		elsewhere      bool
	}{
		{"10.0.0.1:7000", "10.0.0.1:7000", false},
		{"10.0.0.1:7000", "10.0.0.2:7000", true},
		{"10.0.0.1:7000", "10.0.0.1:7001", true},
		{":7000", "10.0.0.1:7000", false},
		{"0.0.0.0:7000", "10.0.0.1:7000", false},
		{"[::]:7000", "a.example:7000", false},
		{":7000", "10.0.0.1:7001", true},
		{"10.0.0.1:7000", "a.example:7000", false},
		{"localhost:7000", "127.0.0.1:7000", false},
		{"a:7000", "A.:7000", false},
		{"a:7000", "b:7000", true},
		{"[::1]:7000", "[0:0::1]:7000", false},
		{"x", "b:7000", false},
	} {
		require.Equal(t, c.elsewhere, elsewhere(c.listen, c.member), "%+v", c)
	}
}
