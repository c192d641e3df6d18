// Package hotkeys finds the keys with the largest sums in a stream of weights, in bounded memory.
//
// It owns the sketch and its error bound. It must not know locks, a clock or the server. It is not safe for
// concurrent use.
//
// The algorithm is that of Misra and Gries ("Finding repeated elements", 1982) with weights, in the form of
// Anderson et al. ("A High-Performance Algorithm for Identifying Frequent Items in Data Streams", 2017).
// Its guarantee is that of Space-Saving with as many counters: the sum of a key is at most 1/1024 of the sum
// of all weights too low, and never too high. A weight for a known key costs one look into a table. The table
// has twice as many places as counters that survive: when it is full, the median is taken off all counters,
// and those that are not positive go. So a weight for an unknown key costs O(1) on average.
package hotkeys
