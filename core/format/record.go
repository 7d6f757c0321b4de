package format

import (
	"time"

	"deeplake/core/tensor"
)

// BranchPoint is a commit by its place.
type BranchPoint struct {
	Branch  UUID   `json:"branch"`
	Version uint64 `json:"version"`
}

// Column is what a commit says of one tensor.
type Column struct {
	Root     *Root        // nil: no chunks
	Chunks   int64        // leaf entries of the tree
	Bytes    int64        // sum of their Bytes
	MinShape tensor.Shape // bounds of the axes over all samples ever written; nil: unknown
	MaxShape tensor.Shape
}

// Record is a commit record.
type Record struct {
	Features    []string
	UUID        UUID
	Branch      UUID
	Version     uint64
	Parent      *UUID // nil in record 0 of main
	Base        *BranchPoint
	Merged      *BranchPoint
	Time        time.Time
	Author      string
	Message     string
	Writer      string
	Rows        int64
	DeletedRows int64
	Deleted     *UUID
	RowIDs      *Root
	Schema      *Schema // nil: SchemaPage
	SchemaPage  *UUID
	Columns     map[UUID]Column
	Ops         []Op // nil: Txn
	Txn         *UUID
}

// EncodeRecord makes the object.
func EncodeRecord(r *Record) ([]byte, error) { return nil, stub() }

// DecodeRecord is strict.
func DecodeRecord(data []byte) (*Record, error) { return nil, stub() }
