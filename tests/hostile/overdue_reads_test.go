package hostile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// These tests are about the replies of native commands on locks, semaphores, latches, sales and filters,
// while some of their holders are overdue and must not be removed. The replies must be those after the
// removal of these holders.

// Leases of soonMS have ended an hour after fillHolders, those of lateMS have not.
const soonMS, lateMS = "1800000", "99999999"

// holderKinds lists the values that fillHolders creates under the key %. A lease is soonMS or lateMS long.
var holderKinds = []struct {
	name  string
	lines []string
}{
	{"exclusive", []string{"LOCK % a PX soon"}},
	{"exclusive-live", []string{"LOCK % a PX late"}},
	{"exclusive-by-hand", []string{"LOCK % a PX late", "HPEXPIRE % soon FIELDS 1 a"}},
	{"shared-first", []string{"LOCK % a SHARED PX soon", "LOCK % b SHARED PX late", "LOCK % c SHARED PX late"}},
	{"shared-last", []string{"LOCK % a SHARED PX late", "LOCK % b SHARED PX soon"}},
	{"shared-all", []string{"LOCK % a SHARED PX soon", "LOCK % b SHARED PX soon"}},
	{"shared-none", []string{"LOCK % a SHARED PX late", "LOCK % b SHARED PX late"}},
	{"shared-by-hand", []string{"LOCK % a SHARED PX soon", "LOCK % b SHARED PX late", "HSET % a by-hand"}},
	{"shared-with-script", []string{"LOCK % a SHARED PX soon", "LOCK % b SHARED PX late", "SET {%}:c:rwlock_timeout:1 1 PX late", "HINCRBY % c 1"}},
	{"shared-then-script", []string{"LOCK % a SHARED PX soon", "SET {%}:c:rwlock_timeout:1 1 PX late", "HINCRBY % c 1"}},
	{"upgraded", []string{"LOCK % a SHARED PX soon", "LOCK % a PX soon"}},
	{"downgraded", []string{"LOCK % a SHARED PX late", "LOCK % a PX late", "UNLOCK % a", "LOCK % b SHARED PX soon"}},
	{"semaphore-first", []string{"SEM.ACQUIRE % a LIMIT 5 PERMITS 2 PX soon", "SEM.ACQUIRE % b LIMIT 5 PX late"}},
	{"semaphore-last", []string{"SEM.ACQUIRE % a LIMIT 5 PERMITS 2 PX late", "SEM.ACQUIRE % b LIMIT 5 PX soon"}},
	{"semaphore-all", []string{"SEM.ACQUIRE % a LIMIT 5 PX soon", "SEM.ACQUIRE % b LIMIT 5 PX soon"}},
	{"semaphore-by-hand", []string{"SEM.ACQUIRE % a LIMIT 5 PX late", "HSET % zed 1", "HPEXPIRE % soon FIELDS 1 zed"}},
	{"semaphore-many", manyHolders(100)},
	{"semaphore-table", manyHolders(200)},
	{"latch", []string{"LATCH.SET % 3", "PEXPIRE % soon"}},
	{"latch-live", []string{"LATCH.SET % 3", "PEXPIRE % late"}},
	{"sale", []string{"SECKILL.CREATE % STOCK 10", "SECKILL % ann o1", "PEXPIRE seckill:stock:% soon"}},
	{"sale-live", []string{"SECKILL.CREATE % STOCK 10", "SECKILL % ann o1"}},
	{"delayed", []string{"DELAY.ADD % PX late ID i1 f v", "PEXPIRE {%}:delayed soon"}},
	{"delayed-live", []string{"DELAY.ADD % PX late ID i1 f v"}},
	{"filter", []string{"BF.ADD % x", "PEXPIRE % soon"}},
	{"filter-live", []string{"BF.ADD % x", "PEXPIRE % late"}},
}

// manyHolders returns the commands for a semaphore with n holders. Every third lease is soonMS long.
func manyHolders(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("SEM.ACQUIRE %% a%d LIMIT %d PX %s", i, 2*n, []string{"soon", "late", "late"}[i%3]))
	}
	return lines
}

// nativeReads lists the commands that TestNativeReadsOfOverdueHolders compares. % is the key, and @ the token
// of each of the first holders in turn.
var nativeReads = []string{
	"LOCK.INFO %", "LOCK.INFO % COUNT 1", "SEM.INFO %", "SEM.INFO % COUNT 1", "LOCK.LIST MATCH %", "LOCK.LIST MATCH % OWNER a", "LOCK.LIST MATCH % OWNER b",
	"LOCK.LIST MATCH % CURSOR 0 COUNT 10000", "LOCK.WAITERS", "GUARD % @ EXISTS %", "HGET % mode", "LATCH.GET %", "LATCH.WAIT %", "SECKILL.INFO %", "SECKILL.LIST %",
	"DELAY.COUNT %", "DELAY.GET % i1", "DELAY.LIST %", "BF.EXISTS % x", "BF.MEXISTS % x", "BF.CARD %", "BF.INFO %", "BF.SCANDUMP % 0",
}

// otherReads lists native commands that read and are not compared, with the reason.
var otherReads = map[string]string{
	"lock.deadlocks": "tells of refused waits", "lock.history": "tells what happened: no lease has ended yet", "lock.hot": "as lock.history",
	"lock.stats": "counts what is stored, as DBSIZE does",
}

// fillHolders creates the values of all holderKinds. tokens holds the first fencing tokens of each key.
func (o *overdueServer) fillHolders() (tokens map[string][]string) {
	tokens = map[string][]string{}
	lease := strings.NewReplacer("soon", soonMS, "late", lateMS)
	for _, kind := range holderKinds {
		for _, line := range kind.lines {
			reply := o.do(strings.ReplaceAll(lease.Replace(line), "%", kind.name))
			const few = 3
			if reply.Kind == resp.Integer && reply.Int > 1_000_000 && len(tokens[kind.name]) < few {
				tokens[kind.name] = append(tokens[kind.name], fmt.Sprint(reply.Int))
			}
		}
	}
	return tokens
}

// overdueWaits lists calls that wait, before and after the removal of overdue holders.
var overdueWaits = []string{"LOCK shared-first w WAIT 0", "SEM.ACQUIRE semaphore-first w LIMIT 5 PERMITS 5 WAIT 0", "LATCH.WAIT latch-live WAIT 0"}

// beginWaits makes a connection wait with each of overdueWaits.
func (o *overdueServer) beginWaits() {
	for i, line := range overdueWaits {
		conn, err := o.srv.Dial()
		require.NoError(o.t, err)
		c := testkit.Connect(conn)
		o.t.Cleanup(c.Close)
		require.NoError(o.t, c.Ask(strings.Fields(line)...))
		blocked := fmt.Sprintf("blocked_clients:%d\r\n", i+1)
		o.until(func() bool { return strings.Contains(o.do("INFO clients").Str, blocked) }, func() string { return "it does not wait: " + line })
	}
}

// perConnection matches the ports of clients.
var perConnection = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// sentOn matches the errors of a raft member for commands on locks that only the leader answers.
var sentOn = regexp.MustCompile(`-(MOVED|CLUSTERDOWN).*`)

// readAll returns the replies to the nativeReads of all kinds. guarded includes GUARD, which is delayed where
// writes are delayed, like all commands that may run a write.
func (o *overdueServer) readAll(tokens map[string][]string, guarded bool) (all []string) {
	for _, kind := range holderKinds {
		for _, line := range nativeReads {
			if strings.HasPrefix(line, "GUARD") && !guarded {
				continue
			}
			line = strings.ReplaceAll(line, "%", kind.name)
			if !strings.Contains(line, "@") {
				all = append(all, line+": "+o.admin.Do(strings.Fields(line)...).String())
			}
			for i, token := range tokens[kind.name] {
				if of := strings.ReplaceAll(line, "@", token); of != line {
					all = append(all, line+" of token "+strconv.Itoa(i)+": "+o.admin.Do(strings.Fields(of)...).String())
				}
			}
		}
	}
	for i := range all {
		all[i] = sentOn.ReplaceAllString(perConnection.ReplaceAllString(all[i], "address"), "sent on")
	}
	return all
}

// TestNativeReadsOfOverdueHolders: native commands that read do not show overdue holders that are kept. They
// reply as if the holders had been removed before.
func TestNativeReadsOfOverdueHolders(t *testing.T) {
	begin := time.UnixMilli(time.Now().UnixMilli())
	for _, state := range overdueStates {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			said := map[bool][]string{}
			for _, removed := range []bool{false, true} {
				o := state.start(t, server.NewManualClock(begin))
				var tokens map[string][]string
				o.fill = func(from *overdueServer) {
					tokens = from.fillHolders()
					if from == o { // only a master has clients that wait for locks
						o.beginWaits()
					}
					if removed {
						from.letExpire(begin.Add(time.Hour))
					}
				}
				if !state.readOnly {
					o.fill(o)
				}
				state.enter(o)
				o.clock.Set(begin.Add(2 * time.Hour))
				said[removed] = o.readAll(tokens, state.readOnly)
			}
			var wrong []string
			answered := 0
			for i, want := range said[true] {
				if !strings.HasSuffix(want, ": sent on") {
					answered++
				}
				if got := said[false][i]; got != want {
					wrong = append(wrong, "they say "+got+"\nand after the removal "+want)
				}
			}
			require.Greater(t, answered, 100)
			if len(wrong) > 0 {
				const shown = 10
				require.Fail(t, fmt.Sprintf("%d replies differ", len(wrong)), strings.Join(wrong[:min(shown, len(wrong))], "\n"))
			}
		})
	}
}

// letExpire moves the clock to a time, and looks up all keys, which removes the overdue ones.
func (o *overdueServer) letExpire(at time.Time) {
	words := []string{"EXISTS"}
	for _, key := range o.do("KEYS *").Elems {
		words = append(words, key.Str)
	}
	o.clock.Set(at)
	require.Less(o.t, o.call(words...).Int, int64(len(words)-1), "nothing was overdue")
}

// TestNativeReadsAreCompared: each native command that reads is in nativeReads or otherReads.
func TestNativeReadsAreCompared(t *testing.T) {
	groups := []commands.Group{commands.Lock, commands.Sale, commands.Limit, commands.Delay, commands.Bloom}
	for _, row := range server.Table().Rows() {
		if !row.Flags.Has(commands.ReadOnly) || !slices.Contains(groups, row.Group) {
			continue
		}
		compared := slices.ContainsFunc(nativeReads, func(line string) bool { return strings.EqualFold(strings.Fields(line)[0], row.FullName()) })
		require.NotEqual(t, compared, otherReads[row.FullName()] != "", "%s: nativeReads or otherReads, not both", row.FullName())
	}
}
