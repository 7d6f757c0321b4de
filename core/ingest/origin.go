package ingest

import (
	"encoding/binary"

	"deeplake/core/errs"
)

// originTensor is the hidden tensor with the origin of each row.
const originTensor = "_source"

// origin is the version of an object that rows were made of.
type origin struct {
	key  string
	tag  string // "": the source gives none
	size int64  // -1: not known
}

// same reports whether two origins may be the same version of an object. Tags decide; if one is
// missing, sizes decide.
func (o origin) same(now origin) bool {
	if o.tag != "" && now.tag != "" {
		return o.tag == now.tag
	}
	return o.size == now.size || o.size < 0 || now.size < 0
}

// vague reports whether o has neither tag nor size, so that it cannot tell versions apart.
func (o origin) vague() bool { return o.tag == "" && o.size < 0 }

// encode returns the sample of a row: tag and size before the key, which may have any bytes.
func (o origin) encode() []byte {
	b := binary.AppendUvarint(make([]byte, 0, len(o.tag)+len(o.key)+8), uint64(len(o.tag)))
	b = append(b, o.tag...)
	b = binary.AppendUvarint(b, uint64(o.size+1))
	return append(b, o.key...)
}

// decodeOrigin is the inverse of encode. The result shares no memory with b.
func decodeOrigin(b []byte) (origin, error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return origin{}, errs.New(errs.Corrupt, "read where a row came from: %d bytes are no such thing", len(b))
	}
	tag := string(b[used : used+int(n)])
	b = b[used+int(n):]
	size, used := binary.Uvarint(b)
	if used <= 0 || size > 1<<62 {
		return origin{}, errs.New(errs.Corrupt, "read where a row came from: the size is missing")
	}
	return origin{key: string(b[used:]), tag: tag, size: int64(size) - 1}, nil
}
