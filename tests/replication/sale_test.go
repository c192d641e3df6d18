package replication

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestHoldsOfAReplica: a replica cancels no order of a sale, however overdue. When it leads, unconfirmed
// orders end at their times, or at once, and confirmed orders stay sold.
func TestHoldsOfAReplica(t *testing.T) {
	for name, early := range map[string]bool{"promoted before the end": true, "promoted after it": false} {
		t.Run(name, func(t *testing.T) {
			clock := server.NewManualClock(time.Now())
			master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{Clock: clock})
			for _, c := range [][2]string{{"SECKILL.CREATE v STOCK 5 HOLD 100000", "+OK"}, {"SECKILL v ann o1", "0"}, {"SECKILL v ben o2", "0"},
				{"SECKILL.CONFIRM v ben o2", "1"}} {
				require.Equal(t, c[1], master.do(c[0]), c[0])
			}
			replica.follow(master.addr)
			inStep(t, master, replica)
			require.Contains(t, replica.do("SECKILL v carl o3"), "-READONLY")
			promote := func() { require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE")) }
			if early {
				clock.Advance(10 * time.Second)
				promote()
				clock.Advance(10 * time.Second)
				require.Equal(t, `"3"`, replica.do("GET seckill:stock:v"), "it has not had its time")
				clock.Advance(200 * time.Second)
			} else {
				clock.Advance(200 * time.Second)
				require.Equal(t, `"3"`, replica.do("GET seckill:stock:v"), "only its master takes it back")
				promote()
			}
			eventually(t, "what nobody has confirmed is for sale again", func() bool {
				clock.Advance(time.Second)
				return replica.do("GET seckill:stock:v") == `"4"`
			})
			require.Equal(t, "0", replica.do("SECKILL v ann o4"))
			require.Equal(t, "2", replica.do("SECKILL v ben o5"), "that one is sold")
			require.Equal(t, `"3"`, replica.do("GET seckill:stock:v"))
		})
	}
}
