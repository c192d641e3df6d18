package main

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func withEtcd(ctx context.Context, address string, work work) error {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		return err
	}
	defer etcd.Close()

	session, err := concurrency.NewSession(etcd, concurrency.WithTTL(int(lease.Seconds())))
	if err != nil {
		return err
	}
	defer session.Close() // this also unlocks
	mutex := concurrency.NewMutex(session, "report:lock")
	err = mutex.Lock(ctx)
	if err != nil {
		return err
	}
	return work(session.Ctx(), func(ctx context.Context, who string) error {
		done, err := etcd.Txn(ctx).If(mutex.IsOwner()).Then(clientv3.OpPut("report", who)).Commit()
		if err == nil && !done.Succeeded {
			err = errStale
		}
		return err
	})
}
