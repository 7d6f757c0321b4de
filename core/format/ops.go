package format

// OpKind is the name of an operation in a transaction summary.
type OpKind string

// The operations.
const (
	OpAppend       OpKind = "append"
	OpAddTensor    OpKind = "add_tensor"
	OpDropTensor   OpKind = "drop_tensor"
	OpRenameTensor OpKind = "rename_tensor"
	OpSetInfo      OpKind = "set_info"
	OpClassNames   OpKind = "class_names"
	OpUpdate       OpKind = "update"
	OpDelete       OpKind = "delete"
	OpRewrite      OpKind = "rewrite"
)

// RowRange is the physical rows [Start, Start+Count); in JSON [start, count].
type RowRange struct {
	Start, Count int64
}

// Op is one operation of a transaction. Only the members that FORMAT.md lists for its kind are set and stored.
type Op struct {
	Op     OpKind
	Append UUID       // append
	Start  int64      // append
	Rows   int64      // append
	Tensor UUID       // all but append, set_info and delete
	From   int64      // class_names: how many names stood before
	Ranges []RowRange // update, delete: rising, disjoint
}

// EncodeOps makes an object of kind T.
func EncodeOps(ops []Op) ([]byte, error) { return nil, stub() }

// DecodeOps is strict.
func DecodeOps(data []byte) ([]Op, error) { return nil, stub() }
