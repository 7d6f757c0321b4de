package ingest

import (
	"context"
	"sync"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// Options are the settings of an import. Zero values mean the default.
type Options struct {
	Overwrite   bool   `json:"overwrite"`   // delete a dataset that is there
	Workers     int    `json:"workers"`     // files read at once; default: 2 for each core, at least 4
	Compression string `json:"compression"` // of the images: "auto" (default), "jpeg", "png", "none"
	Checkpoint  int64  `json:"checkpoint"`  // rows between commits; default 100,000
	Message     string `json:"message"`     // of the last commit
}

// Skip is a file that was left out.
type Skip struct {
	Path   string `json:"path"` // relative to the source
	Reason string `json:"reason"`
}

// shownSkips is how many files a report lists by name.
const shownSkips = 1000

// Report says what an import did.
type Report struct {
	URI       string   `json:"uri"`
	Rows      int64    `json:"rows"`    // of the dataset after it
	Added     int64    `json:"added"`   // by this run
	Resumed   int64    `json:"resumed"` // rows that an earlier, interrupted run had committed
	Bytes     int64    `json:"bytes"`   // read by this run
	Classes   []string `json:"classes"`
	Converted int64    `json:"converted"` // files of another kind than the tensor's, decoded and encoded again
	Skipped   int64    `json:"skipped"`
	Skips     []Skip   `json:"skips"` // the first of them
	Commit    string   `json:"commit"`
	Version   uint64   `json:"version"`
	Complete  bool     `json:"complete"` // false: canceled; another run goes on from here
}

// Progress is where an import stands.
type Progress struct {
	Done       bool    `json:"done"`
	Rows       int64   `json:"rows"`
	Files      int64   `json:"files"`
	Bytes      int64   `json:"bytes"`
	TotalFiles int64   `json:"total_files"`
	TotalBytes int64   `json:"total_bytes"` // 0: not known
	Report     *Report `json:"report"`
}

// Job is an import that runs in the background. All methods may be called in parallel.
type Job struct {
	group  *task.Group
	cancel context.CancelFunc

	mu       sync.Mutex
	progress Progress
	news     chan struct{} // closed and replaced at every change
	err      error
}

// Start begins to fill the dataset at uri from the folder source. A dataset that an interrupted import of the same
// source has left is continued; any other one that is there is errs.Exists, unless o.Overwrite.
func Start(env *dataset.Env, uri, source string, o Options) (*Job, error) {
	f, err := openFolder(source, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	j := &Job{group: task.New(ctx, 0), cancel: cancel, news: make(chan struct{})}
	j.group.Go(func(ctx context.Context) error {
		var report *Report
		err := task.Call(func() (err error) {
			report, err = f.run(ctx, env, uri, j)
			return err
		})
		j.update(func(p *Progress) {
			p.Done, p.Report = true, report
			j.err = err
		})
		return nil
	})
	return j, nil
}

// update changes the progress and wakes those who wait for news.
func (j *Job) update(fn func(p *Progress)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fn(&j.progress)
	close(j.news)
	j.news = make(chan struct{})
}

// Poll waits until there is news or ctx is done, and returns the progress. When the import is done it returns what it
// failed with; a canceled import is errs.Canceled, and its progress has a report.
func (j *Job) Poll(ctx context.Context) (Progress, error) {
	j.mu.Lock()
	p, err, news := j.progress, j.err, j.news
	j.mu.Unlock()
	if p.Done {
		return p, err
	}
	select {
	case <-news:
	case <-ctx.Done():
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.progress, j.err
}

// Wait returns when the import is done.
func (j *Job) Wait(ctx context.Context) (*Report, error) {
	for {
		p, err := j.Poll(ctx)
		if p.Done {
			return p.Report, err
		}
		if ctx.Err() != nil {
			return nil, errs.Wrap(errs.Canceled, "wait for the import", "", ctx.Err())
		}
	}
}

// Cancel asks the import to stop; it commits what it has and is then done.
func (j *Job) Cancel() { j.cancel() }

// Close cancels the import and returns when it has stopped.
func (j *Job) Close() {
	j.cancel()
	_ = j.group.Wait()
}
