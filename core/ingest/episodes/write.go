package episodes

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// The tensors that no feature makes.
const (
	taskTensor  = "task"
	splitTensor = "split"
	statsKey    = "meta/stats.json"
)

// append appends the row of an episode, whose tensors it creates if they are missing. why says
// that the episode cannot be taken.
func (im *importer) append(ctx context.Context, p *pending) (why, err error) {
	task, why := im.task(p)
	if why != nil {
		return why, nil
	}
	if why, err = im.create(ctx, p); why != nil || err != nil {
		return why, err
	}
	rows := []tensor.Rows{{Tensor: episodeIndex, Samples: []tensor.Sample{scalar(p.of.index)}}}
	if im.wantsTask() {
		rows = append(rows, tensor.Rows{Tensor: taskTensor, Samples: []tensor.Sample{task}})
	}
	if im.split {
		rows = append(rows, tensor.Rows{Tensor: splitTensor, Samples: []tensor.Sample{im.splitSample(p.of.index)}})
	}
	part, film := 0, 0
	for i := range im.taken {
		f := &im.taken[i]
		if f.kind == video {
			rows = append(rows, tensor.Rows{Tensor: f.name, Samples: []tensor.Sample{p.samples[film]}})
			film++
			continue
		}
		rows = append(rows, p.parts[part].rows(f, p.content))
		part++
	}
	for name, isList := range im.tensors { // of other programs
		if !slices.ContainsFunc(rows, func(r tensor.Rows) bool { return r.Tensor == name }) {
			r := tensor.Rows{Tensor: name, Samples: []tensor.Sample{{Form: tensor.FormHole}}}
			if isList {
				r.RowItems = []int64{1}
			}
			rows = append(rows, r)
		}
	}
	if err = im.d.Append(ctx, rows, 1); err != nil && bad(err) {
		return err, nil
	}
	return nil, err
}

// scalar is a sample of one number.
func scalar(n int64) tensor.Sample {
	return tensor.Sample{Form: tensor.FormArray, DType: tensor.Int64, Shape: tensor.Shape{}, Data: binary.NativeEndian.AppendUint64(nil, uint64(n))}
}

// rows are the values of a feature, for the tensor of its name.
func (p *part) rows(f *feature, c *content) tensor.Rows {
	if f.kind == numbers {
		shape := append(tensor.Shape{c.frames}, f.shape...)
		return tensor.Rows{Tensor: f.name, Samples: []tensor.Sample{{Form: tensor.FormArray, DType: f.dtype, Shape: shape, Data: p.numbers}}}
	}
	out := tensor.Rows{Tensor: f.name, Samples: make([]tensor.Sample, len(p.items)), RowItems: []int64{int64(len(p.items))}}
	for i, item := range p.items {
		out.Samples[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: item}
		if f.kind == picture {
			out.Samples[i] = tensor.Sample{Form: tensor.FormEncoded, Data: item}
		}
	}
	return out
}

// wantsTask reports whether rows have the text of their task.
func (im *importer) wantsTask() bool {
	return im.set.hasTasks && !slices.ContainsFunc(im.taken, func(f feature) bool { return f.name == taskTensor })
}

// task returns the text of the task of an episode: a hole if its frames have several.
func (im *importer) task(p *pending) (tensor.Sample, error) {
	none := tensor.Sample{Form: tensor.FormHole}
	if !im.set.hasTasks || len(p.tasks) == 0 {
		return none, nil
	}
	for _, n := range p.tasks {
		if n < 0 || n >= int64(len(im.set.tasks)) {
			return none, errs.New(errs.Invalid, "its frames have task_index %d, and there are %d tasks", n, len(im.set.tasks))
		}
	}
	if len(p.tasks) > 1 {
		im.warn(p.key, fmt.Sprintf("episode %d: its frames have several tasks, which task_index tells; its row has no %s", p.of.index, taskTensor))
		return none, nil
	}
	return tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(im.set.tasks[p.tasks[0]])}, nil
}

// create makes the dataset and its tensors with the first episode. why says that it is no example
// for these.
func (im *importer) create(ctx context.Context, p *pending) (why, err error) {
	if !im.lacks() {
		return nil, nil
	}
	specs, err := im.specs(ctx, p)
	if err != nil && bad(err) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	if im.d == nil {
		d, err := dataset.Create(ctx, im.env, im.place, dataset.CreateOptions{Overwrite: im.o.Overwrite, AtCommit: true, Storage: im.o.Storage})
		if err != nil {
			return nil, err
		}
		im.made = true
		if err := im.adopt(ctx, d); err != nil {
			return nil, err
		}
	}
	for _, spec := range specs {
		if _, there := im.tensors[spec.Name]; there {
			continue
		}
		if err := im.d.CreateTensor(ctx, spec); err != nil && bad(err) {
			return nil, errs.New(errs.KindOf(err), "feature %q: %w; --columns (columns=[...]) with the others leaves it out", short(spec.Name), err)
		} else if err != nil {
			return nil, err
		}
	}
	desc, err := im.d.Describe()
	if err != nil {
		return nil, err
	}
	for _, t := range desc.Tensors {
		im.tensors[t.Name] = t.Sequence
	}
	return nil, nil
}

// lacks reports whether the dataset lacks tensors: at first, and if the set has features that are
// new.
func (im *importer) lacks() bool {
	isThere := func(name string) bool {
		_, there := im.tensors[name]
		return there
	}
	for _, f := range im.taken {
		if !isThere(f.name) {
			return true
		}
	}
	return !isThere(episodeIndex) || im.wantsTask() && !isThere(taskTensor) || im.split && !isThere(splitTensor)
}

// specs describes the tensors. The first episode tells the kinds of images.
func (im *importer) specs(ctx context.Context, p *pending) ([]dataset.TensorSpec, error) {
	stats, err := im.stats(ctx)
	if err != nil {
		return nil, err
	}
	out := []dataset.TensorSpec{{Name: episodeIndex, DType: "int64", Shape: tensor.Shape{}}}
	if im.wantsTask() {
		out = append(out, dataset.TensorSpec{Name: taskTensor, HType: "text"})
	}
	if im.split {
		out = append(out, im.splitSpec())
	}
	part := 0
	for i := range im.taken {
		f := &im.taken[i]
		spec := dataset.TensorSpec{Name: f.name, Info: map[string]any{}}
		switch f.kind {
		case numbers:
			spec.HType, spec.DType, spec.Shape = "generic", f.dtype.String(), append(tensor.Shape{-1}, f.shape...)
		case text:
			spec.HType = "sequence[text]"
		case video:
			spec.HType = "video"
		case picture:
			spec.HType = "sequence[image]"
			if id, ok := im.env.Codecs.Sniff(p.parts[part].items[0]); ok {
				spec.Compression = id.Name()
			} else {
				return nil, errs.New(errs.Invalid, "feature %q has no image file of %s in its first frame", f.name, im.env.Codecs.Titles("or"))
			}
			if _, err := codecOf(im.env.Codecs, spec.Compression); err != nil {
				return nil, err
			}
		}
		if f.kind != video {
			part++
		}
		for member, value := range map[string]any{"names": f.names, "stats": small(stats[f.name]), "info": about(f)} {
			if value != nil {
				spec.Info[member] = value
			}
		}
		if f.name == taskIndex && im.set.hasTasks {
			spec.Info["tasks"] = im.set.tasks
		}
		out = append(out, spec)
	}
	return out, nil
}

// codecOf returns the codec of a name.
func codecOf(reg *codec.Registry, name string) (codec.SampleCodec, error) {
	id, _, err := reg.Parse(name)
	if err != nil {
		return nil, err
	}
	return reg.Sample(id)
}

// about returns the description of a video in info.json.
func about(f *feature) any {
	if f.about == nil {
		return nil
	}
	return f.about
}

// stats reads the statistics of the features. A set may have none.
func (im *importer) stats(ctx context.Context) (map[string]any, error) {
	data, err := im.files.whole(ctx, statsKey, maxInfo)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	var out map[string]any
	if err == nil && json.Unmarshal(data, &out) != nil {
		err = errs.New(errs.Invalid, "it is no JSON, which has no NaN")
	}
	if err != nil && !bad(err) {
		return nil, err
	}
	if err != nil {
		im.warn(statsKey, reason(err)+"; tensors have no statistics")
		return nil, nil
	}
	return out, nil
}
