package ingest

import (
	"context"
	"slices"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/table"
	"deeplake/core/ingest/target"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// run does the whole import. A canceled import commits its rows.
func (im *importer) run(ctx context.Context, uri string) (*Report, error) {
	// A cancellation leads to a commit, and must not interrupt it.
	write := context.WithoutCancel(ctx)
	defer func() {
		if im.d != nil {
			_ = im.d.Close()
		}
		if im.beside != nil {
			_ = im.beside.Close()
		}
	}()
	im.place = uri
	if im.o.Size > 0 {
		var err error
		if im.fit, err = newFit(im.env.Codecs, im.o.Size, im.form(codec.RGB)); err != nil {
			return nil, errs.Wrap(errs.Invalid, "import from", im.source.URI(), err)
		}
		defer im.fit.close()
	}
	fresh, err := im.begin(ctx, uri)
	if err != nil {
		return nil, err
	}
	im.job.Update(func(p *Progress) { p.TotalFiles, p.Rows = im.source.objects, im.report.Resumed })
	var v *dataset.View // of the rows that are there
	if !fresh {
		if v, err = im.d.View(write); err != nil {
			return nil, err
		}
		im.known = v.Len() > 0
		if err := im.identify(v); err != nil {
			return nil, err
		}
	}
	im.began = im.after
	if im.known && im.set != nil {
		if im.pictures, err = v.Column(imageTensor); err != nil {
			return nil, err
		}
	}
	err = im.pipeline(ctx, v, func(ctx context.Context, o *object) error { return im.write(ctx, write, o) })
	if failed := im.created(); err == nil || errs.Is(err, errs.Canceled) && failed != nil {
		err = failed
	}
	if err == nil {
		err = im.lostPictures()
	}
	canceled := errs.Is(err, errs.Canceled)
	if err == nil && im.nothing() {
		err = im.nothingError()
	}
	if im.d == nil {
		return nil, err
	}
	if err != nil && !canceled {
		return nil, im.giveUp(write, uri, fresh, err)
	}
	if canceled && fresh && (im.o.Once || im.report.Added+int64(len(im.window)) == 0) {
		return nil, errs.Wrap(errs.Canceled, "import from", im.source.URI(), target.Remove(write, im.env, im.d, uri, im.o.Storage, err))
	}
	if commitErr := im.commit(write, !canceled); commitErr != nil {
		return nil, im.giveUp(write, uri, fresh, commitErr)
	}
	im.finishReport()
	if !canceled {
		err = im.saveSplits(write)
	}
	return im.report, err
}

// giveUp ends an import that has failed. One that makes a single commit leaves no dataset without
// it.
func (im *importer) giveUp(ctx context.Context, uri string, fresh bool, err error) error {
	if im.o.Once && fresh && im.report.Version == 0 {
		return target.Remove(ctx, im.env, im.d, uri, im.o.Storage, err)
	}
	return target.Withdraw(ctx, im.d, err)
}

func (im *importer) finishReport() {
	im.tell()
	im.reportLists()
	im.report.Unchanged, im.report.Deleted = im.count.unchanged.Load(), im.count.deleted.Load()
	if c, err := im.env.Codecs.Sample(im.codec); err == nil && !im.videos {
		about := c.Describe()
		if im.report.Codec = about.Name(); !about.Lossless {
			im.report.Lossy = im.report.Converted
		}
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.Gone, im.report.GoneNames = im.goneCount, im.goneNames
	if desc, err := im.d.Describe(); err == nil {
		for _, t := range desc.Tensors {
			switch {
			case t.Name == labelTensor:
				im.report.Classes = t.ClassNames
			case t.Name == table.SplitColumn && im.set != nil:
				im.report.Parts = t.ClassNames
			}
		}
	}
	if len(im.report.Classes) == 0 {
		im.report.Classes = nil
	}
}

// begin probes the source, opens the dataset in parallel, and resumes an earlier run. If fresh,
// the first usable row of the source creates the dataset.
func (im *importer) begin(ctx context.Context, uri string) (fresh bool, err error) {
	write := context.WithoutCancel(ctx)
	if err := im.apart(ctx, uri); err != nil {
		return false, err
	}
	g := task.New(ctx, 0)
	g.Go(im.source.probe)
	missing := true
	if !im.o.Overwrite {
		im.d, err = dataset.Open(write, im.env, uri, dataset.OpenOptions{Storage: im.o.Storage})
		missing = errs.Is(err, errs.NotFound)
	}
	if probed := g.Wait(); probed != nil {
		return false, errs.Wrap(errs.Storage, "import from", im.source.URI(), probed)
	}
	if err != nil && !missing {
		return false, err
	}
	if err := im.chooseMedia(ctx); err != nil {
		return false, err
	}
	if err := im.openAnnotations(ctx); err != nil {
		if err == im.refused {
			return false, err
		}
		return false, errs.Wrap(errs.Invalid, "import from", im.source.URI(), err)
	}
	if err := im.checkMedia(); err != nil {
		return false, err
	}
	if im.codec, _, err = im.env.Codecs.Parse(im.source.compression(im.o)); err != nil {
		return false, err
	}
	// The names of shards do not tell the codec of their pictures.
	auto := im.o.Compression == "" || im.o.Compression == "auto"
	im.own = auto && im.source.shards > 0 && !im.o.Link && im.o.Size == 0
	im.splits = im.source.splits
	if im.labels = im.source.labels && im.o.Labels != "none"; im.labels {
		im.numbering[labelTensor] = labelsByName
	}
	if err := im.readSchema(ctx); err != nil {
		return false, err
	}
	if im.o.Classes != nil && !im.labels && im.source.shards == 0 && !im.o.Link {
		return false, errs.Op("import from", im.source.URI()).New(errs.Invalid, "classes has %d names, and no image lies in a class folder", len(im.o.Classes))
	}
	if missing {
		return true, nil
	}
	desc, err := im.d.Describe()
	if err != nil {
		return false, err
	}
	im.version = desc.Head.Version
	if len(desc.Tensors) == 0 && desc.Head.Version == 0 {
		return false, im.firstTensors(write) // interrupted before the first commit
	}
	return false, im.resume(desc)
}

// imageSpec is the tensor of the images.
func (im *importer) imageSpec() dataset.TensorSpec {
	spec := dataset.TensorSpec{Name: imageTensor, HType: "image.rgb", Compression: im.codec.Name(), Upright: im.o.Upright}
	if im.own {
		spec.Compression = "" // that of the first picture, and the others stay as they are
	} else if sc, err := im.env.Codecs.Sample(im.codec); err == nil && sc.Describe().CheckOptions != nil {
		spec.Quality = convertQuality
	}
	if n := int64(im.o.Size); n > 0 {
		spec.Shape = tensor.Shape{n, n, 3} // so that no later run mixes in another size
	}
	return spec
}

// create makes the dataset.
func (im *importer) create(ctx context.Context) error {
	d, err := dataset.Create(ctx, im.env, im.place, dataset.CreateOptions{Overwrite: im.o.Overwrite, AtCommit: true, Storage: im.o.Storage})
	if err != nil {
		return err
	}
	im.d = d
	v, err := d.View(ctx)
	if err == nil {
		err = im.identify(v)
	}
	if err != nil {
		return err
	}
	return im.firstTensors(ctx)
}

// created waits for the creation that the first usable row has started.
func (im *importer) created() error {
	if im.creation == nil {
		return nil
	}
	g := im.creation
	im.creation = nil
	return g.Wait()
}

// firstTensors creates the tensors of a new dataset. makeTensors creates others with the first row
// that has a value for them.
func (im *importer) firstTensors(ctx context.Context) error {
	var specs []dataset.TensorSpec
	if im.videos {
		specs = append(specs, dataset.TensorSpec{Name: videoTensor, HType: videoKind.htype})
	} else if !im.noImages {
		specs = append(specs, im.imageSpec())
	}
	specs = append(specs, dataset.OriginSpec())
	if im.labels {
		specs = append(specs, dataset.TensorSpec{Name: labelTensor, HType: "class_label", ClassNames: im.source.classes, AddClasses: im.o.Classes == nil})
	}
	if im.set != nil {
		specs = slices.Insert(specs, 1, im.annotationSpecs()...)
	}
	im.tensors = map[string]bool{}
	for _, spec := range specs {
		if err := im.d.CreateTensor(ctx, spec); err != nil {
			return err
		}
		im.tensors[spec.Name] = isList(spec.HType)
	}
	return nil
}
