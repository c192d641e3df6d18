package durability

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"lockserver/persistence/aof"
)

// UnknownCommandError is the error of a Replayer for an unknown command.
type UnknownCommandError struct{ Name string }

func (e *UnknownCommandError) Error() string { return "Unknown command '" + e.Name + "'" }

// logError explains why a log cannot be loaded: first in the words of Redis, because tools look for them,
// then in ours.
func logError(err error) error {
	var at *aof.Error
	if !errors.As(err, &at) {
		return err
	}
	name := filepath.Base(at.File)
	var unknown *UnknownCommandError
	text := ""
	switch {
	case errors.Is(err, aof.ErrMissing):
		text = "Unable to obtain the AOF file " + name + " length. stat: No such file or directory"
	case errors.Is(err, aof.ErrTorn):
		text = "Unexpected end of file reading the append only file " + name
	case errors.As(err, &unknown):
		text = unknown.Error() + " reading the append only file " + name
	case strings.HasSuffix(name, ".manifest"):
		text = "FATAL AOF MANIFEST FILE ERROR"
	case errors.Is(err, aof.ErrCorrupt):
		text = "Bad file format reading the append only file " + name
	default:
		return err
	}
	return fmt.Errorf("%s: %w", text, err)
}
