// Package shard has the parts of a server that deal with data and know no connection.
//
// It knows clients as parties (package wait). It must not know sessions, users, listeners, or the
// configuration: package server gives each part the functions that it needs. All of it runs under the lock of
// the server.
//
// To add a part, give it a type with the functions that it asks for as fields, and let package server fill
// them.
package shard
