// Package bloom is a set that does not store its elements: a scalable Bloom filter. It can say of an element
// that it was certainly never added, or that it probably was. The rate of wrong answers is limited when the
// filter is made.
//
// The structure, its sizes and its hashes are those of the Bloom filters that Redis has (the module
// RedisBloom), bit for bit. So dumps and snapshots can be exchanged in both directions. Each sub-filter
// allows half the error rate of the sub-filter before. The hashes use the double hashing of Kirsch and
// Mitzenmacher over MurmurHash64A (Appleby, public domain).
//
// It owns the bits and their forms in dumps. It must not know keys, clients or the store. Bits are stored in
// pages of 8 KiB, which are allocated with their first bit. Each page carries the epoch of its creation, so a
// writer that meets a page of a snapshot clones only that page.
package bloom
