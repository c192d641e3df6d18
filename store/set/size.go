package set

import "lockserver/store/piece"

// tabledBytes is the header of a table.
const tabledBytes = 16

// Size returns about how many bytes the set takes. It depends on what is in it alone, and on its form. O(1).
func (s *Set) Size() int {
	if s.form() == table {
		return tabledBytes + s.dict().Size()
	}
	return (piece.HeadBytes + len(s.compact()) + 15) &^ 15
}
