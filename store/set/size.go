package set

import "lockserver/store/piece"

// tabledBytes is the size of the header of a table.
const tabledBytes = 16

// Size returns about the size of the set in bytes. It depends only on its content and form. O(1).
func (s *Set) Size() int {
	if s.form() == table {
		return tabledBytes + s.dict().Size()
	}
	return (piece.HeadBytes + len(s.compact()) + 15) &^ 15
}
