package raftbench

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdVersion returns the version of etcd in this program.
func etcdVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "go.etcd.io/etcd/server/v3" {
				return m.Version
			}
		}
	}
	return "unknown"
}

// etcdWord makes the program a member of an etcd cluster, with the same settings as etcd's own main. Its
// arguments are the member's name, its addresses for clients and for the other members, its directory, and
// all members.
const etcdWord = "etcd-member"

// runEtcd runs the program as an etcd. It ends with ctx.
func runEtcd(ctx context.Context, args []string, stderr io.Writer) int {
	if len(args) != 5 {
		fmt.Fprintln(stderr, "usage: raftbench", etcdWord, "name client-url peer-url directory members")
		return 2
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster, c.LogLevel = args[0], args[3], args[4], "error"
	client, err := url.Parse(args[1])
	peer, err2 := url.Parse(args[2])
	if err != nil || err2 != nil {
		fmt.Fprintln(stderr, "raftbench: no address:", args[1:3])
		return 2
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	e, err := embed.StartEtcd(c)
	if err != nil {
		fmt.Fprintln(stderr, "raftbench: etcd:", err)
		return 1
	}
	defer e.Close()
	select {
	case <-ctx.Done():
		return 0
	case err := <-e.Err():
		fmt.Fprintln(stderr, "raftbench: etcd:", err)
		return 1
	}
}

// etcds is a cluster of three etcd members.
type etcds struct {
	processes
	clients []string
}

// startEtcds starts a cluster, without waiting until it serves.
func (b *bench) startEtcds(ctx context.Context) (*etcds, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.Dir, "etcd")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * members)
	if err != nil {
		return nil, err
	}
	e, names := &etcds{}, []string{}
	for i := range members {
		e.clients = append(e.clients, "http://127.0.0.1:"+ports[i])
		names = append(names, "e"+strconv.Itoa(i)+"=http://127.0.0.1:"+ports[members+i])
	}
	for i := range members {
		name := "e" + strconv.Itoa(i)
		e.processes = append(e.processes, &process{name: name, log: filepath.Join(dir, name+".log"), command: func() *exec.Cmd {
			return exec.CommandContext(ctx, self, etcdWord, name, e.clients[i], "http://127.0.0.1:"+ports[members+i], filepath.Join(dir, name), strings.Join(names, ","))
		}})
	}
	return e, e.start()
}

// lockers returns clients with a lock each. In etcd a client is a connection, and a session a lease. Each
// locker has its own, as in separate programs.
func (e *etcds) lockers(ctx context.Context, n int) (all []locker, end func(), err error) {
	var clients []*clientv3.Client
	end = func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c, one := clientv3.New(clientv3.Config{Endpoints: e.clients, DialTimeout: readyLimit})
			var s *concurrency.Session
			if one == nil {
				limited, cancel := context.WithTimeout(ctx, readyLimit)
				defer cancel()
				s, one = newSession(limited, ctx, c)
			}
			mu.Lock()
			defer mu.Unlock()
			if c != nil {
				clients = append(clients, c)
			}
			if one != nil {
				err = one
				return
			}
			m := concurrency.NewMutex(s, "lock"+strconv.Itoa(i))
			all = append(all, locker{lock: m.Lock, unlock: m.Unlock})
		})
	}
	wg.Wait()
	return all, end, err
}

// newSession creates a session as soon as the cluster serves. The lease lives until ctx ends.
func newSession(limited, ctx context.Context, c *clientv3.Client) (*concurrency.Session, error) {
	for {
		lease, err := c.Grant(limited, 60)
		if err == nil {
			return concurrency.NewSession(c, concurrency.WithLease(lease.ID), concurrency.WithContext(ctx))
		}
		if limited.Err() != nil {
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
