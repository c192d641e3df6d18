// Package bloom is a set that forgets which elements it has: a scalable Bloom filter. It can say of
// an element that it was never added, for certain, or that it probably was; how often it errs is
// bounded when the filter is made.
//
// The structure, its sizes and its hashes are those of the Bloom filters that Redis has (the module
// RedisBloom), bit for bit. So dumps and snapshots can be exchanged in both directions. Each sub-filter
// allows half the errors of the one before. The hashes use the double hashing of Kirsch and Mitzenmacher over
// MurmurHash64A (Appleby, public domain).
//
// It owns the bits and their forms in dumps. It must not know keys, clients or the store. Bits are stored in
// pages of 8 KiB, which are allocated with their first bit. Each page carries the epoch of its creation, so a
// writer that meets a page of a snapshot clones only that page.
package bloom
