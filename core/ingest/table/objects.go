package table

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"deeplake/core/arrow"
	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/urls"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// fetchRows is the number of rows whose objects are fetched together.
	fetchRows = 64
	// Rows are appended in order, so that those behind a URL without an answer wait for it:
	// fetchAhead parts, and fetchBytes of objects, most of them in files. Both bound the rate,
	// divided by fetchSilence.
	fetchAhead   = 2048
	fetchBytes   = 4 << 30
	fetchSilence = 5 * time.Second // of a request, unless the settings have a timeout
	// fetchWorkers is the number of requests at once, to all hosts together.
	fetchWorkers = 512
	// maxObject bounds the bytes of an object. The first part may hold fetchRows of them.
	maxObject = 32 << 20
	// shownReasons bounds the reasons that a report counts.
	shownReasons = 100
)

// URLColumn is a column of URLs, whose objects become samples.
type URLColumn struct {
	Column string `json:"column"`
	// Tensor takes the objects. Its name with "_error" is that of the tensor with reasons.
	Tensor string `json:"tensor"`
}

// Fit makes other samples of image files.
type Fit struct {
	Apply  func(file []byte) (tensor.Sample, error) // may be called in parallel
	Tensor dataset.TensorSpec                       // of the samples, without a name
}

// size is the side of images that are fitted; 0: they stay as they are.
func (im *importer) size() int64 {
	if im.o.Fit == nil || len(im.o.Fit.Tensor.Shape) == 0 {
		return 0
	}
	return im.o.Fit.Tensor.Shape[0]
}

// openFetcher checks the columns of URLs, and makes their fetcher.
func (im *importer) openFetcher(ctx context.Context, how storage.Options) (err error) {
	if len(im.o.URLs) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, u := range im.o.URLs {
		if u.Column == "" || u.Tensor == "" || u.Column == u.Tensor || seen[u.Tensor] || seen[u.errors()] {
			return errs.New(errs.Invalid, "objects of column %q go to tensor %q, their reasons to %q; want names that differ", u.Column, u.Tensor, u.errors())
		}
		seen[u.Tensor], seen[u.errors()] = true, true
	}
	o := urls.Options{Workers: fetchWorkers, MaxBytes: maxObject, Spill: fetchBytes, Storage: how.Settings, Environ: how.Environ}
	if how.Settings.Timeout == 0 {
		o.Silence = fetchSilence
	}
	im.fetcher, err = urls.New(ctx, o)
	im.report.Reasons = map[string]int64{}
	return err
}

func (im *importer) closeFetcher() {
	if im.fetcher != nil {
		im.fetcher.Close()
	}
}

// ahead is the number of batches that wait for the writer.
func (im *importer) ahead() int {
	if im.fetcher == nil {
		return 1
	}
	return fetchAhead
}

// parts divides a batch that begins at a position: few objects are in memory at once, and commits
// come when they are due.
func (im *importer) parts(batch Batch, from int64) []Batch {
	step := int64(fetchRows)
	if im.fetcher == nil {
		step = batch.Len()
	}
	if im.o.Checkpoint > 0 {
		step = min(step, im.o.Checkpoint)
	}
	if step == batch.Len() {
		return []Batch{batch}
	}
	var out []Batch
	for at := int64(0); at < batch.Len(); at += step {
		n := min(step, batch.Len()-at)
		part := Batch{Column: batch.Slice(at, n), To: from + at + n, Bytes: batch.Bytes * n / batch.Len()}
		if batch.Lines != nil {
			part.Lines = batch.Lines[at : at+n]
			part.To = part.Lines[n-1] + 1
		}
		if at+n == batch.Len() {
			part.To = batch.To
		}
		out = append(out, part)
	}
	return out
}

// start requests the objects of a batch. It returns an item for each column of URLs, nil for one
// that the file lacks.
func (im *importer) start(batch *arrow.Column) ([]*urls.Batch, error) {
	if im.fetcher == nil {
		return nil, nil
	}
	fields, _ := batch.Fields()
	out := make([]*urls.Batch, len(im.o.URLs))
	for i, u := range im.o.URLs {
		at := slices.IndexFunc(fields, func(c *arrow.Column) bool { return c.Name() == u.Column })
		if at < 0 {
			continue
		}
		texts, ok := fields[at].Texts()
		if !ok {
			return nil, errs.New(errs.Type, "column %q has type %s, want URLs as text", u.Column, fields[at].Type())
		}
		out[i] = im.fetcher.Start(texts)
	}
	return out, nil
}

// objects are the samples that the URLs of a column name, with the reasons of those without one.
type objects struct {
	URLColumn
	samples []tensor.Sample
	reasons []string // "" for a row with an object, or without a URL
	failed  int64
	keep    bool // the tensor with reasons exists
}

// objects waits for the objects of an item.
func (im *importer) objects(ctx context.Context, i item) (out []objects, err error) {
	for k, b := range i.objects {
		o := objects{URLColumn: im.o.URLs[k], samples: make([]tensor.Sample, i.batch.Len()), reasons: make([]string, i.batch.Len())}
		if b == nil {
			for row := range o.samples {
				o.samples[row].Form = tensor.FormHole
			}
			out = append(out, o)
			continue
		}
		results, err := b.Wait(ctx)
		if err != nil {
			return nil, err
		}
		im.held = append(im.held, b)
		if err := im.samples(ctx, &o, results); err != nil {
			return nil, err
		}
		for row, reason := range o.reasons {
			switch {
			case reason != "":
				o.failed++
				im.countReason(reason)
				if err := im.failed(i, o.URLColumn, row, reason); err != nil {
					return nil, err
				}
			case o.samples[row].Form != tensor.FormHole:
				im.report.Fetched++
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// samples makes the samples of fetched objects, or says why there is none.
func (im *importer) samples(ctx context.Context, o *objects, results []urls.Result) error {
	isImage := im.isImage(o.Tensor)
	g := task.New(ctx, task.Cores())
	for row, r := range results {
		s, reason := &o.samples[row], &o.reasons[row]
		*reason = r.Reason
		if *reason == "" && r.Data != nil && isImage {
			*reason = im.noImage(o.Tensor, r.Data)
		}
		switch {
		case *reason != "" || r.Data == nil:
			s.Form = tensor.FormHole
		case isImage && im.o.Fit != nil:
			g.Go(func(context.Context) (err error) {
				if *s, err = im.o.Fit.Apply(r.Data); err != nil {
					*s, *reason = tensor.Sample{Form: tensor.FormHole}, err.Error()
				}
				return nil
			})
		case isImage:
			*s = tensor.Sample{Form: tensor.FormEncoded, Data: r.Data}
		default:
			*s = tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: r.Data}
		}
	}
	return g.Wait()
}

// failed reports a URL without an object. It returns an error if that ends the import.
func (im *importer) failed(i item, u URLColumn, row int, reason string) error {
	im.report.Failed++
	if im.o.FailOnURL {
		return errs.New(errs.Invalid, "row %d: %s: %s", i.batch.at(i.from, row), u.Column, reason)
	}
	if im.o.LeaveOut {
		im.skip(i.file.key, fmt.Errorf("row %d: %s: %s", i.batch.at(i.from, row), u.Column, reason))
	}
	return nil
}

func (im *importer) countReason(reason string) {
	if _, ok := im.report.Reasons[reason]; !ok && len(im.report.Reasons) >= shownReasons {
		reason = "other reasons"
	}
	im.report.Reasons[reason]++
}

// isImage reports whether a tensor takes images.
func (im *importer) isImage(name string) bool {
	return strings.HasPrefix(im.specOf(name).HType, "image")
}

// noImage returns why data are no image file that the tensor takes; "": they are one.
func (im *importer) noImage(name string, data []byte) string {
	id, ok := im.env.Codecs.Sniff(data)
	if !ok {
		return "not a " + im.env.Codecs.Titles("or") + " file"
	}
	sc, err := im.env.Codecs.Sample(id)
	if err != nil {
		return err.Error()
	}
	head, err := im.env.Codecs.Header(sc, data, codec.AsStored)
	if err != nil {
		return err.Error()
	}
	if im.o.Fit != nil {
		return ""
	}
	want := im.specOf(name)
	if want.DType != "" && want.DType != head.DType.String() {
		return fmt.Sprintf("the image has dtype %s, want %s", head.DType, want.DType)
	}
	if want.HType == "image" && len(want.Shape) > 0 && !fitsShape(head.Shape, want.Shape) {
		return fmt.Sprintf("the image has shape %s, want %s", head.Shape, want.Shape)
	}
	return ""
}

// specOf is the tensor of objects, as options give it.
func (im *importer) specOf(name string) dataset.TensorSpec {
	spec, given := im.o.Schema[name]
	switch {
	case given:
	case im.o.Fit != nil:
		spec = im.o.Fit.Tensor
	default:
		spec = dataset.TensorSpec{HType: "image", DType: "uint8"}
	}
	spec.Name = name
	return spec
}

// fitsShape reports whether an image has the axes that a tensor states; -1 is any size.
func fitsShape(have, want tensor.Shape) bool {
	if len(have) != len(want) {
		return false
	}
	for i, n := range want {
		if n >= 0 && n != have[i] {
			return false
		}
	}
	return true
}

// ensureObjects creates the tensors of objects, and those of reasons once there is one.
func (im *importer) ensureObjects(ctx context.Context, all []objects) error {
	for i := range all {
		o := &all[i]
		if _, there := im.tensors[o.Tensor]; !there {
			if err := im.createTensor(ctx, im.specOf(o.Tensor)); err != nil {
				return err
			}
		}
		_, o.keep = im.tensors[o.errors()]
		if o.failed > 0 && !o.keep && !im.o.LeaveOut {
			if err := im.createTensor(ctx, dataset.TensorSpec{Name: o.errors(), HType: "text"}); err != nil {
				return err
			}
			o.keep = true
		}
	}
	return nil
}

func (im *importer) createTensor(ctx context.Context, spec dataset.TensorSpec) error {
	if err := im.d.CreateTensor(ctx, spec); err != nil {
		return err
	}
	return im.readTensors()
}

// errors is the name of the tensor with the reasons.
func (u URLColumn) errors() string { return u.Tensor + "_error" }

// columns are the values for the tensors of objects and of reasons.
func (o *objects) columns() []tensor.Rows {
	out := []tensor.Rows{{Tensor: o.Tensor, Samples: o.samples}}
	if !o.keep {
		return out
	}
	reasons := make([]tensor.Sample, len(o.reasons))
	for i, reason := range o.reasons {
		if reasons[i].Form = tensor.FormHole; reason != "" {
			reasons[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(reason)}
		}
	}
	return append(out, tensor.Rows{Tensor: o.errors(), Samples: reasons})
}

// ofObjects makes the rows of a batch ready: without those whose URLs gave no object, if they are
// left out. It returns their number.
func (im *importer) ofObjects(b *dataset.Batch, all []objects) (rows int64) {
	isGood := func(row int64) bool {
		return !slices.ContainsFunc(all, func(o objects) bool { return o.reasons[row] != "" })
	}
	if !im.o.LeaveOut || len(all) == 0 {
		im.ready = append(im.ready, b)
		return b.Rows
	}
	for from := int64(0); from < b.Rows; {
		to := from
		for to < b.Rows && isGood(to) {
			to++
		}
		if to > from {
			im.ready = append(im.ready, sliced(b, from, to-from))
			rows += to - from
		}
		from = to + 1
	}
	return rows
}

// release gives back the memory of objects that are appended.
func (im *importer) release() {
	for _, b := range im.held {
		b.Release()
	}
	im.held = im.held[:0]
}
