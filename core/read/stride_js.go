package read

// Stride copies every step-th value of so many bytes, until to is full. In the browser a small
// program counts for more than speed.
func Stride(to, from []byte, each, step int64) {
	for at, i := int64(0), int64(0); i < int64(len(to)); at, i = at+step*each, i+each {
		copy(to[i:i+each], from[at:])
	}
}
