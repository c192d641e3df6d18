package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// bindLimit is the limit of addresses that Redis listens on.
const bindLimit = 16

// splitBlanks cuts a list that came as one argument. Redis cuts at every blank, so several blanks in a row,
// and blanks at the beginning or the end, produce empty words, which the lists then refuse.
func splitBlanks(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, " ")
}

// addresses is bind.
type addresses struct{}

func (addresses) set(c *Config, args []string, _ bool) error {
	if len(args) > bindLimit {
		return errBindCount
	}
	c.Bind = append([]string(nil), args...) // nil when empty
	return nil
}
func (addresses) get(c *Config) string { return strings.Join(c.Bind, " ") }
func (k addresses) lines(c, _ *Config) []string {
	if len(c.Bind) == 0 {
		return []string{quote("")}
	}
	return []string{k.get(c)}
}
func (addresses) shape() shape { return wordList }

// savePoints is save: pairs of seconds and changes. The first line of a load replaces the defaults, later
// lines add to it, and an empty line clears it.
type savePoints struct{}

func (savePoints) set(c *Config, args []string, again bool) error {
	if len(args)%2 != 0 {
		return errSavePoints
	}
	var points []SavePoint
	for i := 0; i < len(args); i += 2 {
		period, ok1 := parseInteger(args[i])
		changes, ok2 := parseInteger(args[i+1])
		if !ok1 || !ok2 || period < 1 || period > maxInt64/1000 || changes < 0 {
			return errSavePoints
		}
		points = append(points, SavePoint{PeriodMS: period * 1000, Changes: changes})
	}
	if again && len(args) > 0 {
		points = append(slices.Clone(c.Save), points...)
	}
	c.Save = points
	return nil
}
func (k savePoints) get(c *Config) string {
	if len(c.Save) == 0 {
		return ""
	}
	return strings.Join(k.lines(c, nil), " ")
}
func (savePoints) lines(c, _ *Config) []string {
	if len(c.Save) == 0 {
		return []string{quote("")}
	}
	var lines []string
	for _, p := range c.Save {
		lines = append(lines, fmt.Sprintf("%d %d", p.PeriodMS/1000, p.Changes))
	}
	return lines
}
func (savePoints) shape() shape { return lineByLine }

// percentiles is latency-tracking-info-percentiles: numbers from 0 to 100.
type percentiles struct{}

func (percentiles) set(c *Config, args []string, _ bool) error {
	if len(args) == 1 && args[0] == "" {
		args = nil
	}
	list := make([]float64, 0, len(args))
	for _, arg := range args {
		text := strings.ToLower(arg)
		if strings.HasPrefix(text, "0x") && !strings.Contains(text, "p") { // as C reads such a number
			text += "p0"
		}
		p, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || math.IsNaN(p) || strings.Contains(text, "_"):
			return errPercentile
		case p < 0 || p > 100:
			return errPercentiles
		}
		list = append(list, p)
	}
	c.LatencyPercentiles = list
	return nil
}

func (percentiles) get(c *Config) string {
	var words []string
	for _, p := range c.LatencyPercentiles {
		words = append(words, PercentileText(p))
	}
	return strings.Join(words, " ")
}
func (k percentiles) lines(c, _ *Config) []string {
	if len(c.LatencyPercentiles) == 0 {
		return []string{quote("")}
	}
	return []string{k.get(c)}
}
func (percentiles) shape() shape { return wordList }

// PercentileText writes a percentile as Redis does: with six decimals, without the zeros at the end.
func PercentileText(p float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(p, 'f', 6, 64), "0"), ".")
}

// outputLimits is client-output-buffer-limit: groups of class, hard, soft, seconds. A class that is not named
// keeps its limits.
type outputLimits struct{}

// limitClasses lists the classes with the names and in the order of CONFIG GET.
var limitClasses = [...]string{"normal", "slave", "pubsub"}

func (l *OutputLimits) class(i int) *OutputLimit {
	return [...]*OutputLimit{&l.Normal, &l.Replica, &l.PubSub}[i]
}

func (outputLimits) set(c *Config, args []string, _ bool) error {
	if len(args)%4 != 0 {
		return errLimitCount
	}
	for ; len(args) > 0; args = args[4:] {
		name := strings.ToLower(args[0])
		if name == "replica" {
			name = "slave"
		}
		class := slices.Index(limitClasses[:], name)
		if class < 0 {
			return errLimitClass
		}
		hard, ok1 := ParseMemory(args[1])
		soft, ok2 := ParseMemory(args[2])
		secs, ok3 := parseInteger(args[3])
		if !ok1 || !ok2 || !ok3 || hard > maxInt64 || soft > maxInt64 || secs < 0 || secs > maxInt64/1000 {
			return errLimitValue
		}
		*c.ClientOutputBufferLimit.class(class) = OutputLimit{HardBytes: int64(hard), SoftBytes: int64(soft), SoftMS: secs * 1000}
	}
	return nil
}

func (outputLimits) get(c *Config) string {
	var words []string
	for i, name := range limitClasses {
		l := c.ClientOutputBufferLimit.class(i)
		words = append(words, fmt.Sprintf("%s %d %d %d", name, l.HardBytes, l.SoftBytes, l.SoftMS/1000))
	}
	return strings.Join(words, " ")
}

func (outputLimits) lines(c, def *Config) []string {
	var lines []string
	for i, name := range limitClasses {
		l := c.ClientOutputBufferLimit.class(i)
		if *l == *def.ClientOutputBufferLimit.class(i) {
			continue
		}
		if name == "slave" {
			name = "replica"
		}
		lines = append(lines, name+" "+formatMemory(l.HardBytes)+" "+formatMemory(l.SoftBytes)+" "+
			strconv.FormatInt(l.SoftMS/1000, 10))
	}
	return lines
}
func (outputLimits) shape() shape { return lineByLine }

// shutdownWords lists the words of shutdown-on-sigint and -sigterm. The first means that no other word is
// set.
var shutdownWords = []string{"default", "save", "nosave", "now", "force"}

type shutdownKind struct {
	field func(*Config) *ShutdownFlags
}

// shutdown is a set of SHUTDOWN's modifiers.
func shutdown(field func(*Config) *ShutdownFlags) kind { return shutdownKind{field} }

func (k shutdownKind) set(c *Config, args []string, _ bool) error {
	var f ShutdownFlags
	if len(args) == 0 {
		return errNoneOf(shutdownWords)
	}
	for _, a := range args {
		switch strings.ToLower(a) {
		case "default":
		case "save":
			f.Save = true
		case "nosave":
			f.NoSave = true
		case "now":
			f.Now = true
		case "force":
			f.Force = true
		default:
			return errNoneOf(shutdownWords)
		}
	}
	if f.Save && f.NoSave {
		return errSaveNoSave
	}
	*k.field(c) = f
	return nil
}
func (k shutdownKind) get(c *Config) string        { return k.field(c).String() }
func (k shutdownKind) lines(c, _ *Config) []string { return []string{k.get(c)} }
func (k shutdownKind) shape() shape                { return wordList }
