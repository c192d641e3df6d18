// Package goredis makes pools for package redsync of clients of go-redis.
package goredis

import (
	goredis "github.com/redis/go-redis/v9"

	"lockserver/client/redsync/redis"
)

// NewPool returns a pool by a *redis.Client or a *redis.ClusterClient. With another type each lock fails
// with an error.
func NewPool(delegate goredis.UniversalClient) redis.Pool { return redis.NewPool(delegate) }
