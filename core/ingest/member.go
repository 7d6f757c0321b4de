package ingest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"deeplake/core/dataset/origin"
)

const (
	// maxMembers bounds the tensors of named members, and the values of a row. Without it, each
	// file name with dots, such as photo.2023-01-01.jpg, would make a tensor.
	maxMembers = 64
	// maxMemberName bounds the bytes of such a tensor's name.
	maxMemberName = 200
)

// kind is the way in which members of archives become samples.
type kind struct {
	title string // in reports, in the state, and behind the name of a tensor that another kind has
	htype string
	fixed string // tensor of members whose name is their extension alone; "": the title
}

// The kinds of members. Pictures of folders are images too, as are their videos videos, and their
// classes are labels.
var (
	imageKind = &kind{"image", "image", imageTensor}
	videoKind = &kind{"video", "video", videoTensor}
	labelKind = &kind{"cls", "class_label", labelTensor}
	textKind  = &kind{"txt", "text", "text"}
	jsonKind  = &kind{"json", "json", "json"}
	arrayKind = &kind{"npy", "generic", ""}
	// otherKind stands for the kinds of tensors that named members leave alone: the fixed ones, and
	// those of other writers.
	otherKind = &kind{}
)

func memberKinds() []*kind {
	return []*kind{imageKind, videoKind, labelKind, textKind, jsonKind, arrayKind}
}

// reservedNames returns the tensors that only members without a name of their own, and folders,
// fill.
func reservedNames() map[string]*kind {
	names := map[string]*kind{origin.Tensor: otherKind}
	for _, k := range memberKinds() {
		if k.fixed != "" {
			names[k.fixed] = otherKind
		}
	}
	return names
}

// member returns the value that a member with this extension becomes, without its sample. The
// extension begins behind the first dot of a file's name: of "seg.png", the kind is image and the
// tensor "seg".
func (im *importer) member(extension string) (v value, ok bool) {
	name, last := "", extension
	if i := strings.LastIndexByte(extension, '.'); i >= 0 {
		name, last = extension[:i], extension[i+1:]
	}
	if i := slices.IndexFunc(memberKinds(), func(k *kind) bool { return k != imageKind && k != videoKind && k.title == last }); i >= 0 {
		v.kind = memberKinds()[i]
	} else if im.env.Containers.Named("." + last) {
		v.kind = videoKind
	} else if _, ok := im.env.Codecs.ByExtension("." + last); ok {
		v.kind = imageKind
	} else {
		return v, false
	}
	switch {
	case name != "":
		v.tensor, v.named = identifier(name), true
	case v.kind.fixed != "":
		v.tensor = v.kind.fixed
	default:
		v.tensor, v.named = v.kind.title, true
	}
	return v, true
}

// slot names the place of a member in its sample, which has room for one.
func (v *value) slot() string {
	if !v.named || v.kind.fixed == "" && v.tensor == v.kind.title {
		return v.kind.title
	}
	return v.tensor + " " + v.kind.title
}

// identifier makes the name of a tensor: letters, digits and "_", a letter first.
func identifier(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return '_'
		}
		return r
	}, name)
	if first := []rune(name)[0]; !unicode.IsLetter(first) {
		return "member_" + strings.TrimPrefix(name, "_")
	}
	return name
}

// chooseTensors gives the named members of a row their tensors. It reports and drops members for
// which there is none. A row that loses all its values gets a reason.
func (im *importer) chooseTensors(r *row) {
	had := len(r.values)
	kept := r.values[:0]
	for _, v := range r.values {
		if reason := im.chooseTensor(&v, kept); reason != "" {
			im.leaveOut(v.path, reason)
			im.buffers.put(v.memory)
			continue
		}
		kept = append(kept, v)
	}
	if r.values = kept; had > 0 && len(kept) == 0 {
		r.reason = "all its members are left out"
	}
}

// chooseTensor names the tensor of a value after its member. If another kind has that name, the
// kind is part of the name. The choice holds for the whole dataset: the first member decides.
func (im *importer) chooseTensor(v *value, before []value) (reason string) {
	if !v.named {
		return ""
	}
	wanted := v.tensor
	if len(wanted) > maxMemberName {
		return fmt.Sprintf("the name of its tensor would have %d bytes, want at most %d", len(wanted), maxMemberName)
	}
	for _, name := range []string{wanted, wanted + "_" + v.kind.title} {
		owner := im.names[name]
		if owner == nil {
			if im.memberTensors() >= maxMembers {
				return fmt.Sprintf("it would be the first of tensor %q, and there are %d tensors of members already; want at most that many", name, maxMembers)
			}
			owner, im.names[name] = v.kind, v.kind
		}
		if owner != v.kind {
			continue
		}
		if slices.ContainsFunc(before, func(o value) bool { return o.tensor == name }) {
			return fmt.Sprintf("a second member of the same sample for tensor %q", name)
		}
		v.tensor = name
		return ""
	}
	return fmt.Sprintf("tensors %q and %q hold something else", wanted, wanted+"_"+v.kind.title)
}

// memberTensors counts the tensors that named members have.
func (im *importer) memberTensors() (n int) {
	for _, k := range im.names {
		if k != otherKind {
			n++
		}
	}
	return n
}

// memberState returns the kinds of the tensors that named members have made, for later runs.
func (im *importer) memberState() map[string]any {
	out := map[string]any{}
	for name := range im.tensors {
		if k := im.names[name]; k != nil && k != otherKind {
			out[name] = k.title
		}
	}
	return out
}

// knownTensor notes a tensor of the dataset. It belongs to named members if state says so.
func (im *importer) knownTensor(name string, list bool, state map[string]any) {
	im.tensors[name] = list
	group, _, _ := strings.Cut(name, "/")
	title, _ := state[name].(string)
	i := slices.IndexFunc(memberKinds(), func(k *kind) bool { return k.title == title })
	if i < 0 {
		im.names[name], im.names[group] = otherKind, otherKind
		return
	}
	im.names[name] = memberKinds()[i]
}
