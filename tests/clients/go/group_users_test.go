package clients

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// workerOfThePage is the user of programs in docs/SECURITY.md as a directive, and what the page says that a
// client by Sentinels needs.
func workerOfThePage(t *testing.T) (directive, bySentinels, password string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "SECURITY.md"))
	require.NoError(t, err)
	rules := regexp.MustCompile(`(?m)^ACL SETUSER (worker on >(\S+) .*)$`).FindSubmatch(page)
	more := regexp.MustCompile("(?m)by Sentinels of a group.*\\| `(.*)` \\|$").FindSubmatch(page)
	require.Len(t, rules, 3)
	require.Len(t, more, 2)
	return "user " + string(rules[1]), strings.ReplaceAll(string(more[1]), `\|`, "|"), string(rules[2])
}

// TestGroupByAUserWithFewRights: go-redis and rueidis find the leader of a group as a user of
// docs/SECURITY.md.
func TestGroupByAUserWithFewRights(t *testing.T) {
	rules, more, password := workerOfThePage(t)
	for _, form := range []string{"cluster", "sentinel"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			conf := rules
			if form == "sentinel" {
				conf += " " + more
			}
			f := startGroup(t, form, conf)
			takes := func(do func(ctx context.Context, words ...string) (any, error)) {
				t.Helper()
				token, err := do(within(t), "LOCK", "lock:1", "me", "PX", "60000")
				require.NoError(t, err)
				require.Positive(t, token)
				_, err = do(within(t), "LOCK", "other", "me")
				require.ErrorContains(t, err, "NOPERM")
				_, err = do(within(t), "UNLOCK", "lock:1", "me")
				require.NoError(t, err)
			}
			o := &redis.UniversalOptions{Addrs: f.Nodes, Username: "worker", Password: password, IsClusterMode: form == "cluster"}
			own := rueidis.ClientOption{InitAddress: f.Nodes, Username: "worker", Password: password, DisableCache: true}
			if form == "sentinel" {
				o.Addrs, o.MasterName, o.SentinelUsername, o.SentinelPassword = f.Sentinels, f.Name, "worker", password
				own.InitAddress = f.Sentinels
				own.Sentinel = rueidis.SentinelOption{MasterSet: f.Name, Username: "worker", Password: password}
			}
			plain := redis.NewUniversalClient(o)
			defer func() { require.NoError(t, plain.Close()) }()
			takes(func(ctx context.Context, words ...string) (any, error) {
				all := make([]any, len(words))
				for i, w := range words {
					all[i] = w
				}
				return plain.Do(ctx, all...).Result()
			})
			other, err := rueidis.NewClient(own)
			require.NoError(t, err)
			defer other.Close()
			takes(func(ctx context.Context, words ...string) (any, error) {
				return other.Do(ctx, other.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).ToAny()
			})
		})
	}
}
