package commands

import (
	"slices"

	"lockserver/internal/ascii"
)

// Category is a set of ACL categories.
type Category uint32

// The ACL categories in the order in which Redis prints them, then ours.
const (
	CatKeyspace Category = 1 << iota
	CatRead
	CatWrite
	CatSet
	CatSortedSet
	CatList
	CatHash
	CatString
	CatBitmap
	CatHyperLogLog
	CatGeo
	CatStream
	CatPubSub
	CatAdmin
	CatFast
	CatSlow
	CatBlocking
	CatDangerous
	CatConnection
	CatTransaction
	CatScripting
	CatLock
	CatSale
	CatBloom // as in Redis 8
	CatLimit
	CatDelay
	CatAsk // LOCK.ASK

	// CatInstead, in Row.Cats, means that the other categories in Row.Cats replace the category of the group
	// (SORT is generic, but not @keyspace).
	CatInstead Category = 1 << 31
)

var categoryNames = [...]string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction",
	"scripting", "lock", "sale", "bloom", "limit", "delay", "ask",
}

// Names lists the categories without their @, as ACL CAT prints them.
func (c Category) Names() []string {
	var names []string
	for i, n := range categoryNames {
		if c&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// AllCategories are the names of all categories, in the order of ACL CAT.
func AllCategories() []string { return slices.Clone(categoryNames[:]) }

// CategoryByName returns the category with a name without the @, in any case. The second result is false if
// there is no such category.
func CategoryByName(name []byte) (Category, bool) {
	for i, n := range categoryNames {
		if ascii.EqualFold(name, n) {
			return 1 << i, true
		}
	}
	return 0, false
}

// groupCategories holds the ACL categories for a command's group. The groups Server and Cluster have no
// category; that of PubSub follows from the flag.
var groupCategories = [...]Category{
	Generic: CatKeyspace, String: CatString, List: CatList, Set: CatSet, SortedSet: CatSortedSet, Hash: CatHash,
	PubSub: 0, Transactions: CatTransaction, Connection: CatConnection, Server: 0,
	Scripting: CatScripting, HyperLogLog: CatHyperLogLog, Cluster: 0, Geo: CatGeo, Stream: CatStream,
	Bitmap: CatBitmap, Lock: CatLock, Sale: CatSale, Limit: CatLimit, Delay: CatDelay, Bloom: CatBloom, Sentinel: 0,
}
