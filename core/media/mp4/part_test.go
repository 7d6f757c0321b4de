package mp4

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
)

// together is the file that a part stands for.
func together(p *media.Part, file []byte) []byte {
	return slices.Concat(p.Head, file[p.Offset:p.Offset+p.Bytes])
}

// TestParts cuts every file at several places, and reads the files that the parts make.
func TestParts(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	made, refused := 0, 0
	for _, name := range names {
		file, v := mediatest.Read(t, container, strings.TrimSuffix(name, ".json"))
		shown := v.Shown()
		n := len(shown)
		at := func(i int) int64 {
			if i >= n {
				return v.End
			}
			return v.Packets[shown[i]].Time
		}
		for _, c := range [][2]int64{{at(0), at(n)}, {at(0), at(1)}, {at(n / 3), at(n - 1)}, {at(n - 1), at(n)}, {at(n/2) - 1, at(n) + 5}, {math.MinInt32, math.MaxInt32}} {
			cut, err := v.Cut(c[0], c[1])
			if err != nil {
				t.Fatalf("%s, %v: %v", name, c, err)
			}
			part, err := container.Part(cut)
			if errs.Is(err, errs.Unsupported) {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("%s, %v: %v", name, c, err)
			}
			got, err := index(together(part, file))
			if err != nil {
				t.Fatalf("%s, %v: %v", name, c, err)
			}
			// Readers take the duration of the last frame from the order of decoding, which differs
			// where rates vary.
			want, _ := part.Tables.(*media.Video)
			if strings.Contains(name, "vfr") && max(got.End-want.End, want.End-got.End) < v.Ticks {
				want.End = got.End
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %v:\n got %+v\nwant %+v", name, c, got, want)
			}
			made++
		}
	}
	if made < 100 || refused < 6 {
		t.Errorf("%d parts, %d refused", made, refused)
	}
}

// TestPartOfAnything: what no file of MP4 expresses is refused.
func TestPartOfAnything(t *testing.T) {
	t.Parallel()
	_, good := mediatest.Read(t, container, "testdata/h264.mp4")
	for name, change := range map[string]func(v *media.Video){
		"other codec":   func(v *media.Video) { v.Codec = "vp9" },
		"no parameters": func(v *media.Video) { v.Setup = nil },
		"many ticks":    func(v *media.Video) { v.Ticks = media.MaxTicks },
		"many frames":   func(v *media.Video) { v.Packets = slices.Repeat(v.Packets[:1], maxPartFrames+1) },
		"far apart":     func(v *media.Video) { v.End = math.MaxInt32 + v.Packets[0].Time + v.End },
		"hidden frame": func(v *media.Video) {
			v.Packets[v.Shown()[3]].Hidden = true
		},
	} {
		v := *good
		v.Packets = slices.Clone(good.Packets)
		change(&v)
		if p, err := container.Part(&v); !errs.Is(err, errs.Unsupported) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	hidden := *good
	hidden.Packets = slices.Clone(good.Packets[:1])
	hidden.Packets[0].Hidden = true
	if _, err := container.Part(&hidden); !errs.Is(err, errs.Invalid) {
		t.Errorf("no frame: %v", err)
	}
	if _, err := good.Cut(good.End, good.End+100); !errs.Is(err, errs.Range) {
		t.Errorf("behind the end: %v", err)
	}
}
