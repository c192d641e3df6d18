//go:build oracle

package differential

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// TestFlushSaves: with save points FLUSHALL writes a snapshot, which contains all changes up to then.
func TestFlushSaves(t *testing.T) {
	conf := configOf("")
	conf.Dir, conf.DBFilename, conf.Save = t.TempDir(), "dump.rdb", []config.SavePoint{{PeriodMS: 3_600_000, Changes: 1000}}
	p := startPairOf(t, conf, "--save", "3600 1000")
	p.begin(2)
	for _, line := range []string{
		"SET k v ; FLUSHALL", "SET k v ; FLUSHALL ASYNC ; SET k v", "SET k v ; FLUSHDB", "FLUSHALL", "MULTI ; SET k v ; FLUSHALL ; SET k v ; EXEC",
		"EVAL redis.call('set','k',1)redis.call('flushall')redis.call('set','k',2) 0", "FLUSHALL NOW",
		"SET k v ; CONFIG SET save 3600·1000·60·5 ; FLUSHALL", "CONFIG RESETSTAT ; SET k v ; FLUSHALL",
	} {
		for command := range strings.SplitSeq(line, ";") {
			args := strings.Fields(command)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "·", " ")
			}
			ours, redis := p.do(args...)
			require.Equal(t, redis.String(), ours.String(), command)
		}
		a, b := infoFields(p.ours.watch.Do("INFO", "persistence").Str), infoFields(p.redis.watch.Do("INFO", "persistence").Str)
		for _, name := range []string{"rdb_changes_since_last_save", "rdb_saves", "rdb_last_bgsave_status"} {
			require.Equal(t, b[name], a[name], "%s after %s", name, line)
		}
	}
}
