package commands

// Group is the family of commands in which the documentation lists a command.
type Group uint8

// The groups. Redis' groups keep their names, and Bloom has its name in Redis 8; Lock, Sale, Limit and Delay
// are our own.
const (
	NoGroup Group = iota
	Generic
	String
	List
	Set
	SortedSet
	Hash
	PubSub
	Transactions
	Connection
	Server
	Scripting
	HyperLogLog
	Cluster
	Geo
	Stream
	Bitmap
	Lock
	Sale
	Limit
	Delay
	Bloom
	Sentinel
)

var groupNames = [...]string{
	Generic: "generic", String: "string", List: "list", Set: "set", SortedSet: "sorted-set", Hash: "hash",
	PubSub: "pubsub", Transactions: "transactions", Connection: "connection", Server: "server",
	Scripting: "scripting", HyperLogLog: "hyperloglog", Cluster: "cluster", Geo: "geo", Stream: "stream",
	Bitmap: "bitmap", Lock: "lock", Sale: "sale", Limit: "limit", Delay: "delay", Bloom: "bf", Sentinel: "sentinel",
}

// String returns the group's name in COMMAND DOCS.
func (g Group) String() string { return groupNames[g] }
