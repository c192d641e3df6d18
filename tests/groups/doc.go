// Package groups asks whether raft groups are the shards of one cluster. Clients of each member find the
// owner of each slot, also after a failover. No shard serves a slot that its log does not give it.
package groups
