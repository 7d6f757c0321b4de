package viz

import (
	"context"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/version"
)

const (
	mostCommits = 500
	mostListed  = 10_000 // rows of a diff
)

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

type branchInfo struct {
	Name    string `json:"name"`
	Commit  string `json:"commit"`
	Version uint64 `json:"version"`
}

type tagInfo struct {
	Name    string `json:"name"`
	Commit  string `json:"commit"`
	Message string `json:"message"`
}

type savedInfo struct {
	Name   string `json:"name"`
	Query  string `json:"query"`
	Rows   int64  `json:"rows"`
	Commit string `json:"commit"`
}

type commitInfo struct {
	Commit  string   `json:"commit"`
	Version uint64   `json:"version"`
	Message string   `json:"message"`
	Author  string   `json:"author"`
	Time    string   `json:"time"`
	Parents []string `json:"parents"`
}

type versionsInfo struct {
	Branch   string       `json:"branch"`
	Branches []branchInfo `json:"branches"`
	Tags     []tagInfo    `json:"tags"`
	Saved    []savedInfo  `json:"saved"`
	Commits  []commitInfo `json:"commits"`
}

// unlisted drops the error of a store that lists nothing, as web servers: what it has is not shown.
func unlisted(err error) error {
	if errs.Is(err, errs.Unsupported) {
		return nil
	}
	return err
}

// versions lists what can be opened besides the first view: nothing if there is no dataset. Commits
// are those of the branch that the page names, or of the dataset's own.
func (s *Service) versions(ctx context.Context, body []byte) (any, error) {
	var in struct {
		Branch string `json:"branch"`
	}
	if err := Parse(body, &in); err != nil {
		return nil, err
	}
	out := versionsInfo{Branches: []branchInfo{}, Tags: []tagInfo{}, Saved: []savedInfo{}, Commits: []commitInfo{}}
	ds := s.o.Dataset
	if ds == nil {
		return out, nil
	}
	at := ds.Versions()
	out.Branch = ds.Branch()
	branches, err := at.Branches(ctx)
	if unlisted(err) != nil {
		return nil, err
	}
	for _, b := range branches {
		out.Branches = append(out.Branches, branchInfo{b.Name, b.Head.Commit, b.Head.Version})
	}
	tags, err := at.Tags(ctx)
	if unlisted(err) != nil {
		return nil, err
	}
	for _, t := range tags {
		out.Tags = append(out.Tags, tagInfo{t.Name, t.Commit.Commit, t.Message})
	}
	saved, err := at.Views(ctx)
	if unlisted(err) != nil {
		return nil, err
	}
	for _, v := range saved {
		out.Saved = append(out.Saved, savedInfo{v.Name, v.Query, v.Rows, v.Commit})
	}
	if in.Branch != "" && in.Branch != ds.Branch() {
		other, err := ds.At(ctx, in.Branch)
		if err != nil && !errs.Is(err, errs.NotFound) { // a deleted branch may still be shown
			return nil, err
		}
		if err == nil {
			defer func() { _ = other.Close() }() // opened for reading: nothing to lose
			ds, out.Branch = other, in.Branch
		}
	}
	out.Commits, err = commitsOf(ctx, ds)
	return out, err
}

// commitsOf lists the newest commits of a dataset's branch, with those that merges took in.
func commitsOf(ctx context.Context, ds *dataset.Dataset) ([]commitInfo, error) {
	commits, err := ds.Versions().Graph(ctx, mostCommits, false)
	if errs.Is(err, errs.Unsupported) {
		commits, err = line(ctx, ds)
	}
	if err != nil {
		return nil, err
	}
	out := []commitInfo{}
	for _, c := range commits {
		out = append(out, commitInfo{c.Commit, c.Version, c.Message, c.Author, timeText(c.Time), append([]string{}, c.Parents...)})
	}
	return out, nil
}

// line returns the commits of the branch, without those that merges took in. They are found by
// their numbers, so the store need not list.
func line(ctx context.Context, ds *dataset.Dataset) ([]dataset.LogEntry, error) {
	log, err := ds.Log(ctx, mostCommits+1)
	if err != nil {
		return nil, err
	}
	out := make([]dataset.LogEntry, 0, len(log))
	for i, c := range log[:min(len(log), mostCommits)] {
		one := dataset.LogEntry{Committed: c}
		if i+1 < len(log) {
			one.Parents = []string{log[i+1].Commit}
		}
		out = append(out, one)
	}
	return out, nil
}

type diffRows struct {
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
	Updated int64 `json:"updated"`
}

type tensorChange struct {
	Name    string `json:"name"`
	Change  string `json:"change"`
	Was     string `json:"was,omitempty"`
	Updated int64  `json:"updated"`
}

type diffInfo struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	Rows    diffRows       `json:"rows"`
	Tensors []tensorChange `json:"tensors"`
	Changed []int64        `json:"changed"`
	Added   []int64        `json:"added"`
	Removed []int64        `json:"removed"`
}

func (s *Service) diff(ctx context.Context, body []byte) (any, error) {
	var in struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	if err := Parse(body, &in); err != nil {
		return nil, err
	}
	ds, err := s.dataset()
	if err != nil {
		return nil, err
	}
	d, err := ds.Versions().Diff(ctx, in.From, in.To)
	if err != nil {
		return nil, err
	}
	out := diffInfo{
		From: d.A.Commit, To: d.B.Commit, Rows: diffRows{Added: d.Added.Count, Removed: d.Deleted.Count},
		Tensors: []tensorChange{}, Added: listed(d.Added), Removed: listed(d.Deleted),
	}
	updated := map[int64]bool{}
	for _, t := range d.Tensors {
		c := tensorChange{Name: t.Name, Change: changeOf(t), Was: t.OldName, Updated: t.Updated.Count}
		out.Tensors = append(out.Tensors, c)
		out.Rows.Updated = max(out.Rows.Updated, t.Updated.Count)
		for _, row := range listed(t.Updated) {
			updated[row] = true
		}
	}
	out.Rows.Updated = max(out.Rows.Updated, int64(len(updated)))
	out.Changed = sortedRows(updated)
	return out, nil
}

// changeOf names a change in the words of the protocol.
func changeOf(t version.TensorDiff) string {
	switch {
	case t.Change == version.TensorCreated:
		return "created"
	case t.Change == version.TensorDropped:
		return "deleted"
	case t.OldName != "":
		return "renamed"
	}
	return "changed"
}

// listed returns the first rows of a set.
func listed(set version.RowSet) []int64 {
	rows := []int64{}
	for _, r := range set.Ranges {
		for k := int64(0); k < r.Count; k++ {
			if len(rows) == mostListed {
				return rows
			}
			rows = append(rows, r.Start+k)
		}
	}
	return rows
}
