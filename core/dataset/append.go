package dataset

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// checked is a column of samples that all suit their tensor.
type checked struct {
	ct      *columnType
	check   *checker
	array   *tensor.Array
	itemLen int64           // bytes of one sample of array
	texts   *tensor.Texts   // in the tensor's dtype
	missing []bool          // rows that array and texts leave out, without a sample; nil: none
	samples []tensor.Sample // normalised, when array and texts are nil
	items   []int64         // sequences: items of each row, or hole
}

// hole is the number of items of a row of a sequence that has no sample.
const hole = -1

// append is Dataset.Append.
func (w *writer) append(ctx context.Context, cols []tensor.Rows, rows int64) error {
	if err := w.appendAhead(ctx, cols, rows); err != nil {
		return err
	}
	return w.settle()
}

// appendAhead is append, after which blocks may still be compressed: settle waits for them.
func (w *writer) appendAhead(ctx context.Context, cols []tensor.Rows, rows int64) error {
	if rows < 0 {
		return errs.New(errs.Invalid, "append %d rows", rows)
	}
	if w.session.Go = w.beside; rows == 1 {
		w.session.Go = nil // a block at most, for which the caller would wait
	}
	if len(cols) == 0 || len(w.txn.Schema().Tensors) > 0 {
		return w.appendKnown(ctx, cols, rows)
	}
	// Without rows, columns of another program still have types.
	if rows == 0 && slices.ContainsFunc(cols, func(c tensor.Rows) bool { return c.Foreign == nil }) {
		return nil
	}
	back, err := w.infer(cols, rows)
	if err != nil {
		return errs.Wrap(errs.Invalid, "append", "", err)
	}
	if err = w.appendKnown(ctx, cols, rows); err != nil && w.broken == nil {
		if again := back(); again != nil {
			return again
		}
	}
	return err
}

// appendKnown appends rows to existing tensors.
func (w *writer) appendKnown(ctx context.Context, cols []tensor.Rows, rows int64) error {
	types, err := w.columnsOf(cols)
	if err != nil {
		return errs.Wrap(errs.Invalid, "append", "", err)
	}
	switch tensors := len(w.txn.Schema().Tensors); {
	case rows > 0 && tensors == 0:
		return errs.Op("append to dataset", w.d.URI()).New(errs.Invalid, "it has no tensors yet, and the rows no columns; create_tensor() first")
	case rows > 0 && len(types) < tensors:
		if err := w.missingColumns(cols); err != nil {
			return err
		}
	}
	columns := make([]*checked, len(cols))
	for i, c := range cols {
		if columns[i], err = w.checkColumn(ctx, types[i], c, rows); err != nil {
			return errs.Wrap(errs.Invalid, "append to tensor", c.Tensor, err)
		}
	}
	if rows == 0 {
		return nil
	}
	if columns, err = w.withMade(ctx, columns, rows); err != nil {
		return errs.Wrap(errs.Invalid, "append", "", err)
	}
	if err := w.adopt(ctx, columns); err != nil {
		return err
	}
	start := w.txn.Rows()
	at := func(i int64) int64 { return start + i }
	for _, c := range columns {
		if err := w.writeColumn(ctx, c, rows, at, false); err != nil {
			return w.fail(errs.Wrap(errs.Storage, "append to tensor", c.ct.schema.Name, err))
		}
	}
	w.txn.Extend(rows)
	return nil
}

// settle writes the blocks that are being compressed: their memory is that of a call.
func (w *writer) settle() error {
	if !w.session.Packing() {
		return nil
	}
	for _, set := range []opened{w.adding, w.fixing} {
		for id, o := range set {
			if err := o.builder.Settle(); err != nil {
				return w.fail(errs.Wrap(errs.Storage, "write to tensor", w.typeOf(id).schema.Name, err))
			}
		}
	}
	return nil
}

// missingColumns refuses rows without values for a tensor; rows need none for hidden tensors.
func (w *writer) missingColumns(cols []tensor.Rows) error {
	given := map[string]bool{}
	for _, c := range cols {
		given[c.Tensor] = true
	}
	var missing []string
	for _, n := range visible(w.txn.Schema()) {
		if !given[n] {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errs.Op("append", "").New(errs.Invalid, "no values for tensor %s; give None for rows without a sample", quoted(missing))
}

// update is Dataset.Update.
func (w *writer) update(ctx context.Context, rows []int64, cols []tensor.Rows) error {
	types, err := w.columnsOf(cols)
	if err != nil {
		return errs.Wrap(errs.Invalid, "update", "", err)
	}
	physical, err := w.physical(rows)
	if err != nil {
		return errs.Wrap(errs.Range, "update", "", err)
	}
	columns := make([]*checked, len(cols))
	for i, c := range cols {
		if columns[i], err = w.checkColumn(ctx, types[i], c, int64(len(rows))); err != nil {
			return errs.Wrap(errs.Invalid, "update tensor", c.Tensor, err)
		}
	}
	if columns, err = w.withMade(ctx, columns, int64(len(rows))); err != nil {
		return errs.Wrap(errs.Invalid, "update", "", err)
	}
	if err := w.adopt(ctx, columns); err != nil {
		return err
	}
	at := func(i int64) int64 { return physical[i] }
	for _, c := range columns {
		holes := c.holes() // before writeColumn makes samples of arrays
		err := w.writeColumn(ctx, c, int64(len(rows)), at, true)
		if last := lastHoles(physical, holes); err == nil && len(last) > 0 {
			err = w.writeHoles(c.ct.schema.ID, last)
		}
		if err != nil {
			return w.fail(errs.Wrap(errs.Storage, "update tensor", c.ct.schema.Name, err))
		}
	}
	return nil
}

// lastHoles returns the rows of an update that a hole comes to last. holes are places in rows,
// which may repeat.
func lastHoles(rows, holes []int64) []int64 {
	if len(holes) == 0 {
		return nil
	}
	last := make(map[int64]int64, len(rows))
	for i, row := range rows {
		last[row] = int64(i)
	}
	var out []int64
	for _, i := range holes {
		if last[rows[i]] == i {
			out = append(out, rows[i])
		}
	}
	return out
}

// writeHoles takes the samples of rows away.
func (w *writer) writeHoles(id format.UUID, rows []int64) error {
	if o := w.fixing[id]; o != nil {
		// Updates before this one would come later, were their chunk left open.
		if err := w.seal(w.fixing, id, o, true); err != nil {
			return err
		}
	}
	if open := w.waiting[id]; len(open) > 0 {
		gone := map[int64]bool{}
		for _, row := range rows {
			gone[row] = true
		}
		w.waiting[id] = slices.DeleteFunc(open, func(r waiting) bool { return gone[r.row] })
	}
	var runs []format.RowRange
	for _, row := range rows {
		runs = append(runs, format.RowRange{Start: row, Count: 1})
	}
	w.txn.AddHoles(id, runs, true)
	return nil
}

// touched lists the tensors that an update of cols writes, those that are made of them included.
func (w *writer) touched(cols []tensor.Rows) []string {
	var names []string
	for _, c := range cols {
		names = append(names, c.Tensor)
		if ct := w.types[c.Tensor]; ct != nil {
			for _, l := range w.madeFrom(ct.schema.ID) {
				names = append(names, l.ct.schema.Name)
			}
		}
	}
	return names
}

// holes returns the rows without a sample.
func (c *checked) holes() (rows []int64) {
	for i, missing := range c.missing {
		if missing {
			rows = append(rows, int64(i))
		}
	}
	for i, n := range c.items {
		if n == hole {
			rows = append(rows, int64(i))
		}
	}
	if c.items == nil {
		for i := range c.samples {
			if c.samples[i].Form == tensor.FormHole {
				rows = append(rows, int64(i))
			}
		}
	}
	return rows
}

// adopt stores the properties that samples decide for their tensors: an open dtype or shape, new
// class names. It writes the empty samples that waited for a dtype.
func (w *writer) adopt(ctx context.Context, columns []*checked) error {
	for _, c := range columns {
		if given := c.check.given; c.ct != given {
			id := codec.None
			switch {
			case c.ct.sampleCodec != nil:
				id = c.ct.sampleCodec.Describe().ID
			case c.ct.blockCodec != nil:
				id = c.ct.blockCodec.ID()
			}
			*given = *c.ct
			c.ct, c.check.ct = given, given
			given.schema.Compression, given.schema.Files = id.Name(), given.files
		}
		if c.ct.open && !c.check.open {
			if err := w.decide(ctx, c.ct, c.check.dtype, c.check.time); err != nil {
				return err
			}
		}
		if c.ct.schema.Shape == nil && c.check.shape != nil {
			c.ct.schema.Shape = c.check.shape
		}
		c.ct.schema.ClassNames = append(c.ct.schema.ClassNames, c.check.added...)
		if c.check.numbered {
			w.labelled[c.ct.schema.ID] = true
		}
	}
	return nil
}

// checkColumn checks every sample of a column and counts its rows.
func (w *writer) checkColumn(ctx context.Context, ct *columnType, col tensor.Rows, rows int64) (*checked, error) {
	c := &checked{ct: ct, check: newChecker(ct, w.d.env.Codecs)}
	var err error
	if col.Foreign != nil {
		if col, err = fromForeign(ct, col, rows); err != nil {
			return nil, err
		}
	}
	if col.Texts != nil && (ct.list || ct.htype.IsVideo()) || col.Missing != nil && (ct.sampleCodec != nil || ct.list || len(w.made[ct.schema.ID]) > 0) {
		col = col.Spread()
	}
	c.check.missing = col.Missing
	c.check.numbered = ct.htype.Base == "class_label" && len(ct.schema.ClassNames) == 0 && (w.labelled[ct.schema.ID] || w.txn.HasElements(ct.schema.ID))
	if ct.htype.IsVideo() {
		col.Samples, err = w.d.links.settleVideos(ctx, col.Samples, sampleRow(nil))
	} else {
		col.Samples, err = w.d.links.settle(ctx, col.Samples, w.d.env.Codecs, ct.channels, sampleRow(col.RowItems))
	}
	if err != nil {
		return nil, err
	}
	if err := c.check.renumber(&col); err != nil {
		return nil, err
	}
	if err := c.check.settle(&col); err != nil {
		return nil, err
	}
	c.ct = c.check.ct
	if ct.list {
		return c, c.checkSequences(ctx, w.d.env.Codecs, col, rows)
	}
	if err := c.checkTexts(&col); err != nil {
		return nil, err
	}
	if c.missing = col.Missing; c.missing != nil {
		if int64(len(c.missing)) != rows {
			return nil, errs.New(errs.Invalid, "%d samples for %d rows", len(c.missing), rows)
		}
		rows = count(c.missing, false)
	}
	if col.Array != nil {
		return c, c.checkArray(col.Array, rows)
	}
	if c.texts != nil {
		if n := int64(len(c.texts.Starts)); n != rows {
			return nil, errs.New(errs.Invalid, "%d samples for %d rows", n, rows)
		}
		return c, nil
	}
	if int64(len(col.Samples)) != rows {
		return nil, errs.New(errs.Invalid, "%d samples for %d rows", len(col.Samples), rows)
	}
	if err := c.checkSamples(col.Samples, func(i int) int { return i }); err != nil {
		return nil, err
	}
	return c, c.decodeForeign(ctx, w.d.env.Codecs, func(i int) int { return i })
}

// fromForeign returns the values of a column of another program for its tensor.
func fromForeign(ct *columnType, col tensor.Rows, rows int64) (tensor.Rows, error) {
	if n := col.Foreign.Len(); n != rows {
		return col, errs.New(errs.Invalid, "%d samples for %d rows", n, rows)
	}
	out, err := col.Foreign.Rows(tensor.Target{HType: ct.htype, DType: ct.dtype, Open: ct.open})
	out.Tensor = col.Tensor
	return out, err
}

func (c *checked) checkArray(a *tensor.Array, rows int64) error {
	n, err := a.Shape.Bytes(a.DType)
	if err != nil {
		return err
	}
	if have := int64(len(a.Data)); n == 0 && have != 0 || n > 0 && (have%n != 0 || have/n != rows) {
		return errs.New(errs.Invalid, "%d samples of shape %s and dtype %s, of %d bytes each, have %d bytes together", rows, a.Shape, a.DType, n, have)
	}
	if rows == 0 {
		return nil
	}
	shape, err := c.check.array(a.DType, a.Shape)
	if err != nil {
		return err
	}
	data, err := c.check.numbers(a.DType, a.Data, int(n))
	if err != nil {
		return err
	}
	c.itemLen = int64(len(data)) / rows
	c.array = &tensor.Array{DType: c.check.dtype, Shape: shape, Data: data}
	return c.check.storable(shape, c.itemLen)
}

func (c *checked) checkSamples(samples []tensor.Sample, rowOf func(int) int) error {
	c.samples = make([]tensor.Sample, len(samples))
	for i, s := range samples {
		out, err := c.check.sample(s)
		if err != nil {
			return errs.New(errs.KindOf(err), "row %d: %w", rowOf(i), err)
		}
		c.samples[i] = out
	}
	return nil
}

// checkSequences checks a column of lists of samples.
func (c *checked) checkSequences(ctx context.Context, reg *codec.Registry, col tensor.Rows, rows int64) error {
	if col.Array != nil {
		return errs.New(errs.Type, "a row of htype %s is a list of samples, got an array of shape %s for each row", c.ct.htype, col.Array.Shape)
	}
	if int64(len(col.RowItems)) != rows {
		return errs.New(errs.Type, "%d lists of samples for %d rows; a row of htype %s is a list of samples", len(col.RowItems), rows, c.ct.htype)
	}
	row := make([]int, 0, len(col.Samples)) // of each sample
	c.items = slices.Clone(col.RowItems)
	samples := make([]tensor.Sample, 0, len(col.Samples))
	at := int64(0)
	for i, n := range col.RowItems {
		if left := int64(len(col.Samples)) - at; n < 0 || n > left {
			return errs.New(errs.Invalid, "row %d has %d items, but only %d samples are left", i, n, left)
		}
		if n > format.MaxChunkItems {
			return errs.New(errs.Invalid, "row %d has %d items, want at most %d", i, n, format.MaxChunkItems)
		}
		items := col.Samples[at : at+n]
		at += n
		if n == 1 && items[0].Form == tensor.FormHole {
			c.items[i] = hole
			continue
		}
		for range items {
			row = append(row, i)
		}
		samples = append(samples, items...)
	}
	if at != int64(len(col.Samples)) {
		return errs.New(errs.Invalid, "the rows have %d items together, but there are %d samples", at, len(col.Samples))
	}
	for i, s := range samples {
		if s.Form == tensor.FormHole {
			return errs.New(errs.Type, "row %d: a list has None in it; leave the item out", row[i])
		}
	}
	rowOf := func(i int) int { return row[i] }
	if err := c.checkSamples(samples, rowOf); err != nil {
		return err
	}
	return c.decodeForeign(ctx, reg, rowOf)
}

// writeColumn stores a checked column, sample i at row at(i).
func (w *writer) writeColumn(ctx context.Context, c *checked, rows int64, at func(int64) int64, update bool) error {
	set := w.adding
	if update {
		set = w.fixing
	}
	switch {
	case c.check.open:
		w.await(c, at)
		return nil
	case c.items != nil:
		return w.writeSequences(ctx, c, at, set, update)
	case c.texts != nil && c.missing == nil:
		return w.writeTexts(ctx, c, 0, rows, at, set, update)
	case c.array != nil && c.missing == nil && c.ct.sampleCodec == nil:
		return w.writeArray(ctx, c, 0, rows, at, set, update)
	case c.texts != nil:
		return c.eachRun(rows, func(from, row, n int64) error {
			return w.writeTexts(ctx, c, from, n, func(i int64) int64 { return at(row + i) }, set, update)
		})
	case c.array != nil && c.ct.sampleCodec == nil:
		return c.eachRun(rows, func(from, row, n int64) error {
			return w.writeArray(ctx, c, from, n, func(i int64) int64 { return at(row + i) }, set, update)
		})
	case c.array != nil:
		c.samples = make([]tensor.Sample, rows)
		for i := range rows {
			c.samples[i] = tensor.Sample{DType: c.array.DType, Shape: c.array.Shape, Data: c.array.Data[i*c.itemLen : (i+1)*c.itemLen]}
		}
	}
	return w.eachEncoded(ctx, c, func(i int64, it encoded) error {
		if c.samples[i].Form == tensor.FormHole {
			return nil
		}
		return w.writeItem(ctx, c.ct, it, at(i), set, update)
	})
}

// writeItem stores one sample that is not part of a sequence.
func (w *writer) writeItem(ctx context.Context, ct *columnType, it encoded, row int64, set opened, update bool) error {
	if it.tiled {
		return w.addTiled(ctx, ct, it.Item, row, update)
	}
	o := w.opened(set, ct)
	s, err := o.builder.Add(ctx, it.Item)
	w.take(o, ct, s, row, 1, update)
	return err
}

// eachRun calls fn for every run of n rows that have samples, where others are missing: from is the
// first of the samples, and row its row.
func (c *checked) eachRun(rows int64, fn func(from, row, n int64) error) error {
	from := int64(0)
	for row := int64(0); row < rows; {
		if c.missing[row] {
			row++
			continue
		}
		end := row
		for end < rows && !c.missing[end] {
			end++
		}
		if err := fn(from, row, end-row); err != nil {
			return err
		}
		from += end - row
		row = end
	}
	return nil
}

// writeArray stores rows equal samples without a codec, from sample first on.
func (w *writer) writeArray(ctx context.Context, c *checked, first, rows int64, at func(int64) int64, set opened, update bool) error {
	bound := c.ct.spec().Max()
	for i := int64(0); i < rows; {
		data := c.array.Data[(first+i)*c.itemLen : (first+rows)*c.itemLen]
		if update || c.itemLen > bound || c.itemLen == 0 {
			it := encoded{Item: chunk.Item{Data: data[:c.itemLen], Shape: c.array.Shape}, tiled: c.itemLen > bound}
			if err := w.writeItem(ctx, c.ct, it, at(i), set, update); err != nil {
				return err
			}
			i++
			continue
		}
		o := w.opened(set, c.ct)
		n, s, err := o.builder.AddArray(ctx, data, c.array.Shape, c.itemLen)
		w.take(o, c.ct, s, at(i), n, update)
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

// writeTexts stores n texts, from text first on.
func (w *writer) writeTexts(ctx context.Context, c *checked, first, n int64, at func(int64) int64, set opened, update bool) error {
	for i := int64(0); i < n; {
		k := int(first + i)
		if update {
			if err := w.writeItem(ctx, c.ct, encoded{Item: chunk.Item{Data: c.texts.At(k)}}, at(i), set, update); err != nil {
				return err
			}
			i++
			continue
		}
		o := w.opened(set, c.ct)
		end := int(first + n)
		took, s, err := o.builder.AddTexts(ctx, c.texts.Data, c.texts.Starts[k:end], c.texts.Ends[k:end])
		w.take(o, c.ct, s, at(i), took, update)
		if err != nil {
			return err
		}
		i += took
	}
	return nil
}

func (w *writer) writeSequences(ctx context.Context, c *checked, at func(int64) int64, set opened, update bool) error {
	row := 0
	var items []chunk.Item // of the row that is being gathered
	// full adds the rows that have all their items.
	full := func() error {
		for ; row < len(c.items) && (c.items[row] == hole || int64(len(items)) == c.items[row]); row++ {
			if c.items[row] == hole {
				continue
			}
			o := w.opened(set, c.ct)
			s, err := o.builder.AddRow(ctx, items)
			w.take(o, c.ct, s, at(int64(row)), 1, update)
			if err != nil {
				return err
			}
			items = items[:0]
		}
		return nil
	}
	if err := full(); err != nil {
		return err
	}
	return w.eachEncoded(ctx, c, func(_ int64, it encoded) error {
		items = append(items, it.Item)
		return full()
	})
}
