// Package hotkeys finds the keys with the largest sums in a stream of weights, in bounded memory.
//
// It owns the sketch and its error bound. It must not know locks, a clock or the server. It is not safe for
// concurrent use.
//
// The algorithm is that of Misra and Gries ("Finding repeated elements", 1982) with weights, in the form of
// Anderson et al. ("A High-Performance Algorithm for Identifying Frequent Items in Data Streams", 2017). Its
// guarantee is that of Space-Saving with as many counters. The sum of a key is never too high. It is at most
// 1/1024 of the sum of all weights too low. Each key has two sums, of two measures, so that one look into a
// table serves both. When the table is full, so much is taken off all sums of a measure that 1024 of them
// stay positive, and keys without a positive sum go. So a weight for an unknown key costs O(1) on average. In
// a long stream, events with small weights are sampled; Margin is what that may change. The gap from one
// sample to the next is random, so most events cost a comparison and a decrement.
package hotkeys
