// Package hll estimates the number of distinct elements by HyperLogLog. It uses the longest run of trailing
// zeros of the hashes in each of 16384 registers. The standard error is 0.81 %.
//
// It owns the bytes, which have Redis' format, so that the string at a key can be copied from and to a Redis,
// and the operations that change them. It must not know keys, and gets its random numbers from the caller.
//
// # Format, do not change
//
//	"HYLL"       magic
//	1 byte       encoding: 0 dense, 1 sparse
//	3 bytes      zero
//	8 bytes      the last estimate, little endian; the top bit says that it is out of date
//	dense        12288 bytes: 16384 registers of 6 bits, the lowest first
//	sparse       opcodes that cover the 16384 registers in order:
//	               00xxxxxx           x+1 registers are 0          (ZERO)
//	               01xxxxxx yyyyyyyy  (x<<8|y)+1 registers are 0   (XZERO)
//	               1vvvvvxx           x+1 registers are v+1        (VAL)
//
// A sparse HyperLogLog becomes dense permanently when a register exceeds 32 or it outgrows Limits. Opcodes
// are split and joined with their neighbours as in Redis, too: the same additions give the same bytes.
//
// Sources: P. Flajolet et al., "HyperLogLog", 2007; S. Heule et al., "HyperLogLog in Practice", 2013 (64-bit
// hashes, a sparse form); O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches",
// arXiv:1702.01284 (the estimate); A. Appleby, MurmurHash2 (64-bit version A); Redis' hyperloglog.c for the
// layout.
//
// To add an operation, write it over the registers (Registers, set) so that it need not know the form.
package hll
