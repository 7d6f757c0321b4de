package episodes

import (
	"context"
	"slices"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// labelledRows bounds the rows whose splits are read or written at once.
const labelledRows = 1 << 14

// splitName returns the name of the split that has an episode; "": none.
func (in *info) splitName(index int64) string {
	if n := slices.IndexFunc(in.splits, func(s split) bool { return index >= s.from && index < s.to }); n >= 0 {
		return in.splits[n].name
	}
	return ""
}

// checkSplits warns of splits that share episodes. They are in the order of their first ones.
func (s *set) checkSplits() {
	var furthest *split
	for i := range s.splits {
		one := &s.splits[i]
		if one.from == one.to {
			continue
		}
		if furthest != nil && one.from < furthest.to {
			s.warn(infoKey, "the splits %q and %q both have episodes %d to %d; their rows have the split that begins first", short(furthest.name), short(one.name),
				one.from, min(one.to, furthest.to)-1)
		}
		if furthest == nil || one.to > furthest.to {
			furthest = one
		}
	}
}

// splitSample is the label of an episode. New names become classes of the tensor.
func (im *importer) splitSample(index int64) tensor.Sample {
	name := im.set.splitName(index)
	if name == "" {
		return tensor.Sample{Form: tensor.FormHole}
	}
	return tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(name)}
}

// splitSpec describes the tensor of splits.
func (im *importer) splitSpec() dataset.TensorSpec {
	var names []string
	for _, s := range im.set.splits {
		names = append(names, s.name)
	}
	return dataset.TensorSpec{Name: splitTensor, HType: "class_label", ClassNames: names, AddClasses: true}
}

// findSplits decides whether rows have a split: if there are several, and if earlier ones have it.
func (im *importer) findSplits(tensors []dataset.TensorDescription) {
	if slices.ContainsFunc(im.taken, func(f feature) bool { return f.name == splitTensor }) {
		return
	}
	im.split = len(im.set.splits) > 1
	for i := range tensors {
		if t := &tensors[i]; t.Name != splitTensor {
			continue
		} else if im.split = t.HType == "class_label"; !im.split && len(im.set.splits) > 1 {
			im.warn(infoKey, "the splits are not stored: the dataset has another tensor \""+splitTensor+"\"")
		}
	}
}

// knownSplits gives rows of earlier runs their splits if they had none because there was one, and
// else warns of rows whose splits are others now.
func (im *importer) knownSplits(ctx context.Context) error {
	if im.d == nil || !im.split || len(im.tensors) == 0 {
		return nil
	}
	v, err := im.d.View(ctx)
	if err != nil {
		return err
	}
	_, there := im.tensors[splitTensor]
	if !there {
		if err := im.d.CreateTensor(ctx, im.splitSpec()); err != nil {
			return err
		}
		im.tensors[splitTensor] = false
	}
	var names []string // of classes
	if there {
		col, err := v.Column(splitTensor)
		if err != nil {
			return err
		}
		names = col.ClassNames()
	}
	var changed int64
	var first int64 // episode that has changed
	var was string
	for from := int64(0); from < v.Len(); from += labelledRows {
		rows := make([]int64, min(labelledRows, v.Len()-from))
		for i := range rows {
			rows[i] = from + int64(i)
		}
		numbers, err := integers(ctx, v, episodeIndex, rows)
		if err != nil {
			return err
		}
		if !there {
			samples := make([]tensor.Sample, len(rows))
			for i, n := range numbers {
				samples[i] = im.splitSample(n)
			}
			if err := im.d.Update(ctx, rows, []tensor.Rows{{Tensor: splitTensor, Samples: samples}}); err != nil {
				return err
			}
			continue
		}
		labels, err := integers(ctx, v, splitTensor, rows)
		if err != nil {
			return err
		}
		for i, label := range labels {
			name := ""
			if label >= 0 && label < int64(len(names)) {
				name = names[label]
			}
			if name == im.set.splitName(numbers[i]) {
				continue
			}
			if changed++; changed == 1 {
				first, was = numbers[i], name
			}
		}
	}
	if changed > 0 {
		shown := func(name string) string {
			if name == "" {
				return "none"
			}
			return "\"" + short(name) + "\""
		}
		im.warn(infoKey, errs.New(errs.Invalid, "%d episodes were taken in with another split: episode %d has %s, and is in %s now; they keep theirs, and "+
			"--overwrite (overwrite=True) takes all in again", changed, first, shown(was), shown(im.set.splitName(first))).Error())
	}
	return nil
}

// integers returns the integers of rows of a tensor.
func integers(ctx context.Context, v *dataset.View, name string, rows []int64) ([]int64, error) {
	col, err := v.Column(name)
	if err != nil {
		return nil, err
	}
	return dataset.Integers(ctx, col, rows)
}

// parts names the splits that the tensor has.
func (im *importer) parts() ([]string, error) {
	desc, err := im.d.Describe()
	if err != nil || !im.split {
		return nil, err
	}
	var out []string
	for _, t := range desc.Tensors {
		for _, s := range im.set.splits {
			if t.Name == splitTensor && slices.Contains(t.ClassNames, s.name) {
				out = append(out, s.name)
			}
		}
	}
	return out, nil
}
