package format

import (
	"encoding/json"
	"errors"
	"fmt"

	"deeplake/core/errs"
)

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
	OpRestore      OpKind = "restore" // deleted rows are there again
)

// RowRange is the physical rows [Start, Start+Count); in JSON [start, count].
type RowRange struct {
	Start, Count int64
}

// MarshalJSON renders [start, count].
func (r RowRange) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d]", r.Start, r.Count), nil
}

// Op is one operation of a transaction. Only the members that FORMAT.md lists for its kind are
// stored; the others must be zero.
type Op struct {
	Op     OpKind
	Append UUID       // append
	Start  int64      // append
	Rows   int64      // append, at least 1
	Tensor UUID       // all but append, set_info, delete and restore
	From   int64      // class_names: how many names stood before
	Ranges []RowRange // update, delete and restore: at least one; rising, disjoint, none empty
}

// MarshalJSON renders the members of the operation, "op" first.
func (o Op) MarshalJSON() ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, `{"op":"%s"`, o.Op)
	switch o.Op {
	case OpAppend:
		out = fmt.Appendf(out, `,"append":"%s","start":%d,"rows":%d`, o.Append, o.Start, o.Rows)
	case OpSetInfo, OpDelete, OpRestore:
	default:
		out = fmt.Appendf(out, `,"tensor":"%s"`, o.Tensor)
	}
	switch o.Op {
	case OpClassNames:
		out = fmt.Appendf(out, `,"from":%d`, o.From)
	case OpUpdate, OpDelete, OpRestore:
		ranges, err := json.Marshal(o.Ranges)
		if err != nil {
			return nil, err
		}
		out = append(append(out, `,"ranges":`...), ranges...)
	}
	return append(out, '}'), nil
}

// EncodeOps makes an object of kind T. Operations that DecodeOps would not take are errs.Invalid.
func EncodeOps(ops []Op) ([]byte, error) {
	for i, o := range ops {
		if err := o.check(); err != nil {
			return nil, refused("transaction summary", fmt.Errorf("operation %d: %w", i, err))
		}
	}
	payload, err := marshal(append([]Op{}, ops...))
	if err != nil {
		return nil, refused("transaction summary", err)
	}
	return EncodeFrame(KindTxn, payload)
}

// DecodeOps is the strict inverse of EncodeOps; no operations are an empty slice.
func DecodeOps(data []byte) ([]Op, error) {
	payload, err := DecodeFrame(KindTxn, data)
	if err != nil {
		return nil, err
	}
	ops, err := decodeOps(payload)
	return ops, damaged("transaction summary", err)
}

func decodeOps(payload []byte) ([]Op, error) {
	if err := strictJSON(payload); err != nil {
		return nil, err
	}
	return parseOps(payload)
}

func parseOps(raw json.RawMessage) ([]Op, error) {
	parts, err := elements[json.RawMessage](raw)
	if err != nil {
		return nil, err
	}
	ops := make([]Op, len(parts))
	for i, part := range parts {
		if ops[i], err = parseOp(part); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return ops, nil
}

func parseOp(raw json.RawMessage) (Op, error) {
	m := open("operation", raw)
	var o Op
	m.value("op", &o.Op)
	switch o.Op {
	case OpAppend:
		m.value("append", &o.Append)
		o.Start = m.count("start", MaxRows)
		o.Rows = m.count("rows", MaxRows)
	case OpAddTensor, OpDropTensor, OpRenameTensor, OpRewrite, OpClassNames, OpUpdate:
		m.value("tensor", &o.Tensor)
	}
	switch o.Op {
	case OpClassNames:
		o.From = m.count("from", MaxRows)
	case OpUpdate, OpDelete, OpRestore:
		for _, raw := range list[json.RawMessage](m, "ranges") {
			pair, err := elements[int64](raw)
			if err != nil || len(pair) != 2 {
				m.fail("ranges", errors.New("want pairs [start, count]"))
				break
			}
			o.Ranges = append(o.Ranges, RowRange{pair[0], pair[1]})
		}
	}
	if m.err == nil {
		if err := o.checkKind(); err != nil {
			return Op{}, err
		}
	}
	if err := m.end(); err != nil {
		return Op{}, err
	}
	return o, o.check()
}

func (o Op) checkKind() error {
	switch o.Op {
	case OpAppend, OpAddTensor, OpDropTensor, OpRenameTensor, OpSetInfo, OpClassNames, OpUpdate, OpDelete, OpRewrite, OpRestore:
		return nil
	}
	return errs.New(errs.Unsupported, "operation %q is not known; a newer version of this library may read it", clip(string(o.Op)))
}

// check validates an operation. Encoder and decoder call it.
func (o Op) check() error {
	if err := o.checkKind(); err != nil {
		return err
	}
	isAppend := o.Op == OpAppend
	hasTensor := !isAppend && o.Op != OpSetInfo && o.Op != OpDelete && o.Op != OpRestore
	hasRanges := o.Op == OpUpdate || o.Op == OpDelete || o.Op == OpRestore
	switch {
	case o.Append.IsZero() == isAppend, o.Tensor.IsZero() == hasTensor, (len(o.Ranges) == 0) == hasRanges:
		return fmt.Errorf("operation %q lacks a member or has one of another operation", o.Op)
	case !isAppend && (o.Start != 0 || o.Rows != 0), o.Op != OpClassNames && o.From != 0:
		return fmt.Errorf("operation %q has a number of another operation", o.Op)
	case isAppend:
		return checkRange(o.Start, o.Rows, 0)
	case o.From < 0:
		return fmt.Errorf("operation %q begins at name %d", o.Op, o.From)
	}
	at := int64(0)
	for _, r := range o.Ranges {
		if err := checkRange(r.Start, r.Count, at); err != nil {
			return err
		}
		at = r.Start + r.Count
	}
	return nil
}

// end is the first row behind all rows that o names.
func (o Op) end() int64 {
	if n := len(o.Ranges); n > 0 {
		return o.Ranges[n-1].Start + o.Ranges[n-1].Count
	}
	return o.Start + o.Rows
}

func checkRange(start, count, from int64) error {
	if start < from || count < 1 || start > MaxRows || count > MaxRows-start {
		return fmt.Errorf("rows [%d, +%d) are empty, out of order or beyond %d", start, count, int64(MaxRows))
	}
	return nil
}
