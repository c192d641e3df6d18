package durability

import "time"

// The delays of the directives key-load-delay and rdb-key-save-delay, with which tests can look at a server
// that loads or saves.

// pace computes the delays between keys.
type pace struct{ keys int }

// next returns the delay now: delayUS microseconds, or, if delayUS is negative, a microsecond after every
// -delayUS keys.
func (p *pace) next(delayUS int) time.Duration {
	if delayUS >= 0 {
		return time.Duration(delayUS) * time.Microsecond
	}
	if p.keys++; p.keys%-delayUS == 0 {
		return time.Microsecond
	}
	return 0
}

// delayLoad waits between two keys of a load. The directive may change during the load.
func (s *Storage) delayLoad() error {
	if s.config.KeyLoadDelayUS == 0 {
		return nil
	}
	if d := s.loading.pace.next(s.config.KeyLoadDelayUS); d > 0 {
		return s.giveWay(d)
	}
	return nil
}

// saveDelay returns the function that waits between two keys of a save, or nil.
func (s *Storage) saveDelay() func() {
	delayUS := s.config.RDBKeySaveDelayUS
	if delayUS == 0 {
		return nil
	}
	p := new(pace)
	return func() { time.Sleep(p.next(delayUS)) }
}
