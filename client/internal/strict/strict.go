// Package strict is a word between package client and the packages of this module that are built upon it.
package strict

import "context"

type key struct{}

// Unlock returns a context with which Lock.Unlock fails if the server does not know the hold. Without it
// that is no error: the command may have been sent twice, and the first one was done. Locks that are known
// by a value are released by other programs, too.
func Unlock(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// IsAsked reports whether a context is one of Unlock.
func IsAsked(ctx context.Context) bool { return ctx.Value(key{}) != nil }
