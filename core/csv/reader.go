package csv

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

const (
	// batchRows and batchBytes bound a batch.
	batchRows  = 1 << 16
	batchBytes = 16 << 20
	// maxRecord bounds a record, maxColumns the columns, and maxCells the values of a batch.
	maxRecord  = 64 << 20
	maxColumns = 1 << 14
	maxCells   = 1 << 23
	// maxEmpty bounds the empty lines before the names of the columns.
	maxEmpty  = 1 << 20
	readBytes = 1 << 20
)

// Options choose records and their columns.
type Options struct {
	Comma   byte             // between values; 0: the first records tell
	Columns []string         // nil: all
	Known   map[string]Known // of columns
	From    int64            // records that are passed over, without the names
	Most    int64            // bytes of a batch; 0: the default
	// Nameless leaves out columns without a name, which are an error otherwise. Reader.CheckNames
	// reports them.
	Nameless bool
	// LeaveOut is told of a record that is left out, counted from 0; nil: it is an error.
	LeaveOut func(row int64, err error) error
}

// Reader reads records. One goroutine at a time may use it.
type Reader struct {
	from io.Reader
	o    Options
	buf  []byte
	at   int   // of the next record in buf
	end  bool  // from is read
	line int64 // of the next record, from 1
	row  int64 // number of the next record

	columns  []*column
	nameless int   // number of the first column without a name, which is not taken; 0: none
	place    []int // of each value of a record in columns; -1: it is not taken
	record   record
}

// NewReader reads the names of the columns, and returns a reader of the records of from.
func NewReader(from io.Reader, o Options) (*Reader, error) {
	r := &Reader{from: from, o: o, line: 1}
	if err := r.more(); err != nil {
		return nil, err
	}
	if o.Comma == 0 {
		var err error
		if r.o.Comma, err = separator(r.buf, r.end); err != nil {
			return nil, err
		}
	}
	for isFirst, isEmpty := true, true; isEmpty; isFirst = false {
		var ok bool
		var err error
		if isEmpty, ok, err = r.next(isFirst); err != nil {
			return nil, err
		}
		if !ok || isEmpty && r.line > maxEmpty {
			return nil, errs.New(errs.Invalid, "it is empty; the first line names the columns")
		}
	}
	if r.record.count > maxColumns {
		return nil, errs.New(errs.Invalid, "the first line names %d columns, want at most %d", r.record.count, maxColumns)
	}
	names := make([]string, 0, len(r.record.cells))
	for _, c := range r.record.cells {
		names = append(names, string(r.buf[c.from:c.to]))
	}
	if err := checkNames(names, r.record.line); err != nil {
		return nil, err
	}
	for i, name := range names {
		if o.Columns != nil && !slices.Contains(o.Columns, name) || name == "" && (o.Nameless || i == 0 && len(names) > 1) {
			r.place = append(r.place, -1) // the index of a frame of pandas has no name
			if name == "" && i > 0 && r.nameless == 0 {
				r.nameless = i + 1
			}
			continue
		}
		if name == "" {
			r.nameless = i + 1
			return nil, r.CheckNames()
		}
		r.place = append(r.place, len(r.columns))
		r.columns = append(r.columns, &column{name: name, Known: o.Known[name]})
	}
	return r, nil
}

// CheckNames returns the error about the first column without a name; nil: there is none.
func (r *Reader) CheckNames() error {
	if r.nameless == 0 {
		return nil
	}
	return errs.New(errs.Invalid, "column %d has no name; name it in the first line, or choose the columns to take", r.nameless)
}

func checkNames(names []string, line int64) error {
	if !utf8.ValidString(strings.Join(names, "")) {
		return notUTF8(line)
	}
	if strings.Contains(strings.Join(names, ""), "\r") {
		return errs.New(errs.Invalid, "its lines end with carriage returns alone; convert the file first, as with tr '\\r' '\\n'")
	}
	if one := names[0]; len(names) == 1 && strings.ContainsAny(one, ";\t|") {
		return errs.New(errs.Invalid, "the first line names one column, %.80q; no separator divides it and the other lines into equally many values; state the one that is meant, by --separator (separator=...)", one)
	}
	return nil
}

func notUTF8(line int64) error {
	return errs.New(errs.Corrupt, "line %d is not UTF-8; convert the file first, as with iconv -f LATIN1 -t UTF-8", line)
}

// Columns are the names of the columns that are taken, in the order of the file.
func (r *Reader) Columns() []string {
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.name
	}
	return names
}

// Known describes the columns by the records so far.
func (r *Reader) Known() map[string]Known {
	out := map[string]Known{}
	for _, c := range r.columns {
		out[c.name] = c.Known
	}
	return out
}

// next reads the next record, or an empty line; ok is false behind the last one.
func (r *Reader) next(isFirst bool) (isEmpty, ok bool, err error) {
	most := maxColumns
	if !isFirst && len(r.place) > 0 {
		most = len(r.place)
	}
	for {
		r.record.reset()
		n, err := r.record.scan(r.buf[r.at:], r.o.Comma, r.end, most)
		if err != nil {
			return false, false, errs.New(errs.KindOf(err), "line %d %w", r.line, err)
		}
		if n == 0 {
			if r.end {
				return false, false, nil
			}
			if len(r.buf)-r.at > maxRecord {
				return false, false, errs.New(errs.Invalid, "line %d begins a record of more than %d bytes; is a quote missing?", r.line, maxRecord)
			}
			if err := r.more(); err != nil {
				return false, false, err
			}
			continue
		}
		if isFirst && r.at == 0 {
			if isWide(r.buf) {
				return false, false, errs.New(errs.Corrupt, "it is UTF-16; convert the file first, as with iconv -f UTF-16 -t UTF-8")
			}
			for _, other := range []string{"PAR1", "ARROW1"} {
				if bytes.HasPrefix(r.buf, []byte(other)) {
					return false, false, errs.New(errs.Invalid, "it is a file of Parquet or Arrow; rename it, or give the format")
				}
			}
			if bytes.HasPrefix(r.buf, []byte("\xef\xbb\xbf")) {
				r.at = 3
				continue
			}
		}
		r.record.place(r.buf, r.at)
		r.record.line = r.line
		r.at += n
		r.line += r.record.lines
		first := r.record.cells[0]
		return r.record.count == 1 && first.from == first.to && !r.record.isQuoted, true, nil
	}
}

// forget drops the records that were passed over, once there are many bytes of them.
func (r *Reader) forget() {
	if r.at > 8*readBytes {
		r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
		r.at = 0
	}
}

// isWide reports whether a file begins with the mark of UTF-16.
func isWide(p []byte) bool {
	return bytes.HasPrefix(p, []byte{0xff, 0xfe}) || bytes.HasPrefix(p, []byte{0xfe, 0xff})
}

// more reads on.
func (r *Reader) more() error {
	// A record of many megabytes is scanned again from its beginning: each time with twice as much.
	most := max(readBytes, len(r.buf)-r.at)
	for most > 0 && !r.end {
		r.buf = slices.Grow(r.buf, readBytes)
		n, err := r.from.Read(r.buf[len(r.buf) : len(r.buf)+min(most, readBytes)])
		r.buf = r.buf[:len(r.buf)+n]
		most -= n
		if errors.Is(err, io.EOF) {
			r.end = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Next returns the next records, nil behind the last one. Its memory stays valid.
func (r *Reader) Next(ctx context.Context) (*arrow.Batch, error) {
	for {
		if b, err := r.batch(ctx); err != nil || b == nil || b.Len() > 0 {
			return b, err
		}
		if err := canceled(ctx); err != nil {
			return nil, err
		}
	}
}

// batch returns the next records, none if all of them were left out; nil behind the last one.
func (r *Reader) batch(ctx context.Context) (*arrow.Batch, error) {
	// Texts are copied out of the buffer, so it serves again.
	r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
	r.at = 0
	b := &rows{Reader: r}
	most := r.o.Most
	if most == 0 {
		most = batchBytes
	}
	for _, c := range r.columns {
		c.cells = c.cells[:0]
	}
	for len(b.numbers) < batchRows && int64(r.at-b.begin) < most && len(b.numbers)*len(r.columns) < maxCells {
		isEmpty, ok, err := r.next(false)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		number := r.row
		if !isEmpty {
			r.row++
		}
		if isEmpty || number < r.o.From {
			if len(b.numbers) == 0 {
				r.forget()
				b.begin = r.at
			}
			if r.line%(1<<16) == 0 {
				if err := canceled(ctx); err != nil {
					return nil, err
				}
			}
			continue
		}
		if got := r.record.count; got != len(r.place) {
			if err := b.leaveOut(number, errs.New(errs.Invalid, "line %d has another number of values than the first line: %d, want %d", r.record.line, got, len(r.place))); err != nil {
				return nil, err
			}
			continue
		}
		for i, c := range r.record.cells {
			if at := r.place[i]; at >= 0 {
				r.columns[at].cells = append(r.columns[at].cells, c)
			}
		}
		b.numbers, b.lines = append(b.numbers, number), append(b.lines, r.record.line)
	}
	if len(b.numbers) == 0 && !b.isSome {
		return nil, nil
	}
	return b.make(ctx)
}

func canceled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errs.Wrap(errs.Canceled, "read records", "", ctx.Err())
}

// Position is the number of the next record.
func (r *Reader) Position() int64 { return r.row }

// rows are the records of a batch.
type rows struct {
	*Reader
	begin   int     // of the first record in buf
	numbers []int64 // of the records
	lines   []int64 // where they begin
	isSome  bool    // some were left out
}

// leaveOut reports a record that is left out, or returns its error.
func (b *rows) leaveOut(number int64, err error) error {
	b.isSome = true
	if b.o.LeaveOut == nil {
		return err
	}
	return b.o.LeaveOut(number, err)
}

// make makes the columns of a batch.
func (b *rows) make(ctx context.Context) (*arrow.Batch, error) {
	if err := b.checkText(); err != nil {
		return nil, err
	}
	g := task.New(ctx, task.Cores())
	for _, c := range b.columns {
		g.Go(func(context.Context) error {
			c.classify(b.buf)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := b.checkKinds(); err != nil {
		return nil, err
	}
	types, data := make([]*arrow.Type, len(b.columns)), make([]*arrow.Data, len(b.columns))
	g = task.New(ctx, task.Cores())
	for i, c := range b.columns {
		g.Go(func(context.Context) error {
			types[i], data[i] = c.build(b.buf)
			types[i].Name = c.name
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := &arrow.Type{Format: "+s", Children: types}
	column, err := arrow.MakeColumn(all, &arrow.Data{Rows: int64(len(b.numbers)), Children: data})
	if err != nil {
		return nil, err
	}
	out := &arrow.Batch{Column: column, Bytes: int64(b.at - b.begin)}
	if b.isSome {
		out.Rows = b.numbers
	}
	return out, nil
}

// checkText refuses records that are not UTF-8.
func (b *rows) checkText() error {
	if utf8.Valid(b.buf[b.begin:b.at]) {
		return nil
	}
	return b.drop(func(row int) error {
		for _, c := range b.columns {
			if !utf8.Valid(b.buf[c.cells[row].from:c.cells[row].to]) {
				return notUTF8(b.lines[row])
			}
		}
		return nil
	})
}

// checkKinds refuses records with a value of another kind than their column has.
func (b *rows) checkKinds() error {
	bad := map[int]*column{}
	for _, c := range b.columns {
		for _, row := range c.bad {
			bad[row] = c
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return b.drop(func(row int) error {
		c := bad[row]
		if c == nil {
			return nil
		}
		p := b.buf[c.cells[row].from:c.cells[row].to]
		if c.Kinds&isFloat != 0 && c.kindOf(value(b.buf, c.cells[row]))&isInexact != 0 {
			return errs.New(errs.Type, "line %d has %.40q for %q, which float64 would round; give it dtype float64, or htype text", b.lines[row], p, c.name)
		}
		return errs.New(errs.Type, "line %d has %.40q for %q, and the column has %s; give it another dtype, or htype text", b.lines[row], p, c.name, c.Kinds)
	})
}

// drop leaves out the records for which wrong returns an error.
func (b *rows) drop(wrong func(row int) error) error {
	kept := 0
	for row := range b.numbers {
		if err := wrong(row); err != nil {
			if err := b.leaveOut(b.numbers[row], err); err != nil {
				return err
			}
			continue
		}
		b.numbers[kept], b.lines[kept] = b.numbers[row], b.lines[row]
		for _, c := range b.columns {
			c.cells[kept] = c.cells[row]
		}
		kept++
	}
	b.numbers, b.lines = b.numbers[:kept], b.lines[:kept]
	for _, c := range b.columns {
		c.cells = c.cells[:kept]
	}
	return nil
}

// cell is where a value lies in the buffer, without quotes.
type cell struct{ from, to uint32 }

// record is the values of a record.
type record struct {
	count    int    // of the values
	cells    []cell // of the first values; relative to the record, until place
	escaped  []int  // those with doubled quotes
	isQuoted bool
	lines    int64 // that it takes
	line     int64 // where it begins
}

func (c *record) reset() {
	c.count, c.cells, c.escaped, c.isQuoted, c.lines = 0, c.cells[:0], c.escaped[:0], false, 1
}

// scan reads the record at the beginning of p, and returns its length with the end of its line; 0
// if p does not have all of it. isAll says that nothing follows p. It keeps most of the values.
func (c *record) scan(p []byte, comma byte, isAll bool, most int) (n int, err error) {
	if len(p) > math.MaxUint32 {
		return 0, errs.New(errs.Invalid, "begins a record that is too long")
	}
	if len(p) == 0 {
		return 0, nil
	}
	for at := 0; ; {
		from, to := at, at
		if at < len(p) && p[at] == '"' {
			c.isQuoted = true
			var isEscaped, ok bool
			if from, to, isEscaped, ok = quoted(p, at); !ok {
				if isAll {
					return 0, errs.New(errs.Invalid, "has a quote that is not closed")
				}
				return 0, nil
			}
			if isEscaped && c.count < most {
				c.escaped = append(c.escaped, len(c.cells))
			}
			c.lines += int64(bytes.Count(p[from:to], []byte{'\n'}))
			if at = to + 1; at < len(p) && p[at] != comma && p[at] != '\n' && (p[at] != '\r' || at+1 < len(p) && p[at+1] != '\n') {
				return 0, errs.New(errs.Invalid, "has %.20q behind a closing quote; a quote within quotes is written twice", p[at:])
			}
			if at < len(p) && p[at] == '\r' {
				at++
			}
		} else {
			for at < len(p) && p[at] != comma && p[at] != '\n' {
				at++
			}
			if to = at; at < len(p) && p[at] == '\n' && to > from && p[to-1] == '\r' || at == len(p) && isAll && to > from && p[to-1] == '\r' {
				to--
			}
		}
		if at == len(p) && !isAll {
			return 0, nil
		}
		if c.count++; c.count <= most {
			c.cells = append(c.cells, cell{uint32(from), uint32(to)})
		}
		if at == len(p) {
			return at, nil
		}
		if at++; p[at-1] == '\n' {
			return at, nil
		}
	}
}

// quoted returns where the text within quotes lies; ok is false if p does not have its end.
func quoted(p []byte, at int) (from, to int, isEscaped, ok bool) {
	from = at + 1
	for to = from; ; {
		i := bytes.IndexByte(p[to:], '"')
		if i < 0 {
			return 0, 0, false, false
		}
		if to += i; to+1 < len(p) && p[to+1] == '"' {
			isEscaped = true
			to += 2
			continue
		}
		return from, to, isEscaped, true
	}
}

// place turns doubled quotes into one, and makes the places those in the buffer.
func (c *record) place(buf []byte, at int) {
	for i := range c.cells {
		c.cells[i].from += uint32(at)
		c.cells[i].to += uint32(at)
	}
	for _, i := range c.escaped {
		one := &c.cells[i]
		p := buf[one.from:one.to]
		n := 0
		for k := 0; k < len(p); k++ {
			p[n] = p[k]
			n++
			if p[k] == '"' {
				k++
			}
		}
		one.to = one.from + uint32(n)
	}
}
