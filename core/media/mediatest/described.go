package mediatest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// Description is FFmpeg's description of a file, as tools/media.py writes it.
type Description struct {
	Codec   string          `json:"codec"`
	Setup   any             `json:"setup"`
	Size    [2]int          `json:"size"`
	Ticks   [2]int64        `json:"ticks"`
	Color   [4]uint8        `json:"color"`
	Turns   int             `json:"turns"`
	Packets [][4]int64      `json:"packets"` // offset, bytes, 1 for a key frame, time
	Shown   json.RawMessage `json:"shown"`   // of a form of its own for each container
}

// Described runs a test of each file in testdata that has a description, of which there are at
// least so many. It compares the track with FFmpeg's, and lets packets compare the packets.
func Described(t *testing.T, least int, c media.Container, packets func(t *testing.T, file []byte, v *media.Video, want *Description)) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) < least {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := &Description{}
			if err := json.Unmarshal(text, want); err != nil {
				t.Fatal(err)
			}
			file, v := Read(t, c, strings.TrimSuffix(name, ".json"))
			want.compare(t, v)
			if len(v.Packets) != len(want.Packets) {
				t.Fatalf("%d packets, want %d", len(v.Packets), len(want.Packets))
			}
			packets(t, file, v, want)
		})
	}
}

// Read returns a file and its track.
func Read(t testing.TB, c media.Container, path string) ([]byte, *media.Video) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Index(t.Context(), media.Bytes(file), int64(len(file)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return file, v
}

// decoders are codecs by the names that FFmpeg gives to their decoders.
var decoders = map[string]string{"libdav1d": "av1", "libvpx-vp9": "vp9", "libvpx": "vp8"}

// compare compares a track but for its packets. FFmpeg says 2 for a color that is not stated.
func (want *Description) compare(t *testing.T, v *media.Video) {
	t.Helper()
	codec := want.Codec
	if known := decoders[codec]; known != "" {
		codec = known
	}
	if v.Codec != codec || [2]int{v.Width, v.Height} != want.Size || v.Turns != want.Turns || [2]int64{1, v.Ticks} != want.Ticks {
		t.Errorf("%s %d x %d, %d turns, %d ticks, want %+v", v.Codec, v.Width, v.Height, v.Turns, v.Ticks, want)
	}
	sum := sha256.Sum256(v.Setup)
	if s, ok := want.Setup.([]any); !ok && len(v.Setup) > 0 || ok && (s[0] != float64(len(v.Setup)) || s[1] != hex.EncodeToString(sum[:8])) {
		t.Errorf("a setup of %d bytes, want %v", len(v.Setup), want.Setup)
	}
	if codec == "mjpeg" {
		return // whose pictures state the color
	}
	for i, got := range []uint8{v.Color.Primaries, v.Color.Transfer, v.Color.Matrix} {
		if w := want.Color[i]; got != w && (w != 2 || got != 0) {
			t.Errorf("color = %+v, want %v", v.Color, want.Color)
		}
	}
	if v.Color.Full != (want.Color[3] == 2) {
		t.Errorf("full range is %t, want %v", v.Color.Full, want.Color)
	}
}

// ShownAt returns when the frames are shown, in their order.
func ShownAt(v *media.Video) (times []int64) {
	for _, i := range v.Shown() {
		times = append(times, v.Packets[i].Time)
	}
	return times
}

// Refused holds that a file of testdata is refused, for a reason.
func Refused(t *testing.T, c media.Container, name string, kind errs.Kind, reason string) {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Index(t.Context(), media.Bytes(file), int64(len(file))); !errs.Is(err, kind) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v, want %q", name, err, reason)
	}
}

// Fuzzed holds that a file gets a video within the limits, or an error of its own.
func Fuzzed(t *testing.T, c media.Container, file []byte) *media.Video {
	t.Helper()
	v, err := c.Index(t.Context(), media.Bytes(file), int64(len(file)))
	if err != nil {
		if errs.Is(err, errs.Internal) {
			t.Fatal(err)
		}
		return nil
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	shown := ShownAt(v)
	if len(shown) == 0 || shown[len(shown)-1] >= v.End {
		t.Fatalf("%d frames are shown, to %d", len(shown), v.End)
	}
	for i, p := range v.Packets {
		if p.Offset+p.Bytes > int64(len(file)) {
			t.Fatalf("packet %d = %+v, in %d bytes", i, p, len(file))
		}
	}
	return v
}
