package resp

// RequestSize is how many bytes a command has as an array of strings, which is how clients send it.
func RequestSize(argv [][]byte) int {
	n := headerSize(len(argv))
	for _, arg := range argv {
		n += headerSize(len(arg)) + len(arg) + len("\r\n")
	}
	return n
}

// headerSize is how many bytes the header of n elements, or of n bytes, has.
func headerSize(n int) int {
	size := len("*0\r\n")
	for ; n >= 10; n /= 10 {
		size++
	}
	return size
}
