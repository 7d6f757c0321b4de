package loader

import (
	"deeplake/core/slab"
	"deeplake/core/tensor"
)

// Kind names the layout of a batch's column in the slab.
type Kind uint8

// The kinds. The values are part of the C ABI.
const (
	KindArray Kind = 1 // one array of all rows
	KindList  Kind = 2 // one array per item
	KindBytes Kind = 3 // strings, json, bytes: one data area and where each item starts in it
)

// ValidName is the column of valid rows: false marks a repeated row. With TailPad every batch has
// it. With TailExact the batches of a step have it, on every rank, if some rank had to repeat a
// row.
const ValidName = "_valid"

// Batch is a finished batch. Its memory is Slab, of which the receiver of the batch owns one
// reference, and Host. To keep an array, retain the slab before Release. All methods may be called
// in parallel. Data and Item read the memory of the CPU: arrays of a device have none.
type Batch struct {
	Index    int64 // of the batch in the pass; batches whose rows were all skipped leave gaps
	Position int64 // of the epoch, after this batch on all ranks: a Pass resumes there
	Last     bool  // of the pass; none is where all rows of the last batch were skipped
	Rows     int
	Columns  []BatchColumn
	Slab     *slab.Slab // of the arrays: on the CPU, or on the device of a Stager
	// of the text and of columns that are OnHost, where the arrays are on a device; nil: Slab has
	// them, or there are none
	Host *slab.Slab
}

// BatchColumn is one column: a tensor, the shapes of a padded one, or the row index. Offsets count
// bytes from the start of the slab and are multiples of 64.
//
// In a sequence tensor, items Splits[i] to Splits[i+1] belong to row i; elsewhere Splits is nil and
// item i is row i.
type BatchColumn struct {
	Name   string
	DType  tensor.DType
	Kind   Kind
	Shape  tensor.Shape // KindArray: rows first
	Offset int64        // KindArray, KindBytes: the data
	Size   int64        // of the data
	// KindBytes: offset of items+1 int64, counted from Offset; item i is [Starts[i], Starts[i+1])
	Starts int64
	Items  []Item        // KindList
	Count  int           // items: rows, or the items of all sequences together
	Splits []int64       // sequence: rows+1
	Null   []bool        // rows that have no sample; nil when all have
	OnHost bool          // the array stays on the CPU, in Batch.Host, though others go to a device
	images *stagedImages // that a device finishes, in place of data; nil: none
}

// Item is one array of a KindList column. That of a null row is zero.
type Item struct {
	Offset int64
	Size   int64
	Shape  tensor.Shape // shared, read-only
}

// Release drops the receiver's references; the batch must not be read afterwards.
func (b *Batch) Release() {
	b.Slab.Release()
	if b.Host != nil {
		b.Host.Release()
	}
}

// Retain adds a reference, for one more array that outlives the batch.
func (b *Batch) Retain() { b.Slab.Retain() }

// Data returns the memory of an array or of the data area of c. It is valid while the caller has a
// reference.
func (b *Batch) Data(c *BatchColumn) []byte { return b.memory()[c.Offset : c.Offset+c.Size] }

// memory returns the memory of the CPU.
func (b *Batch) memory() []byte {
	if b.Host != nil {
		return b.Host.Bytes()
	}
	return b.Slab.Bytes()
}

// Item returns the memory of item i of a KindList or KindBytes column.
func (b *Batch) Item(c *BatchColumn, i int) []byte {
	mem := b.memory()
	if c.Kind == KindList {
		return mem[c.Items[i].Offset : c.Items[i].Offset+c.Items[i].Size]
	}
	return b.Data(c)[getInt64(mem[c.Starts:], i):getInt64(mem[c.Starts:], i+1)]
}
