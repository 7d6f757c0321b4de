package format

// pack returns raw itself. Pages write nothing, and an encoder is a tenth of a megabyte of their
// program.
func pack(raw []byte) (byte, []byte) { return packNone, raw }

// packParts returns raw itself.
func packParts(raw []byte, _ []int) (byte, []byte) { return packNone, raw }
