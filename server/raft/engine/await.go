package engine

import (
	"reflect"

	hraft "github.com/hashicorp/raft"
)

// await is how one waits for the library's answer, at the latest until the engine is closed: then it is
// hraft.ErrRaftShutdown.
//
// The library forgets to answer when it ends: its machine's goroutine goes without looking at what is
// committed and was not given to it yet, and who waits for that would do so for ever. Its futures know how
// to wait for the end, too, by the channel ShutdownCh, which it gives to some of them and not to those of
// entries. So we do, before anybody waits. (A goroutine for each future, which is left behind with what is
// forgotten, was tried before: it costs one for each entry, and those that stay add up with each
// rebuilding.)
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
