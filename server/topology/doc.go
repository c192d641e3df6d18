// Package topology tells clients about the group that a server is a member of, so that they find its leader.
// It does so as a node of a Redis Cluster (CLUSTER, -MOVED), or as a Sentinel (SENTINEL, +switch-master). A
// server outside of a group has no Group, and says that there is no cluster.
//
// It owns these answers, and which member a command belongs to. It must not know what decides on the leader,
// nor anything of the server. The part that decides calls Group.Update. A command finds its Group and its
// connection's Place by a function that the server passes in. A ChangeListener is notified of a new leader.
//
// The group is one shard: its leader has all 16384 slots and the others are its replicas, so the keys of one
// command need not share a slot.
//
// To add an answer: its row in cluster_table.go or sentinel_cmd.go. What of Redis' facts about a node is new
// becomes a field of Member.
package topology
