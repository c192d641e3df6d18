package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Assign accepts the result of Directives: for every directive, also with values other than the defaults.
func TestDirectivesGoThereAndBack(t *testing.T) {
	odd, err := Parse("odd.conf", []byte(`
bind 127.0.0.1 -::1
port 7001
unixsocket /tmp/s
unixsocketperm 700
save 900 1 300 10
dir /tmp
requirepass "a \" b\\ c\x00d"
appendonly yes
appendfsync always
maxmemory 3gb
maxmemory-policy allkeys-lfu
client-output-buffer-limit pubsub 32mb 8mb 60
client-output-buffer-limit normal 1mb 2mb 3
notify-keyspace-events KEA
shutdown-on-sigterm nosave now
list-max-listpack-size -1
lock-watchdog-timeout 5000
enable-debug-command local
loglevel debug
`), OSFiles())
	require.NoError(t, err)
	none := Default()
	none.Save, none.Bind, none.DBFilename = nil, nil, ""
	for _, c := range []*Config{Default(), odd, none} {
		again := Default()
		require.NoError(t, again.Assign(c.Directives()))
		require.Equal(t, c, again)
	}
}

func TestAssignRefuses(t *testing.T) {
	c := Default()
	before := c.Clone()
	for _, tt := range []struct {
		values map[string]string
		says   string
	}{
		{map[string]string{"prot": "1"}, "prot"},
		{map[string]string{"maxclients": "7", "port": "x"}, "port"},
		{map[string]string{"tls-dh-params-file": "x"}, "tls-dh-params-file"},
		{map[string]string{"hash-max-ziplist-entries": "1", "hash-max-listpack-entries": "2"}, "same directive"},
	} {
		err := c.Assign(tt.values)
		require.ErrorContains(t, err, tt.says)
		require.Equal(t, before, c, "nothing is changed")
	}
}
