package replication

import (
	"fmt"
	"math"
	"slices"

	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
)

// Input holds the received part of a history that is not applied yet: bytes that become commands, and
// commands that become units. Its owner passes it bytes (Take), applies the complete units (Next, Bytes), and
// then releases them (Keep). It knows nothing of its owner.
type Input struct {
	decoder resp.Decoder
	raw     []byte // bytes that are not applied yet
	end     int    // end of the bytes of complete commands
	given   int    // end of the bytes that Bytes has returned
	db      int
	open    bool      // within MULTI and EXEC
	probe   Features  // the open commands are a question about these features (features.go)
	unit    []Command // the commands of the incomplete unit
	kept    int       // number of commands in unit that are copies
	units   []Unit    // complete units
	asked   bool      // the other end has requested an acknowledgement
}

// Command is a command to be applied.
type Command struct {
	DB   int
	Argv [][]byte
}

// Unit is a group of commands that are applied at one moment.
type Unit struct {
	Commands []Command
	DB       int // the selected database after the unit
	end      int // end of the unit's bytes
	probe    Features
}

// unitsPerSlice limits the units that are applied while others wait.
const unitsPerSlice = 128

// NewInput returns an Input for a history that continues in a database.
func NewInput(db int) *Input {
	in := &Input{db: db}
	in.decoder.SetLimits(resp.Limits{MaxBulk: math.MaxInt32, MaxQuery: math.MaxInt64})
	in.decoder.SetAuthenticated(true)
	return in
}

// Take takes the next bytes. The error describes malformed bytes, and ends the input.
func (in *Input) Take(b []byte) error {
	in.raw = append(in.raw, b...)
	in.decoder.Feed(b)
	for {
		before := in.decoder.Pending()
		argv, ok, err := in.decoder.Next(nil)
		in.end += before - in.decoder.Pending()
		if err != nil {
			return fmt.Errorf("bad protocol: %w", err)
		}
		if !ok {
			return nil
		}
		if err := in.command(argv); err != nil {
			return err
		}
	}
}

// command handles one command. An empty command is a keepalive.
func (in *Input) command(argv [][]byte) error {
	switch {
	case len(argv) == 0 || ascii.EqualFold(argv[0], "PING"):
	case ascii.EqualFold(argv[0], "SELECT") && len(argv) == 2:
		db, ok := decimal.ParseInt(argv[1])
		if !ok || db < 0 || db > math.MaxInt32 {
			return fmt.Errorf("a history selects database %.40q", argv[1])
		}
		in.db = int(db)
	case ascii.EqualFold(argv[0], "MULTI"):
		in.open = true
		return nil
	case ascii.EqualFold(argv[0], "EXEC"):
		in.open = false
	case ascii.EqualFold(argv[0], "REPLCONF"):
		in.asked = in.asked || len(argv) == 3 && ascii.EqualFold(argv[1], "GETACK")
		if in.open { // only a probe has a GETACK inside MULTI
			in.probe |= featuresOfProbe(in.unit)
			in.unit, in.kept = nil, 0
		}
	default:
		in.unit = append(in.unit, Command{in.db, argv})
	}
	if !in.open {
		in.units = append(in.units, Unit{Commands: in.unit, DB: in.db, end: in.end, probe: in.probe})
		in.unit, in.kept, in.probe = nil, 0, 0
	}
	return nil
}

// Next returns the next complete units, at most unitsPerSlice. They are valid until Keep.
func (in *Input) Next() []Unit {
	some := in.units[:min(len(in.units), unitsPerSlice)]
	in.units = in.units[len(some):]
	return some
}

// Bytes returns the bytes of an applied unit, and of everything before it. Units must be passed in order.
func (in *Input) Bytes(u *Unit) []byte {
	b := in.raw[in.given:u.end]
	in.given = u.end
	return b
}

// Whole reports whether nothing is left: neither a unit nor a part of a unit.
func (in *Input) Whole() bool {
	return len(in.units) == 0 && !in.open && len(in.unit) == 0 && in.decoder.Pending() == 0
}

// Keep releases the units that Next has returned, and copies the rest of the taken bytes.
func (in *Input) Keep() {
	in.units = nil
	in.raw = in.raw[:copy(in.raw, in.raw[in.given:])]
	in.end -= in.given
	in.given = 0
	for ; in.kept < len(in.unit); in.kept++ {
		argv := in.unit[in.kept].Argv
		for j, arg := range argv {
			argv[j] = slices.Clone(arg)
		}
	}
	in.decoder.Keep()
}
