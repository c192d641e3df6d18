package resp

// RequestSize returns the size in bytes of a command as clients send it: an array of strings.
func RequestSize(argv [][]byte) int {
	n := headerSize(len(argv))
	for _, arg := range argv {
		n += headerSize(len(arg)) + len(arg) + len("\r\n")
	}
	return n
}

// headerSize returns the size of a header line with the number n.
func headerSize(n int) int {
	size := len("*0\r\n")
	for ; n >= 10; n /= 10 {
		size++
	}
	return size
}
