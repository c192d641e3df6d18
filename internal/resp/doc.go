// Package resp is the Redis serialization protocol, versions 2 and 3, as bytes: nothing here knows a command,
// a socket, a clock or a session.
//
// It owns four things:
//
//   - [Decoder] turns what a client sent into commands (decoder.go, and inline.go for commands typed by
//     hand). It is resumable: a command that arrives in many reads is never parsed from its start again.
//     [Limits] bound it, because everything a client can grow needs a limit.
//   - [Writer] encodes replies. Its methods name the meaning (a map, a null, a double). The protocol version
//     of the client decides the bytes.
//   - [ReadValue] reads replies back into a [Value]. It serves tests and tools, not the server.
//   - The formats of floating point numbers that commands share: [ParseFloat], [AppendDouble], and
//     [LongDouble], which is the arithmetic of INCRBYFLOAT. Those of integers are in internal/decimal.
//
// The texts of protocol errors are Redis', byte for byte (decoder.go). The tests hold cases that were
// checked with Redis 7.4.1; run them with -oracle host:port to check them again.
//
// To add a reply type: give [Writer] a method with both encodings, [Kind] a constant, and the reader a case.
package resp
