// Package origin owns the samples of the hidden tensor that says which file each row was imported
// from. It reads and writes no rows.
package origin

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
)

// Tensor is the name of the hidden tensor with the origin of each row.
const Tensor = "_source"

// Origin is the version of a file from which rows were imported.
type Origin struct {
	Path   string // within the source of the import; may have any bytes
	Member string // of an archive: the name that the row's members share; "": the file is the row
	Tag    string // the ETag, or what stands for it; "": the source gives none
	Size   int64  // of the file, in bytes; -1: not known
}

// withMember marks the size of an origin that has a member. Sizes are smaller.
const withMember = 1 << 62

// Same reports whether two origins may be the same version of a file. Tags decide; if one is
// missing, sizes decide.
func (o Origin) Same(now Origin) bool {
	if o.Tag != "" && now.Tag != "" {
		return o.Tag == now.Tag
	}
	return o.Size == now.Size || o.Size < 0 || now.Size < 0
}

// Vague reports whether o has neither tag nor size, so that it cannot tell versions apart.
func (o Origin) Vague() bool { return o.Tag == "" && o.Size < 0 }

// File returns the origin of the whole file.
func (o Origin) File() Origin {
	o.Member = ""
	return o
}

// String returns the path, with that of the member below it. Bytes that are no UTF-8 become U+FFFD.
func (o Origin) String() string {
	name := o.Path
	if o.Member != "" {
		name += "/" + o.Member
	}
	if utf8.ValidString(name) {
		return name
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// Encode returns the sample of a row: tag and size before the path.
func (o Origin) Encode() []byte {
	b := binary.AppendUvarint(make([]byte, 0, len(o.Tag)+len(o.Path)+len(o.Member)+12), uint64(len(o.Tag)))
	b = append(b, o.Tag...)
	if o.Member == "" {
		b = binary.AppendUvarint(b, uint64(o.Size+1))
		return append(b, o.Path...)
	}
	b = binary.AppendUvarint(b, uint64(o.Size+1)|withMember)
	b = binary.AppendUvarint(b, uint64(len(o.Path)))
	b = append(b, o.Path...)
	return append(b, o.Member...)
}

// Decode is the inverse of Encode. The result shares no memory with b.
func Decode(b []byte) (Origin, error) {
	corrupt := func(problem string) (Origin, error) {
		return Origin{}, errs.Op("read tensor", Tensor).New(errs.Corrupt, "%d bytes name no file: %s", len(b), problem)
	}
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return corrupt("the tag is cut")
	}
	o, rest := Origin{Tag: string(b[used : used+int(n)])}, b[used+int(n):]
	size, used := binary.Uvarint(rest)
	if used <= 0 || size&^withMember > withMember-1 || size >= 2*withMember {
		return corrupt("the size is missing")
	}
	rest = rest[used:]
	if o.Size = int64(size&^withMember) - 1; size&withMember == 0 {
		o.Path = string(rest)
		return o, nil
	}
	n, used = binary.Uvarint(rest)
	if used <= 0 || n >= uint64(len(rest)-used) {
		return corrupt("the member is missing")
	}
	o.Path, o.Member = string(rest[used:used+int(n)]), string(rest[used+int(n):])
	return o, nil
}
