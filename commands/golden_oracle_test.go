//go:build oracle

package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/tabletest"
)

// TestGoldenIsRedis: the golden file agrees with the installed Redis.
func TestGoldenIsRedis(t *testing.T) {
	redis := startOracle(t)
	redis.do("HELLO", "3")
	require.Equal(t, tabletest.Golden(), tabletest.Describe(t, redis.do))
}
