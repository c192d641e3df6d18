package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShards: each shard is a group with a StatefulSet of its own. The groups share no member, no name and no
// slot, and have all slots. Each knows members of all others, and logs in there as a client.
func TestShards(t *testing.T) {
	for _, shards := range []int{2, 3, 7, 64} {
		objects := made(t, with(map[string]any{"shards": shards, "tls.enabled": true, "tls.existingSecret": "locks-tls"}))
		owner, groups, pods := map[int]string{}, map[string]bool{}, map[string]string{}
		var all []object
		for n := range shards {
			name := fmt.Sprintf("locks-lockserver-s%d", n+1)
			s := objects["StatefulSet "+name]
			require.NotNil(t, s, name)
			all = append(all, s)
			args := s.words("spec", "template", "spec", "containers", 0, "args")
			require.Equal(t, fmt.Sprint("s", n+1), option(args, "--cluster-shard"))
			require.Equal(t, "shop.locks-lockserver", option(args, "--cluster-name"))
			require.Equal(t, "yes", option(args, "--cluster-enabled"))
			require.Equal(t, "yes", option(args, "--tls-replication"), "it asks the others over TLS")
			require.Equal(t, "/secrets/password", option(args, "--masterauth-file"))
			require.False(t, groups[option(args, "--raft-group")], "a group of its own")
			groups[option(args, "--raft-group")] = true
			var first, last int
			_, err := fmt.Sscanf(option(args, "--cluster-slots"), "%d-%d", &first, &last)
			require.NoError(t, err)
			require.InDelta(t, 16384/shards, last-first+1, 1)
			for slot := first; slot <= last; slot++ {
				require.Empty(t, owner[slot], slot)
				owner[slot] = name
			}
			members := strings.Fields(option(args, "--raft-members"))
			require.Len(t, members, 3)
			for i, m := range members {
				require.True(t, strings.HasPrefix(m, fmt.Sprintf("%s-%d=%s-%d.locks-lockserver-members.", name, i, name, i)), "the name of a pod: %s", m)
				_, client, _ := strings.Cut(m, "/")
				require.Empty(t, pods[client])
				pods[client] = name
			}
		}
		require.Len(t, owner, 16384)
		for _, s := range all {
			knows := map[string]bool{}
			for _, at := range strings.Fields(option(s.words("spec", "template", "spec", "containers", 0, "args"), "--cluster-peers")) {
				require.NotEmpty(t, pods[at], "the address of a member: %s", at)
				require.NotEqual(t, s.text("metadata", "name"), pods[at], "of another shard")
				knows[pods[at]] = true
			}
			require.Len(t, knows, shards-1)
		}
	}
}

// TestShardsAreKeptApart: what is for the pods of one shard selects no pod of another one, and the Services
// and the policy of the network select all.
func TestShardsAreKeptApart(t *testing.T) {
	objects := made(t, with(map[string]any{"shards": 3}))
	names := slices.Sorted(maps.Keys(objects))
	require.Len(t, names, 10, names)
	labels := func(n int) map[string]any {
		is, _ := objects[fmt.Sprint("StatefulSet locks-lockserver-s", n)].at("spec", "template", "metadata", "labels").(map[string]any)
		require.NotEmpty(t, is)
		return is
	}
	selects := func(selector any, labels map[string]any) bool {
		all, _ := selector.(map[string]any)
		require.NotEmpty(t, all)
		for name, value := range all {
			if labels[name] != value {
				return false
			}
		}
		return true
	}
	for n := 1; n <= 3; n++ {
		s := objects[fmt.Sprint("StatefulSet locks-lockserver-s", n)]
		affinity := []any{"spec", "template", "spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0, "labelSelector", "matchLabels"}
		for other := 1; other <= 3; other++ {
			require.Equal(t, n == other, selects(s.at("spec", "selector", "matchLabels"), labels(other)))
			require.Equal(t, n == other, selects(s.at(affinity...), labels(other)), "members of two shards may share a node")
			require.Equal(t, n == other, selects(objects[fmt.Sprint("PodDisruptionBudget locks-lockserver-s", n)].at("spec", "selector", "matchLabels"), labels(other)))
		}
		require.True(t, selects(objects["Service locks-lockserver"].at("spec", "selector"), labels(n)))
		require.True(t, selects(objects["Service locks-lockserver-members"].at("spec", "selector"), labels(n)))
		require.True(t, selects(objects["NetworkPolicy locks-lockserver"].at("spec", "podSelector", "matchLabels"), labels(n)))
	}
}
