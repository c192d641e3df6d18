package engine

import (
	"errors"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Propose implements raft.Engine.
func (e *Engine) Propose(entry []byte) (wait func() error) {
	r, err := e.now()
	if err != nil {
		return func() error { return err }
	}
	begun := time.Now()
	f := r.raft.Apply(entry, 0)
	answered := r.await(f)
	return func() error {
		if err := answered(); err != nil {
			return err
		}
		at := time.Now()
		e.times.commits.add(at.Sub(begun), at)
		err, _ := f.Response().(error)
		return err
	}
}

// Barrier implements raft.Engine.
func (e *Engine) Barrier() error {
	r, err := e.now()
	if err != nil {
		return err
	}
	if err := r.await(r.raft.Barrier(0))(); err != nil {
		return err
	}
	return r.awaitReplay()
}

// Prove implements raft.Engine.
func (e *Engine) Prove() (wait func() error) {
	r, err := e.now()
	if err != nil {
		return func() error { return err }
	}
	question, done := r.ackTransport.ask(), make(chan error, 1)
	go func() { done <- r.prove(question) }()
	return func() error { return <-done }
}

// Snapshot implements raft.Engine. It is no failure that there is nothing new.
func (e *Engine) Snapshot() error {
	r, err := e.now()
	if err != nil {
		return err
	}
	if err := r.await(r.raft.Snapshot())(); err != nil && !errors.Is(err, hraft.ErrNothingNewToSnapshot) {
		return err
	}
	return nil
}
