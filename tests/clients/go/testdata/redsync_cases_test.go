// The servers for the tests of redsync, which are run on lockserver/client/redsync: TestTheirOwnTests puts
// this file beside theirs, in place of one that starts a redis-server for each of six libraries.

package redsync

import (
	"os"
	"strings"

	goredislib "github.com/redis/go-redis/v9"

	"lockserver/client/redsync/redis"
	"lockserver/client/redsync/redis/goredis/v9"
)

type testCase struct {
	poolCount int
	pools     []redis.Pool
}

func makeCases(poolCount int) map[string]*testCase {
	c := &testCase{poolCount: poolCount}
	for _, addr := range strings.Fields(os.Getenv("REDSYNC_SERVERS"))[:poolCount] {
		c.pools = append(c.pools, goredis.NewPool(goredislib.NewClient(&goredislib.Options{Addr: addr})))
	}
	return map[string]*testCase{"goredis_v9": c}
}
