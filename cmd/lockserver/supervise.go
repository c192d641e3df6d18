package main

import (
	"errors"
	"log/slog"
	"net"
	"os"

	"lockserver/server"
)

// supervisor is the program that has started the process and gets reports about its state, by the directive
// supervised.
type supervisor struct {
	socket string // of systemd; empty: no notification
	name   string // name of the supervisor; empty: there is none
	log    *slog.Logger
}

// The variables that a supervisor sets.
const (
	notifySocket = "NOTIFY_SOCKET"
	upstartJob   = "UPSTART_JOB"
)

// detectSupervisor resolves "auto" by the variables of the environment.
func detectSupervisor(mode string) string {
	switch {
	case mode != "auto":
		return mode
	case os.Getenv(upstartJob) != "":
		return "upstart"
	case os.Getenv(notifySocket) != "":
		return "systemd"
	}
	return "no"
}

// isSupervised reports whether the process has a supervisor. It then does not go into the background.
func isSupervised(mode string) bool {
	switch detectSupervisor(mode) {
	case "systemd":
		return os.Getenv(notifySocket) != ""
	case "upstart":
		return os.Getenv(upstartJob) != ""
	}
	return false
}

// begin reports to the supervisor that the process has begun. If the configured supervisor is missing, it
// logs a warning.
func (s *supervisor) begin(mode string) {
	mode = detectSupervisor(mode)
	switch {
	case mode == "systemd":
		s.socket = os.Getenv(notifySocket)
		if s.socket == "" {
			s.log.Warn("systemd supervision error: NOTIFY_SOCKET not found!")
			return
		}
		if s.tell("STATUS=Redis is loading...\n") {
			s.name = mode
			s.log.Info("Supervised by systemd. Please make sure you set appropriate values for TimeoutStartSec and " +
				"TimeoutStopSec in your service unit.")
		}
	case mode == "upstart" && os.Getenv(upstartJob) == "":
		s.log.Warn("upstart supervision requested, but UPSTART_JOB not found!")
	case mode == "upstart":
		s.log.Info("supervised by upstart, will stop to signal readiness.")
		if err := stopMyself(); err != nil {
			s.log.Warn("could not stop", "cause", err)
		}
		_ = os.Unsetenv(upstartJob)
		s.name = mode
	}
}

// ready reports that clients are served.
func (s *supervisor) ready() {
	s.tell("STATUS=Ready to accept connections\n")
	s.tell("READY=1\n")
}

// enter reports a step of the server.
func (s *supervisor) enter(p server.Phase) {
	switch p {
	case server.PhaseEnding:
		s.tell("STOPPING=1\n")
	case server.PhaseSaving:
		s.tell("STATUS=Saving the final RDB snapshot\n")
	case server.PhaseStaying:
		s.tell("STATUS=Error trying to save the DB, can't exit.\n")
	}
}

// tell sends systemd a message by the protocol of sd_notify(3): a datagram to its socket. False: the message
// was not sent.
func (s *supervisor) tell(message string) bool {
	if s.socket == "" {
		return false
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"}) // @ is for an abstract one
	if err == nil {
		_, err = conn.Write([]byte(message))
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		s.log.Warn("systemd supervision error: sd_notify", "cause", err)
	}
	return err == nil
}
