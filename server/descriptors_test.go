package server

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFitMaxClients(t *testing.T) {
	for _, tt := range []struct {
		limit   uint64
		threads int
		clients int // in the end; 0: it is refused
		warned  bool
	}{
		{10_032, 1, 10_000, false},
		{1 << 20, 1, 10_000, false},
		{10_031, 1, 9_999, true},
		{10_033, 2, 9_999, true},
		{1024, 1, 992, true},
		{33, 1, 1, true},
		{32, 1, 0, false},
		{0, 1, 0, false},
	} {
		fits, warning, err := fitMaxClients(10_000, tt.threads, func(need uint64) (uint64, bool, error) { return tt.limit, true, errors.New("no") })
		if tt.clients == 0 {
			require.ErrorContains(t, err, "which leaves none for clients")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.clients, fits)
		require.Equal(t, tt.warned, warning != "", "%+v: %s", tt, warning)
	}
	fits, warning, err := fitMaxClients(10_000, 1, func(uint64) (uint64, bool, error) { return 0, false, nil })
	require.NoError(t, err)
	require.Empty(t, warning)
	require.Equal(t, 10_000, fits, "a system that does not tell")
}
