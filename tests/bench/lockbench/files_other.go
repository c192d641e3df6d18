//go:build !unix

package lockbench

import "errors"

func raiseOpenFiles(uint64) (uint64, error) {
	return 0, errors.New("no limit of open files on this system")
}
