package durability

import "time"

// What tests ask for with the directives key-load-delay and rdb-key-save-delay: time in which to look at a
// server that loads or saves.

// pace says how long is waited between keys.
type pace struct{ keys int }

// next is how long is waited now: delayUS microseconds, or, below 0, a microsecond after every -delayUS keys.
func (p *pace) next(delayUS int) time.Duration {
	if delayUS >= 0 {
		return time.Duration(delayUS) * time.Microsecond
	}
	if p.keys++; p.keys%-delayUS == 0 {
		return time.Microsecond
	}
	return 0
}

// delayLoad waits between two keys of a load. The directive may change meanwhile.
func (s *Storage) delayLoad() error {
	if s.config.KeyLoadDelayUS == 0 {
		return nil
	}
	if d := s.loading.pace.next(s.config.KeyLoadDelayUS); d > 0 {
		return s.giveWay(d)
	}
	return nil
}

// saveDelay is what waits between two keys of a save; nil: nothing does.
func (s *Storage) saveDelay() func() {
	delayUS := s.config.RDBKeySaveDelayUS
	if delayUS == 0 {
		return nil
	}
	p := new(pace)
	return func() { time.Sleep(p.next(delayUS)) }
}
