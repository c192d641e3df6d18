// Package topology is what a server says of the group of servers that it is a member of, so that clients find
// the one that leads: as a node of a Redis Cluster does (CLUSTER, -MOVED), or as a Sentinel does (SENTINEL,
// +switch-master). A server that stands alone has no Group, and says that there is no cluster.
//
// It owns these answers, and which member a command belongs to. It must not know who decides on the leader,
// nor anything of the server: whoever does decide tells a Group by Update, a command finds its Group and its
// connection's Place by a function that the server hands in, and a new leader is told to a Host.
//
// The group is one shard: its leader has all 16384 slots and the others are its replicas, so the keys of one
// command need not share a slot.
//
// To add an answer: its row in cluster_table.go or sentinel_cmd.go. What of Redis' facts about a node is new
// becomes a field of Member.
package topology
