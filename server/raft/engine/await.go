package engine

import (
	"reflect"

	hraft "github.com/hashicorp/raft"
)

// awaitUntil is await with another end.
func awaitUntil(f hraft.Future, over chan struct{}) (wait func() error) {
	if v := reflect.ValueOf(f); v.Kind() == reflect.Pointer { // otherwise it is an error, which waits for nothing
		if end := v.Elem().FieldByName("ShutdownCh"); end.IsValid() && end.IsNil() {
			end.Set(reflect.ValueOf(over))
		}
	}
	return f.Error
}
