package engine

import (
	"reflect"

	hraft "github.com/hashicorp/raft"
)

// await returns a function that waits for the library's answer. When the engine is closed before, the answer
// is hraft.ErrRaftShutdown.
//
// The library forgets to answer when it ends. Its machine's goroutine stops without looking at entries that
// are committed and not yet applied. A caller that waits for one would wait for ever. The library's futures
// can wait for the end, too, by the channel ShutdownCh. The library sets it in some of them, but not in those
// of entries. So this function sets it, before the wait. (A goroutine for each future was tried before. It
// costs one goroutine for each entry, and those of forgotten futures stay and add up with each rebuilding.)
func (r *running) await(f hraft.Future) (wait func() error) { return awaitUntil(f, r.ended) }

// awaitUntil is await with another end.
func awaitUntil(f hraft.Future, over chan struct{}) (wait func() error) {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer { // otherwise it is an error, which waits for nothing
		if end := v.Elem().FieldByName("ShutdownCh"); end.IsValid() && end.IsNil() {
			end.Set(reflect.ValueOf(over))
		}
	}
	return f.Error
}
