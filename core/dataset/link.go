package dataset

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// headBytes is how much of a picture is read at first to learn its shape; most files need no
	// more.
	headBytes = 64 << 10
	// maxHeadBytes bounds the bytes read. Thumbnails and colour profiles come before the shape.
	maxHeadBytes = 16 << 20
	// looksInFlight bounds the concurrent reads of pictures' beginnings.
	looksInFlight = 32
)

// linkSources holds the sources that links of a dataset lead to. Each is opened when its first link
// is followed, if storage.LinkPolicy allows it. All methods may be called in parallel.
type linkSources struct {
	env    *Env
	policy *storage.LinkPolicy
	far    atomic.Bool // a chunk that was opened has links across a network

	mu    sync.Mutex
	open  map[string]storage.Source  // by root and rule of the policy
	named map[string]storage.Options // by root: of links that the user of this handle has added
}

var _ chunk.LinkReader = (*linkSources)(nil)

// follow lets a chunk read its links, and notes where the first one leads.
func (p *linkSources) follow(ch *chunk.Chunk) {
	ch.Links = p
	if ch.Index.Linked() && ch.Index.Items() > 0 && !p.far.Load() {
		l := ch.Index.Link(0)
		if scheme, _, _ := strings.Cut(l.URL, "://"); scheme != "file" && scheme != "mem" {
			p.far.Store(true)
		}
	}
}

func newLinkSources(env *Env, uri string, o storage.Options) *linkSources {
	return &linkSources{
		env: env, policy: storage.NewLinkPolicy(uri, o), open: map[string]storage.Source{}, named: map[string]storage.Options{},
	}
}

// splitURL returns the root to open for a URL, and the name of the object below it.
func splitURL(url string) (root, key string, err error) {
	scheme, rest, found := strings.Cut(url, "://")
	host, key, slash := strings.Cut(rest, "/")
	if !found || scheme == "" || !slash || key == "" || host == "" && scheme != "file" {
		return "", "", errs.New(errs.Invalid, "%q is not the URL of an object; want one like \"s3://bucket/name\"", storage.RedactURL(url))
	}
	if scheme == "http" || scheme == "https" {
		key = url // a URL's query is no part of its path
	}
	return scheme + "://" + host + "/", key, nil
}

// source returns the source for a URL, and opens it at the first use. A URL that the policy forbids
// is errs.Denied.
func (p *linkSources) source(ctx context.Context, url string) (storage.Source, string, error) {
	root, key, err := splitURL(url)
	if err != nil {
		return nil, "", err
	}
	grant, err := p.policy.Stored(url)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		o, ok := p.named[root]
		if !ok {
			return nil, "", err
		}
		grant = storage.Grant{Options: o, Rule: "named"}
	}
	at := root + " " + grant.Rule
	if s := p.open[at]; s != nil {
		return s, key, nil
	}
	s, err := p.env.Sources.Open(ctx, root, grant.Options)
	if err != nil {
		return nil, "", err
	}
	p.open[at] = s
	return s, key, nil
}

// name notes that the user has named a URL, by adding a link to it: links into its place may be
// read from now on.
func (p *linkSources) name(url string) error {
	root, _, err := splitURL(url)
	if err != nil {
		return err
	}
	if err := unsigned(url); err != nil {
		return err
	}
	if _, err := p.policy.Stored(url); err == nil {
		return nil
	}
	if err := p.policy.CanName(url); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named[root] = p.policy.Named(url)
	return nil
}

// unsigned refuses URLs that carry the right to read, which every reader of the dataset would get
// with them.
func unsigned(url string) error {
	shown := storage.RedactURL(url)
	if param := storage.Presigned(url); param != "" {
		return errs.Op("link", shown).New(errs.Invalid, "the URL is presigned (parameter %q), and a dataset stores no signatures; "+
			"link the object without them, and give what it needs as link_storage={prefix: deeplake.Storage(...)}", param)
	}
	if storage.HasUserInfo(url) {
		return errs.Op("link", shown).New(errs.Invalid, "the URL holds a name or a password, and a dataset stores none; "+
			"give them as link_storage={prefix: deeplake.Storage(headers={\"Authorization\": ...})}")
	}
	return nil
}

// names lists the places that the policy alone would refuse and users have named: users of this
// handle, and of the handles that it was opened from.
func (p *linkSources) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.AppendSeq(slices.Clone(p.policy.NamedPlaces()), maps.Keys(p.named))
	slices.Sort(out)
	return slices.Compact(out)
}

// close releases all sources. Links that are followed later open them again.
func (p *linkSources) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, s := range p.open {
		_ = s.Close()
		delete(p.open, at)
	}
}

// ReadLink fills dst with the linked bytes, and checks that the object is the linked version.
func (p *linkSources) ReadLink(ctx context.Context, l format.Link, dst []byte) error {
	s, key, err := p.source(ctx, l.URL)
	if err != nil {
		return err
	}
	body, err := s.Range(ctx, key, l.Offset, l.Length, l.Tag)
	if err != nil {
		return p.refused(ctx, s, key, l, err)
	}
	defer func() { _ = body.Close() }()
	if err := sameObject(l, body); err != nil {
		return err
	}
	if body.Len() != l.Length {
		return errs.Op("read", storage.RedactURL(l.URL)).New(errs.Corrupt, "%d bytes at %d are linked, it gives %d", l.Length, l.Offset, body.Len())
	}
	if _, err := io.ReadFull(body, dst); err != nil {
		return errs.Wrap(errs.Storage, "read", storage.RedactURL(l.URL), err)
	}
	return nil
}

// sameObject checks that a body is of the linked version.
func sameObject(l format.Link, body storage.Body) error {
	if tag := body.Tag(); tag != "" && l.Tag != "" && tag != l.Tag {
		return changed(l, tag, body.Size())
	}
	if size := body.Size(); size >= 0 && l.Size >= 0 && size != l.Size {
		return changed(l, body.Tag(), size)
	}
	return nil
}

func changed(l format.Link, tag string, size int64) error {
	return errs.Op("read", storage.RedactURL(l.URL)).New(errs.Corrupt, "it has changed since it was linked (tag %q and %d bytes, want %q and %d); link it again, or put the old object back", tag, size, l.Tag, l.Size)
}

// refused explains why a linked object could not be read.
func (p *linkSources) refused(ctx context.Context, s storage.Source, key string, l format.Link, err error) error {
	switch errs.KindOf(err) {
	case errs.NotFound:
		return errs.Op("read", storage.RedactURL(l.URL)).New(errs.Corrupt, "the object that was linked is gone: %w", err)
	case errs.Conflict, errs.Corrupt:
		body, now := s.Range(ctx, key, 0, 1, "")
		if now != nil {
			return errs.Op("read", storage.RedactURL(l.URL)).New(errs.Corrupt, "it is not what was linked: %w", err)
		}
		defer func() { _ = body.Close() }()
		return changed(l, body.Tag(), body.Size())
	}
	return err
}

// settle inspects the unknown files that samples link to, and returns the samples with complete
// links. It reads the beginnings of several files at once.
func (p *linkSources) settle(ctx context.Context, samples []tensor.Sample, reg *codec.Registry, want codec.Channels, rowOf func(int) int) ([]tensor.Sample, error) {
	out := samples
	g := task.New(ctx, looksInFlight)
	for i := range samples {
		s := &samples[i]
		if s.Form != tensor.FormLink || s.Link == nil || s.Link.Codec != 0 {
			continue
		}
		if s.Link.Part != nil {
			_ = g.Wait()
			return nil, errs.New(errs.Type, "row %d: the link is to a part by time (begin, end), which tensors of htype video take", rowOf(i))
		}
		if &out[0] == &samples[0] {
			out = append([]tensor.Sample{}, samples...) // the caller's are not changed
		}
		to := &out[i]
		if len(s.Data) > 0 { // in order, so that the error is that of the first bad row
			l, h, err := seen(s, reg, want)
			if err != nil {
				_ = g.Wait()
				return nil, errs.New(errs.KindOf(err), "row %d: %w", rowOf(i), err)
			}
			to.Link, to.DType, to.Shape, to.Data = &l, h.DType, h.Shape, nil
			continue
		}
		g.Go(func(ctx context.Context) error {
			l, h, err := p.look(ctx, *s.Link, reg, want)
			if err != nil {
				return errs.New(errs.KindOf(err), "row %d: %w", rowOf(i), err)
			}
			to.Link, to.DType, to.Shape = &l, h.DType, h.Shape
			return nil
		})
	}
	return out, g.Wait()
}

// sampleRow returns the row of a sample in a column, whose rows have these items.
func sampleRow(items []int64) func(i int) int {
	return func(i int) int { return tensor.RowOf(items, i) }
}

// seen completes the link of a sample from its data.
func seen(s *tensor.Sample, reg *codec.Registry, want codec.Channels) (tensor.Link, codec.Header, error) {
	l := *s.Link
	h, id, err := LookAtFile(reg, s.Data, want)
	if err != nil {
		return l, h, errs.Wrap(errs.Corrupt, "link", storage.RedactURL(l.URL), err)
	}
	l.Codec = uint8(id)
	return l, h, nil
}

// LookAtFile reads the shape of a picture from its file.
func LookAtFile(reg *codec.Registry, data []byte, want codec.Channels) (codec.Header, codec.ID, error) {
	h, id, more, err := LookAtHead(reg, data, want)
	if err == nil && more {
		err = errs.New(errs.Corrupt, "its %d bytes do not tell its shape; it is cut or damaged", len(data))
	}
	return h, id, err
}

// look completes a link that the user has named to a picture, from the beginning of the file.
func (p *linkSources) look(ctx context.Context, l tensor.Link, reg *codec.Registry, want codec.Channels) (tensor.Link, codec.Header, error) {
	if err := p.name(l.URL); err != nil {
		return l, codec.Header{}, err
	}
	return p.lookStored(ctx, l, reg, want)
}

// FindLink implements chunk.LinkFinder for links that a dataset of another format has: they grant
// nothing.
func (p *linkSources) FindLink(ctx context.Context, url string, want codec.Channels) (format.Link, codec.Header, codec.ID, error) {
	if err := unsigned(url); err != nil {
		return format.Link{}, codec.Header{}, codec.None, err
	}
	l, h, err := p.lookStored(ctx, tensor.Link{URL: url}, p.env.Codecs, want)
	return format.Link{URL: l.URL, Tag: l.Tag, Size: l.Size, Length: l.Length}, h, codec.ID(l.Codec), err
}

// lookStored is look within the policy for stored links.
func (p *linkSources) lookStored(ctx context.Context, l tensor.Link, reg *codec.Registry, want codec.Channels) (tensor.Link, codec.Header, error) {
	var none codec.Header
	s, key, err := p.source(ctx, l.URL)
	if err != nil {
		return l, none, err
	}
	for n := int64(headBytes); ; n *= 4 {
		data, err := head(ctx, s, key, &l, n)
		if err != nil {
			return l, none, errs.Wrap(errs.Storage, "link", storage.RedactURL(l.URL), err)
		}
		h, id, more, err := LookAtHead(reg, data, want)
		if err != nil {
			return l, none, errs.Wrap(errs.Corrupt, "link", storage.RedactURL(l.URL), err)
		}
		if !more {
			l.Codec = uint8(id)
			return l, h, nil
		}
		if int64(len(data)) >= l.Length || n >= maxHeadBytes {
			return l, none, errs.Op("link", storage.RedactURL(l.URL)).New(errs.Corrupt, "the first %d bytes do not tell its shape", len(data))
		}
	}
}

// head reads at most n bytes of the linked object, and completes l.
func head(ctx context.Context, s storage.Source, key string, l *tensor.Link, n int64) ([]byte, error) {
	if l.Length > 0 {
		n = min(n, l.Length)
	}
	body, err := s.Range(ctx, key, l.Offset, n, l.Tag)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	l.Tag, l.Size = body.Tag(), body.Size()
	if l.Length == 0 {
		if l.Length = l.Size - l.Offset; l.Size < 0 {
			return nil, errs.New(errs.Unsupported, "the store does not say how large it is; give the length")
		}
	}
	if l.Length < 1 || l.Size >= 0 && (l.Offset > l.Size || l.Length > l.Size-l.Offset) {
		return nil, errs.New(errs.Range, "%d bytes at %d are asked for, it has %d", l.Length, l.Offset, l.Size)
	}
	data := make([]byte, min(n, l.Length, body.Len()))
	_, err = io.ReadFull(body, data)
	return data, err
}

// LookAtHead reads the shape of a picture from the beginning of its file. more means that data ends
// before the shape.
func LookAtHead(reg *codec.Registry, data []byte, want codec.Channels) (h codec.Header, id codec.ID, more bool, err error) {
	id, ok := reg.Sniff(data)
	if !ok {
		return h, id, false, errs.New(errs.Corrupt, "it is no %s file (it begins with % x)", reg.Titles("or"), data[:min(8, len(data))])
	}
	sc, err := reg.Sample(id)
	if err != nil {
		return h, id, false, err
	}
	hc, ok := sc.(codec.HeadCodec)
	if !ok {
		return h, id, false, errs.New(errs.Unsupported, "a %s file cannot be linked", sc.Describe().Name())
	}
	h, more, err = reg.Head(hc, data, want)
	return h, id, more, err
}

// link checks a sample with a complete link.
func (c *checker) link(s tensor.Sample) (tensor.Sample, error) {
	most := int64(maxItemBytes)
	switch {
	case c.ct.htype.IsVideo():
		most = format.MaxObjectBytes // it is read in parts
	case s.Link == nil || s.Link.Codec == 0:
		return s, errs.New(errs.Internal, "a link arrives without what it links to")
	case !c.ct.htype.IsImage() && !c.ct.htype.IsMask():
		return s, errs.New(errs.Type, "sample is a link, which htype %s does not take; links are to %s files, and to videos", c.ct.htype, c.codec.Titles("and"))
	}
	l := s.Link
	if len(l.URL) > format.MaxURLBytes || len(l.Tag) > format.MaxTagBytes {
		return s, errs.New(errs.Invalid, "link has a URL of %d bytes and a tag of %d, want at most %d and %d", len(l.URL), len(l.Tag), format.MaxURLBytes, format.MaxTagBytes)
	}
	if _, _, err := splitURL(l.URL); err != nil {
		return s, err
	}
	if err := unsigned(l.URL); err != nil {
		return s, err
	}
	if l.Offset < 0 || l.Length < 1 || l.Length > most || l.Offset > format.MaxObjectBytes-l.Length || l.Size >= 0 && l.Offset+l.Length > l.Size {
		return s, errs.New(errs.Invalid, "link is to %d bytes at %d of %d; want some within it, and at most %d", l.Length, l.Offset, l.Size, most)
	}
	if len(l.Head) > format.MaxLinkHeadBytes {
		return s, errs.New(errs.Invalid, "link has %d bytes in front of those of its object, want at most %d", len(l.Head), format.MaxLinkHeadBytes)
	}
	if s.DType != c.dtype {
		return s, errs.New(errs.Type, "the linked file has dtype %s, want %s; %s", s.DType, c.dtype, c.advice(s.DType))
	}
	if c.ct.htype.IsVideo() {
		return s, nil
	}
	return s, c.checkShape(s.Shape)
}

// linked returns the item that a checked link is stored as.
func linked(s *tensor.Sample) chunk.Item {
	l := s.Link
	return chunk.Item{
		Shape: s.Shape, Codec: codec.ID(l.Codec),
		Link: &format.Link{URL: l.URL, Tag: l.Tag, Size: max(l.Size, -1), Offset: l.Offset, Length: l.Length, Head: l.Head},
	}
}
