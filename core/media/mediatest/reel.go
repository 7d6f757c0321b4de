package mediatest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"deeplake/core/media"
)

// Reel is a container of any packets. A file begins with its track as JSON; its packets follow.
type Reel struct{}

var _ media.Container = Reel{}

const reelHead = len("REEL") + 12

// Name is "REEL".
func (Reel) Name() string { return "REEL" }

// Is reports whether NewReel made the file.
func (Reel) Is(head []byte) bool { return bytes.HasPrefix(head, []byte("REEL")) }

// Extensions are ".reel".
func (Reel) Extensions() []string { return []string{".reel"} }

// Extension is ".reel".
func (Reel) Extension([]byte) string { return ".reel" }

// Index reads the track of a file.
func (Reel) Index(ctx context.Context, r media.Reader, size int64) (*media.Video, error) {
	file := make([]byte, size)
	if err := r.ReadAt(ctx, file, 0); err != nil {
		return nil, err
	}
	n := 0
	if _, err := fmt.Sscanf(string(file[4:reelHead]), "%d", &n); err != nil {
		return nil, err
	}
	v := &media.Video{}
	err := json.Unmarshal(file[reelHead:][:n], v)
	for i := range v.Packets {
		v.Packets[i].Offset += int64(reelHead + n)
	}
	return v, err
}

// NewReel returns the file of a track, whose packets lie in body. It makes their offsets those of
// the file.
func NewReel(t testing.TB, v *media.Video, body []byte) []byte {
	t.Helper()
	head, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	file := append(append(fmt.Appendf(nil, "REEL%012d", len(head)), head...), body...)
	for i := range v.Packets {
		v.Packets[i].Offset += int64(len(file) - len(body))
	}
	return file
}
