package ingest

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/ingest/target"
)

// state returns the facts that a later run needs.
func (im *importer) state(complete bool) map[string]any {
	state := map[string]any{
		"source": im.source.URI(), "after": im.after, "complete": complete, "link": im.o.Link, "partial": im.partial,
		"size": im.o.Size, "labels": im.o.labels(), "folders": im.labels, "splits": im.o.splits(), "split_folders": im.splits,
		"classes": append([]string{}, im.o.Classes...), "members": im.memberState(), "own": im.own,
		"apply_exif_orientation": im.o.Upright, "annotations": im.layout, "masks": im.o.Masks,
		"videos": im.videos, "dataset": im.identity, "version": im.version + 1, "earlier": im.earlierVersions(complete),
	}
	_, state["images"] = im.tensors[imageTensor]
	if !utf8.ValidString(im.after + im.partial) {
		// JSON holds no such names, and the commit would fail.
		state["after"], state["partial"], state["hex"] = hex.EncodeToString([]byte(im.after)), hex.EncodeToString([]byte(im.partial)), true
	}
	return state
}

// position sets the names at which an interrupted run has stopped.
func (im *importer) position(state map[string]any) error {
	im.after, _ = state["after"].(string)
	im.again, _ = state["partial"].(string)
	if coded, _ := state["hex"].(bool); !coded {
		return nil
	}
	after, err := hex.DecodeString(im.after)
	again, badAgain := hex.DecodeString(im.again)
	im.after, im.again = string(after), string(again)
	return errs.Wrap(errs.Corrupt, "continue the import to", im.d.URI(), errors.Join(err, badAgain))
}

// labels is the option with its default.
func (o Options) labels() string { return cmp.Or(o.Labels, "auto") }

// splits is the option with its default.
func (o Options) splits() string { return cmp.Or(o.Splits, "auto") }

// resume continues in the dataset of an earlier import of the same source, and refuses any other.
func (im *importer) resume(desc dataset.Description) error {
	state, _ := desc.Info[target.StateKey].(map[string]any)
	source, _ := state["source"].(string)
	switch {
	case state == nil:
		return errs.Op("import to", desc.URI).New(errs.Exists, "a dataset exists there; choose another place, or overwrite it")
	case source != im.source.URI():
		return errs.Op("import to", desc.URI).New(errs.Exists, "an import from %q lies there; continue that one, or overwrite it", source)
	}
	formats := map[bool]string{true: Videos, false: Images}
	if was, ok := state["format"].(string); ok { // of tables and of episodes
		return otherOption(desc.URI, "format", was, formats[im.videos])
	}
	if was, _ := state["videos"].(bool); was != im.videos {
		return otherOption(desc.URI, "format", formats[was], formats[im.videos])
	}
	for _, option := range []struct {
		name string
		now  any
	}{{"link", im.o.Link}, {"size", im.o.Size}, {"labels", im.o.labels()}, {"splits", im.o.splits()}, {"classes", im.o.Classes}, {"apply_exif_orientation", im.o.Upright}, {"annotations", im.layout}, {"masks", im.o.Masks}} {
		// Imports of earlier versions stored fewer options.
		if was, ok := state[option.name]; ok && fmt.Sprint(was) != fmt.Sprint(option.now) {
			if option.name == "annotations" {
				return otherLayout(desc.URI, fmt.Sprint(was), im.layout)
			}
			return otherOption(desc.URI, option.name, was, option.now)
		}
	}
	if im.settled, _ = state["complete"].(bool); !im.settled {
		if err := im.position(state); err != nil {
			return err
		}
		im.report.Resumed = desc.Rows
	}
	im.findEarlier(desc, state)
	if err := im.oldTensors(desc, state); err != nil {
		return err
	}
	// Imports of earlier versions knew no splits, and took such folders for classes.
	im.splits, _ = state["split_folders"].(bool)
	im.source.splits = im.splits
	if folders, ok := state["folders"].(bool); ok {
		im.labels = folders
	} else {
		im.labels = im.numbering[labelTensor] == labelsByName
	}
	if im.labels {
		im.numbering[labelTensor] = labelsByName // of folders, although no row has one yet
	}
	return nil
}

// otherLayout refuses to continue with other annotations, or with none.
func otherLayout(uri, was, now string) error {
	if was == "" {
		return errs.Op("import to", uri).New(errs.Exists, "an import of the images alone lies there, and now they have annotations of %s; format=%q continues it, overwrite starts anew", now, Images)
	}
	if now == "" {
		now = "none"
	}
	return errs.Op("import to", uri).New(errs.Exists, "an import with annotations of %s lies there, got %s; format=%q continues it, overwrite starts anew", was, now, was)
}

func otherOption(uri, name string, was, now any) error {
	return errs.Op("import to", uri).New(errs.Exists, "an import with %s=%v lies there, got %v; continue it so, or overwrite it", name, was, now)
}

// oldTensors reads the tensors of the dataset, and refuses another compression of its images. New
// rows have holes in tensors of other writers.
func (im *importer) oldTensors(desc dataset.Description, state map[string]any) error {
	asked := im.codec // auto keeps that of the dataset
	im.own, _ = state["own"].(bool)
	members, _ := state["members"].(map[string]any)
	im.tensors, im.numbering = map[string]bool{origin.Tensor: false}, map[string]numbering{}
	for _, t := range desc.Tensors {
		im.knownTensor(t.Name, t.Sequence, members)
		if t.HType == labelKind.htype {
			im.numbering[t.Name] = labelsByName
			if len(t.ClassNames) == 0 {
				im.numbering[t.Name] = labelsByNumber
			}
		}
		if t.Name != imageTensor {
			continue
		}
		was, _, err := im.env.Codecs.Parse(t.Compression)
		if err != nil {
			return err
		}
		if c := im.o.Compression; c != "" && c != "auto" && asked != was {
			return otherOption(desc.URI, "compression", was.Name(), c)
		}
		im.codec = was
	}
	if _, there := im.tensors[imageTensor]; !there && state["images"] != false {
		return errs.Op("import to", desc.URI).New(errs.Exists, "the tensor \"images\" of the earlier import is gone; overwrite the dataset")
	}
	return nil
}
