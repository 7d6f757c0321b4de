package format

// pack returns raw itself. Pages write nothing, and an encoder is a tenth of a megabyte of their
// program.
func pack(raw []byte) (byte, []byte) { return packNone, raw }

// packParts returns raw itself.
func packParts(raw []byte, _ []int) (byte, []byte) { return packNone, raw }

// packWhile returns raw itself.
func packWhile(raw []byte, _ int, look func() error) (byte, []byte, error) {
	return packNone, raw, look()
}
