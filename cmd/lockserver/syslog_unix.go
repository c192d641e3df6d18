//go:build unix

package main

import "log/syslog"

// facilities are the words of syslog-facility.
var facilities = map[string]syslog.Priority{"user": syslog.LOG_USER, "local0": syslog.LOG_LOCAL0, "local1": syslog.LOG_LOCAL1,
	"local2": syslog.LOG_LOCAL2, "local3": syslog.LOG_LOCAL3, "local4": syslog.LOG_LOCAL4, "local5": syslog.LOG_LOCAL5,
	"local6": syslog.LOG_LOCAL6, "local7": syslog.LOG_LOCAL7}

// openSyslog connects to the system's log.
func openSyslog(facility, ident string) (severities, error) {
	return dialSyslog("", "", facility, ident)
}

// dialSyslog connects to a log at an address; an empty network: to the system's log.
func dialSyslog(network, address, facility, ident string) (severities, error) {
	return syslog.Dial(network, address, facilities[facility]|syslog.LOG_NOTICE, ident)
}
