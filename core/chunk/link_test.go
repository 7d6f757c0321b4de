package chunk

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// lake holds the targets of links: bytes by URL.
type lake map[string][]byte

func (l lake) ReadLink(_ context.Context, link format.Link, dst []byte) error {
	data, ok := l[link.URL]
	if !ok || link.Tag != "v1" {
		return errs.Op("read", link.URL).New(errs.Corrupt, "it is not what was linked")
	}
	copy(dst, data[link.Offset:])
	return nil
}

func linkTo(url string, off, n int64, shape tensor.Shape, id codec.ID) Item {
	return Item{Shape: shape, Link: &format.Link{URL: url, Tag: "v1", Size: -1, Offset: off, Length: n}, Codec: id}
}

// TestLinks mixes samples that are links with others: each kind gets chunks of its own, and all are
// read in order.
func TestLinks(t *testing.T) {
	t.Parallel()
	w := newWritten(t, Spec{DType: tensor.Bytes, Target: 1 << 20})
	lake := lake{"s3://b/a.tar": []byte("0123456789"), "s3://b/b": []byte("bytes")}
	ctx := context.Background()
	w.rows([][]Item{
		{{Data: []byte("stored")}},
		{linkTo("s3://b/a.tar", 2, 3, nil, codec.None)},
		{linkTo("s3://b/a.tar", 7, 1, nil, codec.None)},
		{linkTo("s3://b/b", 0, 5, nil, codec.None)},
		{{Data: []byte("again")}},
	})
	w.seal()
	chunks := w.chunks()
	if len(chunks) != 3 || !chunks[1].Index.Linked() || chunks[0].Index.Linked() || chunks[2].Index.Linked() {
		t.Fatalf("%d chunks", len(chunks))
	}
	if got := chunks[1].Index.Link(1); got.Offset != 7 || got.URL != "s3://b/a.tar" || got.Size != -1 {
		t.Fatalf("link = %+v", got)
	}
	worker := NewWorker(all.All())
	defer worker.Close()
	for i, want := range []string{"234", "7", "bytes"} {
		c := *chunks[1]
		ref := &Ref{Chunk: &c, Item: int64(i), Items: 1, Size: int64(len(want)), Stored: int64(len(want))}
		dst := make([]byte, len(want))
		if err := worker.Decode(ctx, ref, dst, codec.AsStored); !errs.Is(err, errs.Unsupported) {
			t.Fatalf("without a reader of links: %v", err)
		}
		c.Links = lake
		if err := worker.Decode(ctx, ref, dst, codec.AsStored); err != nil || string(dst) != want {
			t.Fatalf("item %d = %q, %v, want %q", i, dst, err, want)
		}
	}
	c := *chunks[1]
	c.Links = lake
	all := make([]byte, 9)
	if err := worker.Stored(ctx, &Ref{Chunk: &c, Items: 3, Stored: 9}, all); err != nil || string(all) != "2347bytes" {
		t.Fatalf("all items: %q, %v", all, err)
	}
}

// TestHeads: an item is the bytes of its head, and then those of the object.
func TestHeads(t *testing.T) {
	t.Parallel()
	w := newWritten(t, Spec{DType: tensor.Bytes, Target: 1 << 20})
	lake := lake{"s3://b/a.mp4": []byte("0123456789")}
	headed := linkTo("s3://b/a.mp4", 4, 3, nil, codec.None)
	headed.Link.Head = []byte("head")
	w.rows([][]Item{{linkTo("s3://b/a.mp4", 0, 10, nil, codec.None)}, {headed}, {linkTo("s3://b/a.mp4", 9, 1, nil, codec.None)}})
	w.seal()
	c := *w.chunks()[0]
	c.Links = lake
	worker := NewWorker(all.All())
	defer worker.Close()
	for i, want := range []string{"0123456789", "head456", "9"} {
		ref := &Ref{Chunk: &c, Item: int64(i), Items: 1, Size: c.Index.ItemBytes(int64(i)), Stored: c.Index.ItemBytes(int64(i))}
		dst := make([]byte, len(want))
		if err := worker.Decode(t.Context(), ref, dst, codec.AsStored); err != nil || string(dst) != want || ref.Size != int64(len(want)) {
			t.Errorf("item %d = %q, %v, want %q", i, dst, err, want)
		}
		worker.SetReadAhead(objectAhead(lake["s3://b/a.mp4"]))
		if err := worker.Decode(t.Context(), ref, dst, codec.AsStored); err != nil || string(dst) != want {
			t.Errorf("item %d, read ahead = %q, %v, want %q", i, dst, err, want)
		}
		worker.SetReadAhead(nil)
	}
	ref := &Ref{Chunk: &c, Item: 1, Items: 1, Stored: 7}
	span, err := ref.Part(5, 2)
	dst := make([]byte, 2)
	if err == nil {
		err = span.Read(t.Context(), dst)
	}
	if err != nil || string(dst) != "56" || string(ref.Head()) != "head" {
		t.Errorf("a part is %q, %v, behind %q", dst, err, ref.Head())
	}
	if _, err := ref.Part(3, 2); err == nil {
		t.Error("a head lies in no object")
	}
	if spans := ref.Spans(nil); len(spans) != 1 || spans[0].Offset != 4 || spans[0].Bytes != 3 {
		t.Errorf("spans %+v", spans)
	}
}

// objectAhead is an object that is in memory.
type objectAhead []byte

func (f objectAhead) Bytes(_ context.Context, _ string, off, n int64) ([]byte, error) {
	return f[off : off+n], nil
}

// TestLinkedChunksAreSmall: a chunk of links is sealed by its directory, which a reader of one
// sample needs whole.
func TestLinkedChunksAreSmall(t *testing.T) {
	t.Parallel()
	w := newWritten(t, Spec{DType: tensor.Uint8, SampleCodec: codec.JPEG, Target: format.DefaultChunk})
	const n = 20_000
	for i := range n {
		it := linkTo(fmt.Sprintf("s3://lake/train/class/%08d.jpg", i), 0, 9000, tensor.Shape{int64(200 + i%7), 300, 3}, codec.JPEG)
		w.took(w.b.Add(context.Background(), it))
	}
	w.seal()
	rows := int64(0)
	for _, s := range w.sealed {
		rows += s.Rows
		if len(s.Dir) > linkedDirectory || s.Stats.MaxShape == nil {
			t.Fatalf("directory of %d bytes, stats %+v", len(s.Dir), s.Stats)
		}
	}
	if rows != n || len(w.sealed) < 3 || len(w.sealed) > 20 {
		t.Fatalf("%d rows in %d chunks", rows, len(w.sealed))
	}
}

func TestLinksOfOneRowAreAlike(t *testing.T) {
	t.Parallel()
	w := newWritten(t, Spec{DType: tensor.Bytes, Sequence: true, Target: 1 << 20})
	for name, row := range map[string][]Item{
		"a link and a sample": {linkTo("s3://b/b", 0, 5, nil, codec.None), {Data: []byte("x")}},
		"two codecs":          {linkTo("s3://b/b", 0, 5, nil, codec.JPEG), linkTo("s3://b/b", 0, 5, nil, codec.PNG)},
	} {
		if _, err := w.b.AddRow(context.Background(), row); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.rows([][]Item{{linkTo("s3://b/b", 0, 5, nil, codec.None), linkTo("s3://b/b", 1, 2, nil, codec.None)}, {}, {{Data: []byte("x")}}})
	w.seal()
	chunks := w.chunks()
	if len(chunks) != 2 || chunks[0].Index.Rows() != 2 || chunks[1].Index.Rows() != 1 {
		t.Fatalf("%d chunks", len(chunks))
	}
	c := *chunks[0]
	c.Links = lake{"s3://b/b": []byte("bytes")}
	worker := NewWorker(all.All())
	defer worker.Close()
	dst := make([]byte, 7)
	if err := worker.Stored(context.Background(), &Ref{Chunk: &c, Items: 2, Stored: 7}, dst); err != nil || !bytes.Equal(dst, []byte("bytesyt")) {
		t.Fatalf("row 0 = %q, %v", dst, err)
	}
}
