// Package groups asks whether raft groups are the shards of one cluster: clients of each member find the owner
// of each slot, also after a failover, and no shard serves a slot that its log does not give it.
package groups
