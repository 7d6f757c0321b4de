package color

import (
	"encoding/json"
	"os"
	"testing"

	"deeplake/core/media"
)

// TestAgainstSwscale: no number is more than 2 from that of swscale's accurate mode.
// tools/colors.py wrote the pictures.
func TestAgainstSwscale(t *testing.T) {
	t.Parallel()
	var all struct {
		Width, Height int
		Pictures      []struct {
			Format      media.PixelFormat
			Matrix      uint8
			Full        bool
			Site        media.Site
			Planes, RGB []byte
		}
	}
	text, err := os.ReadFile("testdata/swscale.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Pictures) == 0 {
		t.Fatal("no pictures")
	}
	const most = 2
	for i, c := range all.Pictures {
		p := &media.Picture{Width: all.Width, Height: all.Height, Format: c.Format, Site: c.Site, Color: media.Color{Matrix: c.Matrix, Full: c.Full}}
		l, _ := c.Format.Layout()
		for k := range l.Planes {
			row, rows := l.Plane(k, p.Width, p.Height)
			p.Planes[k], c.Planes = c.Planes[:row*rows], c.Planes[row*rows:]
			p.Strides[k] = row
		}
		got := make([]byte, 3*p.Width*p.Height)
		if err := Convert(got, 3*p.Width, p); err != nil {
			t.Fatal(err)
		}
		worst, differing := 0, 0
		for k, v := range got {
			d := int(v) - int(c.RGB[k])
			worst = max(worst, d, -d)
			if d != 0 {
				differing++
			}
		}
		t.Logf("%d %s, matrix %d, full %v, site %d: %d of %d differ, by %d at most", i, c.Format, c.Matrix, c.Full, c.Site, differing, len(got), worst)
		if worst > most {
			t.Errorf("%s, matrix %d, full %v, site %d: differs by %d, want at most %d", c.Format, c.Matrix, c.Full, c.Site, worst, most)
		}
	}
}
