// Package bloom is a set that forgets which elements it has: a scalable Bloom filter. It can say of
// an element that it was never added, for certain, or that it probably was; how often it errs is
// bounded when the filter is made.
//
// The structure, its sizes and its hashes are those of the Bloom filters that Redis has (the module
// RedisBloom), bit for bit, so that dumps and snapshots go both ways: sub-filters of which each allows
// half the errors of the one before, and the double hashing of Kirsch and Mitzenmacher over
// MurmurHash64A (Appleby, public domain).
//
// It owns the bits and their forms in dumps. It must not know keys, clients or the store. Bits lie in pages
// of 8 KiB, which come into being with their first bit; each carries the epoch in which it was made, so a
// writer that meets a page of a snapshot clones that page alone.
package bloom
