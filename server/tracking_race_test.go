package server

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// TestTrackingManyLoops lets clients cache keys that others change, on all loops, while some clients come
// and go. Once all is quiet, each cached value equals the server's.
func TestTrackingManyLoops(t *testing.T) {
	t.Parallel()
	const writers, caches, rounds, keys = 3, 6, 300, 20
	srv := startWith(t, Options{EventLoops: true}, func(c *config.Config) { c.IOThreads = 4 })
	dial := overPort(srv)
	var work sync.WaitGroup
	for w := range writers {
		c := testkit.Dial(t, dial)
		work.Go(func() {
			for n := range rounds {
				_, err := c.CallPipeline([][]string{
					{"SET", "k" + strconv.Itoa((n*7+w)%keys), fmt.Sprint(w, " ", n)},
					{"INCR", "k" + strconv.Itoa((n*3+w)%keys) + "n"},
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all := make([]*cache, caches)
	for i := range all {
		all[i] = &cache{copies: map[string]string{}}
		if i%2 == 0 {
			all[i].Client = follower(t, dial)
		} else {
			all[i].Client = follower(t, dial, "BCAST", "PREFIX", "k")
		}
		work.Go(func() {
			for n := range rounds {
				if err := all[i].get("k" + strconv.Itoa((n*5+i)%keys)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Go(func() { // some who do not stay
		for n := range 30 {
			conn, err := dial()
			if err != nil {
				t.Error(err)
				return
			}
			_, err = fmt.Fprintf(conn, "HELLO 3\r\nCLIENT TRACKING ON\r\nMGET k1 k2 k%d\r\n", n%keys)
			if err != nil {
				t.Error(err)
			}
			_ = conn.Close()
		}
	})
	work.Wait()
	c := testkit.Dial(t, dial)
	for i, one := range all {
		require.NoError(t, one.update())
		for key, val := range one.copies {
			require.Equal(t, c.Do("GET", key).Str, val, "cache %d, key %s", i, key)
		}
		one.Close()
	}
	checkTracking(t, srv)
}

// cache is a client with copies of keys.
type cache struct {
	*testkit.Client
	copies map[string]string
}

// answer reads up to the next reply, and drops the copies that the server invalidates on the way.
func (c *cache) answer() (string, error) {
	for {
		v, err := c.Next()
		if err != nil {
			return "", err
		}
		if len(v.Elems) != 2 {
			return v.Str, nil
		}
		for _, key := range v.Elems[1].Elems {
			delete(c.copies, key.Str)
		}
	}
}

// get fetches a key that it has no copy of. Invalidations of the key before the reply are about the value
// before it.
func (c *cache) get(key string) error {
	if _, ok := c.copies[key]; ok {
		return nil
	}
	c.Send("GET", key)
	val, err := c.answer()
	c.copies[key] = val
	return err
}

// Reads the invalidations that have been sent by now.
func (c *cache) update() error {
	c.Send("PING")
	_, err := c.answer()
	return err
}
