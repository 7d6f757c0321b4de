package episodes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/target"
)

// state is the facts that a later run needs.
type state struct {
	Source string `json:"source"`
	// the identity of the dataset: a copy of some rows has the state, too
	Dataset  string          `json:"dataset"`
	Format   string          `json:"format"`
	Columns  []string        `json:"columns"`
	Link     bool            `json:"link"`
	Taken    ranges          `json:"episodes"` // that are rows
	Videos   map[string]last `json:"videos,omitempty"`
	Complete bool            `json:"complete"`
	// of info.json when the rows were taken: other values now are an error
	FPS      float64           `json:"fps"`
	Features map[string]string `json:"features"` // their dtypes and shapes
}

// last is the file of a video to which the last episode is linked. LeRobot appends to it.
type last struct {
	Key string `json:"key"`
	Tag string `json:"tag"`
}

// ranges are numbers from the first of each pair up to its second, in order and apart.
type ranges [][2]int64

// has reports whether n is one of the numbers.
func (r ranges) has(n int64) bool {
	i, found := slices.BinarySearchFunc(r, n, func(one [2]int64, n int64) int {
		switch {
		case one[1] <= n:
			return -1
		case one[0] > n:
			return 1
		}
		return 0
	})
	return found && i < len(r)
}

// add adds a number that is not there.
func (r *ranges) add(n int64) {
	all := *r
	i, found := slices.BinarySearchFunc(all, n, func(one [2]int64, n int64) int {
		switch {
		case one[1] < n:
			return -1
		case one[1] == n:
			return 0
		}
		return 1
	})
	switch {
	case found:
		all[i][1]++
	case i < len(all) && all[i][0] == n+1:
		all[i][0] = n
		return
	default:
		*r = slices.Insert(all, i, [2]int64{n, n + 1})
		return
	}
	if i+1 < len(all) && all[i][1] == all[i+1][0] {
		all[i][1] = all[i+1][1]
		*r = slices.Delete(all, i+1, i+2)
	}
}

// count is the number of numbers.
func (r ranges) count() (n int64) {
	for _, one := range r {
		n += one[1] - one[0]
	}
	return n
}

// isSound reports whether a dataset may have such ranges.
func (r ranges) isSound() bool {
	at := int64(-1)
	for _, one := range r {
		if one[0] <= at || one[1] <= one[0] || one[1] > maxNumber {
			return false
		}
		at = one[1]
	}
	return true
}

// infoWith returns the info of the dataset, with the state and the facts of the set.
func (im *importer) infoWith(info map[string]any, complete bool) map[string]any {
	out := maps.Clone(info)
	if out == nil {
		out = map[string]any{}
	}
	now := im.state
	now.Taken, now.Complete, now.Dataset = slices.Clone(im.done), complete, im.identity
	out[target.StateKey] = now
	out["codebase_version"], out["fps"] = im.set.version, im.set.fps
	if im.set.robot != nil {
		out["robot_type"] = im.set.robot
	}
	return out
}

// open opens the dataset of an earlier run.
func (im *importer) open(ctx context.Context) error {
	im.state = state{Source: im.uri, Format: Format, Columns: im.o.Columns, Link: im.o.Link, Videos: map[string]last{}, FPS: im.set.fps, Features: im.described()}
	im.findSplits(nil)
	if im.o.Overwrite {
		return nil
	}
	d, err := target.Open(ctx, im.env, im.place, im.o.Storage)
	if d == nil || err != nil {
		return err
	}
	if err := im.adopt(ctx, d); err != nil {
		return err
	}
	return im.resume()
}

// adopt works on a dataset from now on.
func (im *importer) adopt(ctx context.Context, d *dataset.Dataset) error {
	im.d = d
	v, err := d.View(ctx)
	if err != nil {
		return err
	}
	im.identity, _, _, err = v.Identity()
	return err
}

// resume reads the state of the dataset, and refuses one of another import.
func (im *importer) resume() error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	if len(desc.Tensors) == 0 && desc.Head.Version == 0 && !im.o.Once {
		return nil // interrupted before the first commit
	}
	p, err := json.Marshal(desc.Info[target.StateKey])
	var was state
	if err != nil || json.Unmarshal(p, &was) != nil {
		was = state{}
	}
	exists := func(format string, args ...any) error {
		return errs.Op("import to", desc.URI).New(errs.Exists, format, args...)
	}
	shown := func(columns []string) string {
		if columns == nil {
			return "all"
		}
		return fmt.Sprint(columns)
	}
	switch {
	case im.o.Once:
		return exists("a dataset exists there; choose another place, or overwrite it")
	case was.Format != Format:
		return exists("a dataset exists there, which is no import of a dataset of LeRobot; choose another place, or overwrite it")
	case was.Source != im.uri:
		return exists("an import from %q lies there; continue that one, or overwrite it", was.Source)
	case !slices.Equal(was.Columns, im.o.Columns):
		return exists("an import with columns=%v lies there, got %v; continue it so, or overwrite it", shown(was.Columns), shown(im.o.Columns))
	case was.Link != im.o.Link:
		return exists("an import with link=%t lies there, got %t; continue it so, or overwrite it", was.Link, im.o.Link)
	case !was.Taken.isSound():
		return errs.Op("import to", desc.URI).New(errs.Corrupt, "the state of the import in info[%q] is damaged; overwrite the dataset", target.StateKey)
	case was.Dataset != im.identity:
		return exists("a copy of rows of an import lies there, and a later run would not know which; choose another place, or overwrite it")
	}
	if fact := im.otherwise(&was); fact != "" {
		return errs.Op("import to", desc.URI).New(errs.Conflict, "%s says otherwise than before: %s; --overwrite (overwrite=True) takes all episodes in again", infoKey, fact)
	}
	was.Features = im.state.Features
	was.Columns = im.o.Columns
	if im.state = was; im.state.Videos == nil {
		im.state.Videos = map[string]last{}
	}
	im.settled, im.done = was.Complete, was.Taken
	for _, t := range desc.Tensors {
		im.tensors[t.Name] = t.Sequence
	}
	im.findSplits(desc.Tensors)
	return nil
}

// described returns the dtypes of the features that are taken, with the shapes of numbers.
func (im *importer) described() map[string]string {
	out := map[string]string{}
	for _, f := range im.taken {
		out[f.name] = f.named
		if f.kind == numbers && len(f.shape) > 0 {
			out[f.name] += " of shape " + f.shape.String()
		}
	}
	return out
}

// otherwise names a fact of info.json that has changed since rows were taken; "": none has.
func (im *importer) otherwise(was *state) string {
	if was.FPS != im.set.fps {
		return fmt.Sprintf("fps was %v, and is %v now", was.FPS, im.set.fps)
	}
	for _, f := range im.taken {
		if before, now := was.Features[f.name], im.state.Features[f.name]; before != "" && before != now {
			return fmt.Sprintf("feature %q was %s, and is %s now", short(f.name), short(before), short(now))
		}
	}
	return ""
}

// wanted returns the numbers of the episodes to take, each of which the set has to have.
func (im *importer) wanted() (ranges, error) {
	all := im.set.episodes
	if im.o.Episodes == nil {
		return nil, nil
	}
	if len(im.o.Episodes) == 0 {
		return nil, errs.New(errs.Invalid, "episodes is empty; name some, or leave it out")
	}
	numbers := slices.Clone(im.o.Episodes)
	slices.Sort(numbers)
	var there, out ranges
	for i := range all {
		if n := all[i].index; !there.has(n) {
			there.add(n)
		}
	}
	for _, n := range slices.Compact(numbers) {
		if !there.has(n) {
			return nil, errs.New(errs.NotFound, "there is no episode %d; the %d episodes have numbers from %d to %d", n, len(all), there[0][0], there[len(there)-1][1]-1)
		}
		out.add(n)
	}
	return out, nil
}

// todo returns the wanted episodes that are no rows yet. Metadata that have lost some are another
// set.
func (im *importer) todo() ([]*episode, error) {
	wanted, err := im.wanted()
	if err != nil {
		return nil, err
	}
	var out []*episode
	there := int64(0)
	for i := range im.set.episodes {
		e := &im.set.episodes[i]
		if im.done.has(e.index) {
			there++
		} else if wanted == nil || wanted.has(e.index) {
			out = append(out, e)
		}
	}
	if gone := im.done.count() - there; gone > 0 {
		return nil, errs.New(errs.Conflict, "%d of the %d episodes that were taken in are not there any longer, so numbers may have changed; overwrite the dataset", gone, im.done.count())
	}
	return out, nil
}

// moved reports files of videos that have grown since episodes were linked: the links lead to the
// former ones.
func (im *importer) moved(ctx context.Context) error {
	if im.d == nil || !im.o.Link {
		return nil
	}
	for _, f := range im.videos {
		was, ok := im.state.Videos[f.name]
		if !ok || was.Tag == "" {
			continue
		}
		body, err := im.files.request(ctx, was.Key, 0, 1, "")
		if err == nil {
			now := body.Tag()
			_ = body.Close()
			if now == was.Tag || now == "" {
				continue
			}
			err = errs.New(errs.Conflict, "it has changed since it was linked")
		}
		if !bad(err) {
			return err
		}
		why := reason(err) + "; links into it cannot be read any longer, and --overwrite (overwrite=True) links all episodes again"
		if im.o.Raise {
			return errs.New(errs.Conflict, "%s: %s", was.Key, why)
		}
		im.warn(was.Key, why)
	}
	return nil
}
