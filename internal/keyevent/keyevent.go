// Package keyevent names the classes of events that a server may publish about its keys, as the directive
// notify-keyspace-events spells them. It must not know which code publishes an event, or the class of an
// event: the handlers of commands name the class (commands.Ctx.Notify). To add a class, add a constant, a
// letter in the table below, and a word in the text of the error.
package keyevent

// Class is a set of classes of events, and of the two forms in which they are published.
type Class uint16

// First the forms, then the classes. New and Miss do not belong to All, as in Redis.
const (
	Keyspace Class = 1 << iota // __keyspace@<db>__:<key> <event>
	Keyevent                   // __keyevent@<db>__:<event> <key>
	Generic                    // events of keys of any type: del, expire, rename_to, lock ...
	String
	List
	Set
	Hash
	ZSet
	Expired
	Evicted
	Stream
	Module
	New  // a key was made
	Miss // a command looked for a key that does not exist

	All = Generic | String | List | Set | Hash | ZSet | Expired | Evicted | Stream | Module
)

// letters lists the classes in the order in which Redis writes them.
var letters = [...]struct {
	letter byte
	class  Class
}{
	{'g', Generic}, {'$', String}, {'l', List}, {'s', Set}, {'h', Hash}, {'z', ZSet}, {'x', Expired}, {'e', Evicted},
	{'t', Stream}, {'d', Module}, {'n', New}, {'K', Keyspace}, {'E', Keyevent}, {'m', Miss},
}

// Parse reads a string of letters; A means All. It returns false for a string with any other letter.
func Parse(text string) (c Class, ok bool) {
	for i := range len(text) {
		bit := Class(0)
		if text[i] == 'A' {
			bit = All
		}
		for _, l := range letters {
			if l.letter == text[i] {
				bit = l.class
			}
		}
		if bit == 0 {
			return 0, false
		}
		c |= bit
	}
	return c, true
}

// String returns the text that Parse reads, in Redis' order.
func (c Class) String() string {
	var b []byte
	if c&All == All {
		b = append(b, 'A')
	}
	for _, l := range letters {
		if c&l.class != 0 && (c&All != All || l.class&All == 0) {
			b = append(b, l.letter)
		}
	}
	return string(b)
}

// Effective returns c, or 0 if c contains no form: then no event would be published.
func (c Class) Effective() Class {
	if c&(Keyspace|Keyevent) == 0 {
		return 0
	}
	return c
}
