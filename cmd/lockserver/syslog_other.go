//go:build !unix

package main

import "errors"

// openSyslog fails: there is no system log.
func openSyslog(string, string) (severities, error) {
	return nil, errors.New("this system has no syslog")
}
