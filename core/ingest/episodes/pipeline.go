package episodes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/parquet"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// defaultWorkers is the number of episodes whose videos are read at once.
	defaultWorkers = 16
	// budgetBytes bounds the bytes of episodes that wait for the writer. The next may have more.
	budgetBytes = 256 << 20
	// countedFiles bounds the data files without an episode whose rows are counted.
	countedFiles = 100
)

// pending is an episode on its way to the writer.
type pending struct {
	*content
	seq     int64
	key     string          // of its data file
	samples []tensor.Sample // of its videos
	keys    []string        // of their files
	held    int64           // bytes of the budget

	mu     sync.Mutex
	failed int   // the first video that cannot be used
	why    error // its error; nil: all can
	copied int64 // bytes of videos
	left   sync.WaitGroup
}

// dataKey is the name of the data file of an episode.
func (im *importer) dataKey(e *episode) (string, error) {
	return im.set.data.key(fields{chunk: e.data.chunk, file: e.data.file, index: e.index})
}

// videoKey is the name of the file of a video of an episode.
func (im *importer) videoKey(e *episode, k int) (string, error) {
	c := e.videos[k]
	return im.set.video.key(fields{video: im.videos[k].name, chunk: c.chunk, file: c.file, index: e.index})
}

// group is the wanted episodes of a data file.
type group struct {
	key string
	of  []*episode
}

// groups sorts episodes by their data files, in the order of their first ones. Those that cannot be
// believed have a group without a file.
func (im *importer) groups(todo []*episode) []group {
	var out []group
	at := map[string]int{}
	for _, e := range todo {
		key, err := im.dataKey(e)
		for k := 0; err == nil && k < len(e.videos); k++ {
			_, err = im.videoKey(e, k)
		}
		if err != nil {
			e.doubt(err.Error())
		}
		if e.wrong != "" {
			key = ""
		}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, group{key: key})
		}
		out[i].of = append(out[i].of, e)
	}
	return out
}

// episodes appends the wanted episodes. It returns nil when ctx is done.
func (im *importer) episodes(ctx, write context.Context, todo []*episode) error {
	groups := im.groups(todo)
	g := task.New(ctx, 0)
	defer func() { _ = g.Wait() }()
	defer g.Stop()
	workers := cmp.Or(im.o.Workers, defaultWorkers)
	b := &budget{limit: budgetBytes, freed: make(chan struct{})}
	out := make(chan *pending, workers)
	g.Go(func(ctx context.Context) error {
		defer close(out)
		p := &producer{
			im: im, ctx: ctx, out: out, budget: b, videos: task.New(ctx, workers*max(1, len(im.videos))),
			wanted: map[*episode]bool{}, seen: map[*episode]bool{},
		}
		err := p.run(groups)
		return cmp.Or(err, p.videos.Wait())
	})
	for p := range out {
		b.turn(p.seq)
		err := im.take(ctx, write, p)
		b.give(p.held)
		if err != nil {
			g.Stop()
			for range out { // so that the producer ends
			}
			return err
		}
		if ctx.Err() != nil {
			g.Stop()
		}
	}
	err := g.Wait()
	if ctx.Err() != nil && (err == nil || errs.Is(err, errs.Canceled)) {
		return nil
	}
	return err
}

// producer reads episodes in the order in which they are written.
type producer struct {
	im     *importer
	ctx    context.Context
	out    chan<- *pending
	budget *budget
	videos *task.Group
	seq    int64

	wanted, seen map[*episode]bool
	lost         []lost
	elsewhere    int64 // episodes of other data files than the metadata name
}

// lost is an episode that its data file does not have.
type lost struct {
	*episode
	key, why string
}

// run reads all episodes.
func (p *producer) run(groups []group) error {
	for _, one := range groups {
		if one.key != "" {
			for _, e := range one.of {
				p.wanted[e] = true
			}
		}
	}
	for _, one := range groups {
		if err := p.group(one); err != nil {
			return err
		}
	}
	if err := p.next(); err != nil {
		return err
	}
	for _, one := range p.lost {
		if p.seen[one.episode] {
			continue
		}
		if err := p.emit(one.key, &content{of: one.episode, wrong: one.why}); err != nil {
			return err
		}
	}
	if p.elsewhere == 0 {
		return nil
	}
	why := fmt.Sprintf("%d episodes lie in other data files than these say, and were found by the numbers of their frames", p.elsewhere)
	return p.send(&pending{key: metaEpisodes, content: &content{wrong: why}})
}

// group reads the episodes of a data file.
func (p *producer) group(g group) error {
	if g.key == "" {
		for _, e := range g.of {
			if err := p.emit(metaEpisodes, &content{of: e, wrong: e.wrong}); err != nil {
				return err
			}
		}
		return nil
	}
	failed, err := p.file(g.key, g.of[0])
	if err != nil {
		return err
	}
	if failed == "" {
		failed = "the file has none of its rows"
	}
	for _, e := range g.of {
		if !p.seen[e] {
			p.lost = append(p.lost, lost{e, g.key, failed})
		}
	}
	return nil
}

// next looks for lost episodes in the data files behind those that the metadata name.
func (p *producer) next() error {
	im := p.im
	if !im.set.isThree {
		return nil
	}
	for _, one := range p.lost {
		at := one.data
		if at.file++; at.file >= im.set.chunk {
			at = place{chunk: at.chunk + 1}
		}
		key, err := im.set.data.key(fields{chunk: at.chunk, file: at.file, index: one.index})
		if p.seen[one.episode] || im.read[key] || err != nil {
			continue
		}
		if _, err := p.file(key, one.episode); err != nil {
			return err
		}
	}
	return nil
}

// file reads a data file. failed says why its rows end early.
func (p *producer) file(key string, first *episode) (failed string, err error) {
	im := p.im
	im.read[key] = true
	d := &dataFile{
		set: im.set, key: key, wanted: p.wanted, seen: p.seen,
		emit: func(c *content) error {
			p.seen[c.of] = true
			if named, err := im.dataKey(c.of); err == nil && named != key {
				p.elsewhere++
			}
			return p.emit(key, c)
		},
	}
	for _, f := range im.taken {
		if f.kind != video {
			d.features = append(d.features, f)
		}
	}
	for _, f := range im.set.features {
		d.hasTask = d.hasTask || f.name == taskIndex && f.kind == numbers
	}
	if im.set.isThree {
		d.by = im.by
	} else {
		d.only = first
	}
	failed, bytes, err := d.read(p.ctx, im.files)
	if err != nil {
		return "", err
	}
	why := ""
	if d.stray > 0 {
		why = fmt.Sprintf("%d rows belong to no episode, and are ignored", d.stray)
	}
	return failed, p.send(&pending{key: key, content: &content{bytes: bytes, wrong: why}})
}

// emit sends an episode, and begins to read its videos.
func (p *producer) emit(key string, c *content) error {
	im := p.im
	one := &pending{content: c, key: key}
	if c.wrong == "" {
		one.samples, one.keys = make([]tensor.Sample, len(im.videos)), make([]string, len(im.videos))
		one.held = c.bytes
	}
	one.seq = p.seq
	if err := p.budget.take(p.ctx, one.seq, one.held); err != nil {
		return err
	}
	for k := range one.samples {
		var err error
		if one.keys[k], err = im.videoKey(c.of, k); err != nil {
			return err // groups has asked already
		}
	}
	return p.send(one)
}

// send hands an item to the writer.
func (p *producer) send(one *pending) error {
	one.seq = p.seq
	p.seq++
	for k := range one.samples {
		p.start(one, k)
	}
	select {
	case p.out <- one:
		return nil
	case <-p.ctx.Done():
		return errs.Wrap(errs.Canceled, "import", "", p.ctx.Err())
	}
}

// start begins to read a video of an episode.
func (p *producer) start(one *pending, k int) {
	one.left.Add(1)
	p.videos.GoFor(p.ctx, func(ctx context.Context) error {
		err := errs.New(errs.Internal, "reading a video did not end") // if it panics
		defer func() {
			one.mu.Lock()
			defer one.mu.Unlock()
			if err != nil && (one.why == nil || k < one.failed) {
				one.failed, one.why = k, err
			}
			one.left.Done()
		}()
		err = p.video(ctx, one, k)
		return nil
	})
}

// video reads a video of an episode.
func (p *producer) video(ctx context.Context, one *pending, k int) error {
	im, e := p.im, one.of
	s, bytes, err := im.films.sample(ctx, e, e.videos[k], one.keys[k], im.set.info, im.o.Link)
	if err != nil {
		return err
	}
	if bytes > 0 {
		one.mu.Lock()
		one.copied += bytes
		all := one.copied
		one.mu.Unlock()
		if all > maxVideoBytes {
			return errs.New(errs.Invalid, "the videos of the episode have more than %d bytes; --link (link=True) leaves them where they are", int64(maxVideoBytes))
		}
		if err := p.budget.take(ctx, one.seq, bytes); err != nil {
			return err
		}
		one.mu.Lock()
		one.held += bytes
		one.mu.Unlock()
		if err := im.films.fill(ctx, &s, one.keys[k]); err != nil {
			return err
		}
	}
	one.samples[k] = s
	return nil
}

// take appends an episode, or reports why it is left out. It commits if that is due.
func (im *importer) take(ctx, write context.Context, p *pending) error {
	if p.of == nil { // the end of a data file, or a warning
		im.report.Bytes += p.bytes
		im.now.Bytes = im.report.Bytes
		im.pendingBytes += p.bytes
		if p.wrong != "" {
			im.warn(p.key, p.wrong)
		}
		return nil
	}
	p.left.Wait()
	if ctx.Err() != nil {
		return nil
	}
	where, why := p.key, p.wrong
	if p.why != nil {
		if !bad(p.why) {
			return p.why
		}
		where, why = p.keys[p.failed], reason(p.why)
	}
	if why == "" {
		wrong, err := im.append(write, p)
		if err != nil {
			return err
		}
		if wrong != nil {
			why = wrong.Error()
		}
	}
	im.now.Files++
	if why != "" {
		im.tell(im.now)
		return im.leaveOut(where, p.of, why)
	}
	im.done.add(p.of.index)
	im.note(p)
	im.pending++
	im.pendingBytes += p.copied
	im.report.Added++
	im.report.Bytes += p.copied
	im.now.Rows, im.now.Bytes = im.report.Resumed+im.report.Added, im.report.Bytes
	im.tell(im.now)
	if !im.o.Once && (im.pending >= cmp.Or(im.o.Checkpoint, defaultCheckpoint) || im.pendingBytes >= checkpointBytes) {
		return im.commit(write, false)
	}
	return nil
}

// note notes the files of videos to which the episode is linked.
func (im *importer) note(p *pending) {
	if !im.o.Link || !im.set.isThree {
		return
	}
	for k := range p.samples {
		im.state.Videos[im.videos[k].name] = last{p.keys[k], p.samples[k].Link.Tag}
	}
}

// otherFiles reports data files that no episode has.
func (im *importer) otherFiles(ctx context.Context) error {
	if !im.set.isThree || im.files.isWeb || im.d != nil && im.state.Complete {
		return nil
	}
	named := maps.Clone(im.read)
	for i := range im.set.episodes {
		if key, err := im.dataKey(&im.set.episodes[i]); err == nil {
			named[key] = true
		}
	}
	var others []string
	count := 0
	err := im.files.Objects(ctx, "data/", "", func(e storage.Entry) bool {
		if path.Ext(e.Key) == ".parquet" && strings.HasPrefix(e.Key, "data/") && !named[e.Key] {
			if count++; len(others) < countedFiles {
				others = append(others, e.Key)
			}
		}
		return true
	})
	if err != nil || count == 0 {
		return err
	}
	slices.Sort(others)
	rows := int64(0)
	for _, key := range others {
		var t *parquet.File
		if t, _, err = openTable(ctx, im.files, key); err == nil {
			rows += t.Rows()
		} else if !bad(err) {
			return err
		}
	}
	more := ""
	if count > len(others) {
		more = " or more"
	}
	im.warn(others[0], fmt.Sprintf("%d data files with %d rows%s belong to no episode, and are ignored; this is the first of them", count, rows, more))
	return nil
}
