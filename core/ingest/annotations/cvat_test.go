package annotations

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// cvatText returns a file of CVAT with elements within its root.
func cvatText(elements ...string) string {
	return "\ufeff" + `<?xml version="1.0" encoding="utf-8"?><annotations><version>1.1</version><meta><task><id>3</id><labels>` +
		`<label><name>cat</name><color>#fff</color><attributes><attribute><name>age</name></attribute></attributes></label><label><name>dog &amp; co</name></label></labels></task></meta>` +
		strings.Join(elements, "\n") + "</annotations>\n"
}

func cvatImage(name string, shapes ...string) string {
	return `<image id="0" name="` + name + `" subset="train" width="8" height="4">` + strings.Join(shapes, "\n") + "</image>"
}

const (
	cvatBox     = `<box label="cat" occluded="1" xtl="0.5" ytl="1" xbr="3" ybr="2.25" z_order="1"><attribute name="age">3</attribute><attribute name="sex">f</attribute></box>`
	cvatTurned  = `<box label="cat" occluded="0" xtl="1" ytl="1" xbr="5" ybr="3" rotation="90.0"></box>`
	cvatPolygon = `<polygon label="dog &amp; co" occluded="0" points="1.00,1.00;3.00,1.00;3.00,3.5" z_order="0"/>`
	cvatMask    = `<mask label="cat" occluded="0" rle="1, 2, 2, 1" left="6" top="1" width="3" height="2"/>`
)

func TestCVAT(t *testing.T) {
	files := tree{
		"data/train/a.jpg": "", "data/train/b.jpg": "", "annotations.xml": cvatText(
			cvatImage("train/a.jpg", cvatBox, cvatTurned, `<tag label="sunny" source="manual"/>`, cvatPolygon,
				`<polyline label="lane" points="0,0;1,2"/>`, `<points label="eye" occluded="0" points="0.5,1;2,3"/>`, `<unknown/>`, cvatMask),
			cvatImage("train/b.jpg"), cvatImage("gone.jpg")),
	}
	set := files.open(t, "", nil)
	names := []string{}
	for _, spec := range set.Tensors() {
		names = append(names, spec.Name)
	}
	want := []string{"boxes", "labels", "polygons", "masks", "occluded", "attributes", "points", "point_labels", "polylines", "polyline_labels", "tags", "split"}
	if !slices.Equal(names, want) {
		t.Errorf("tensors: %q", names)
	}
	if got := set.Tensors()[1].ClassNames; !slices.Equal(got, []string{"cat", "dog & co"}) {
		t.Errorf("classes: %q", got)
	}
	p := Picture{"data/train/a.jpg", 8, 4}
	r := read(t, set, p)
	for name, want := range map[string][]float64{"boxes": {.5, 1, 3, 2.25, 2, 0, 4, 4, 1, 1, 3, 3.5, 6, 1, 9, 3}, "occluded": {1, 0, 0, 0}} {
		if got := numbers(t, value(t, r, name).Sample); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"attributes": `[{"age":"3","sex":"f"},{},{},{}]`, "points": "[[[0.5,1],[2,3]]]", "polylines": "[[[0,0],[1,2]]]", "split": "train",
	} {
		if got := string(value(t, r, name).Sample.Data); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, want := range map[string][]string{"labels": {"cat", "cat", "dog & co", "cat"}, "tags": {"sunny"}, "point_labels": {"eye"}, "polyline_labels": {"lane"}} {
		if got := value(t, r, name).Names; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	items := value(t, r, "polygons").Items
	if got := numbers(t, items[1]); items[0].Shape.String() != "(0, 2)" || !slices.Equal(got, []float64{4, 0, 4, 4, 2, 4, 2, 0}) || items[2].Shape.String() != "(3, 2)" {
		t.Errorf("polygons: %v %v", items, got)
	}
	masks := value(t, r, "masks").Sample
	got := []int{}
	for i := 3; i < len(masks.Data); i += 4 {
		if masks.Data[i] == 1 {
			got = append(got, i/4)
		}
	}
	// The runs of rows 1 and 2 from column 6: .XX and ..X, of which column 8 lies outside.
	if masks.Shape.String() != "(4, 8, 4)" || !slices.Equal(got, []int{8 + 7}) || r.Objects != 7 {
		t.Errorf("masks: %s %v, %d objects", masks.Shape, got, r.Objects)
	}
	r = read(t, set, Picture{"data/train/b.jpg", 8, 4})
	if got := value(t, r, "masks").Sample.Shape.String(); got != "(4, 8, 0)" || string(value(t, r, "points").Sample.Data) != "[]" {
		t.Errorf("a picture without shapes: %s", got)
	}
	lost := []string{}
	set.Lost("", func(key string) { lost = append(lost, key) })
	if !slices.Equal(lost, []string{"train/gone.jpg"}) || set.Has("data/val/a.jpg") || !set.Uses("annotations.xml") || set.Uses("data/train/a.jpg") {
		t.Errorf("lost %q", lost)
	}
	set.Lost("u", func(key string) { t.Errorf("lost behind u: %q", key) })
	if _, all := set.Faults(); all != 0 {
		t.Errorf("%d faults", all)
	}
	// Pictures of one name in the folders of two subsets.
	twins := cvatText(strings.Replace(cvatImage("a.jpg", cvatBox), `"train"`, `"val"`, 1), cvatImage("a.jpg", cvatPolygon))
	apart := tree{"images/train/a.jpg": "", "images/val/a.jpg": "", "annotations.xml": twins}.open(t, "", nil)
	for key, label := range map[string]string{"images/val/a.jpg": "cat", "images/train/a.jpg": "dog & co"} {
		if got := value(t, read(t, apart, Picture{key, 8, 4}), "labels").Names; !slices.Equal(got, []string{label}) {
			t.Errorf("%s: %q", key, got)
		}
	}
	if _, err := set.Read(context.Background(), Picture{p.Key, 1 << 20, 1 << 20}); !errs.Is(err, errs.Invalid) {
		t.Errorf("large masks: %v", err)
	}
	if _, err := set.Read(context.Background(), Picture{"x.jpg", 8, 4}); !errs.Is(err, errs.NotFound) {
		t.Errorf("another picture: %v", err)
	}
}

func TestCVATTensors(t *testing.T) {
	for shapes, want := range map[string]string{
		"":                                      "boxes labels",
		`<tag label="x"/>`:                      "tags",
		`<points label="x" points="1,2"/>`:      "points point_labels",
		`<polyline label="x" points="1,2"/>`:    "polylines polyline_labels",
		`<polygon label="x" points="1,2;3,4"/>`: "boxes labels polygons masks",
		`<box label="x" xtl="1" ytl="1" xbr="2" ybr="2"/>`: "boxes labels",
		cvatBox:  "boxes labels occluded attributes",
		cvatMask: "boxes labels masks occluded",
	} {
		files := tree{"images/a.jpg": "", "sub/annotations.xml": `<annotations><image name="a.jpg">` + shapes + "</image></annotations>"}
		set := files.open(t, "cvat", func(p *Place) { p.Masks = true })
		names := []string{}
		for _, spec := range set.Tensors() {
			names = append(names, spec.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", shapes, got, want)
		}
		if r := read(t, set, Picture{"images/a.jpg", 9, 9}); len(r.Values) != len(names) {
			t.Errorf("%s: %d values of %q", shapes, len(r.Values), names)
		}
	}
}

func TestCVATFaults(t *testing.T) {
	const of = ` of image "a.jpg" `
	for shape, want := range map[string]string{
		`<box label="x" xtl="a" ytl="1" xbr="2" ybr="2"/>`:                                `box 1` + of + `has "a" for xtl, want a number`,
		`<box label="x" xtl="1" ytl="1" xbr="2"/>`:                                        `box 1` + of + `has "" for ybr, want a number`,
		`<box label="x" xtl="1" ytl="nan" xbr="2" ybr="2"/>`:                              `box 1` + of + `has NaN for ytl, want a coordinate`,
		`<box label="x" xtl="1" ytl="1" xbr="2e9" ybr="2"/>`:                              `box 1` + of + `has 2e+09 for xbr, want a coordinate`,
		`<box label="x" xtl="1" ytl="1" xbr="2" ybr="2" rotation="?"/>`:                   `box 1` + of + `has "?" for rotation, want a number`,
		`<box xtl="1" ytl="1" xbr="2" ybr="2"/>`:                                          `box 1` + of + `has no label`,
		`<polygon label="x" points=" "/>`:                                                 `polygon 1` + of + `has no points`,
		`<polyline label="x" points="1,2;3"/>`:                                            `polyline 1` + of + `has the point "3", want x and y with a comma between`,
		`<points label="x" points="1,2;3,4,5"/>`:                                          `points 1` + of + `has "4,5" for points, want a number`,
		`<mask label="x" rle="1,1" left="0" top="0" width="0" height="2"/>`:               `mask 1` + of + `has "0" for width, want an integer from 1 to 1048576`,
		`<mask label="x" rle="1,1" left="-1" top="0" width="1" height="2"/>`:              `mask 1` + of + `has "-1" for left, want an integer from 0 to 1048576`,
		`<mask label="x" rle="1,1" left="0" top="0" width="1" height="3"/>`:               `mask 1` + of + `the runs of its mask have 2 pixels, want 1 x 3`,
		`<mask label="x" rle="1,3" left="0" top="0" width="1" height="3"/>`:               `mask 1` + of + `run 1 of its mask has 3 pixels, and the mask 1 x 3`,
		`<mask label="x" rle="1,-1,3" left="0" top="0" width="1" height="3"/>`:            `mask 1` + of + `has the run "-1" in its mask, want the number of its pixels`,
		`<mask label="x" left="0" top="0" width="1" height="3"/>`:                         `mask 1` + of + `has the run "" in its mask, want the number of its pixels`,
		`<ellipse label="x" cx="1" cy="1" rx="1" ry="1"/>`:                                `ellipse 1` + of + `is no shape that can be taken, want a box, a polygon, a polyline, points, a mask or a tag`,
		`<skeleton label="x"><points label="1" points="1,2"/></skeleton>`:                 `skeleton 1` + of + `is no shape that can be taken, want a box, a polygon, a polyline, points, a mask or a tag`,
		`</image><image name="">`:                                                         `image 1 has "" for a name, want the name of a picture`,
		`</image><image subset="train" name="./a.jpg">`:                                   `image 1 has the picture "./a.jpg", as one before`,
		`</image><image name="b.jpg">` + strings.Repeat(`<tag label="x"/>`, maxObjects+1): `image 1 has more than 100000 shapes`,
	} {
		set := tree{"a.jpg": "", "annotations.xml": cvatText(cvatImage("a.jpg", cvatBox, shape))}.open(t, "cvat", nil)
		first, all := set.Faults()
		if all != 1 || first[0] != (Fault{"annotations.xml", want}) {
			t.Errorf("%.100s: %q, want %q", shape, first, want)
		}
		if r := read(t, set, Picture{"a.jpg", 8, 8}); r.Objects != 1 {
			t.Errorf("%.100s: %d objects", shape, r.Objects)
		}
	}
}

func TestCVATErrors(t *testing.T) {
	whole := cvatText(cvatImage("a.jpg", cvatBox))
	for name, c := range map[string]struct {
		text, file string
		want       errs.Kind
	}{
		"cut":         {whole[:len(whole)-20], "", errs.Corrupt},
		"two roots":   {whole + "<x/>", "", errs.Corrupt},
		"an entity":   {cvatText("&e;"), "", errs.Corrupt},
		"a type":      {"<annotations><!DOCTYPE x></annotations>", "", errs.Invalid},
		"Latin-1":     {`<?xml version="1.0" encoding="ISO-8859-1"?><annotations/>`, "annotations.xml", errs.Invalid},
		"a version":   {`<annotations><?xml version="2.0"?></annotations>`, "", errs.Corrupt},
		"deep values": {"<annotations>" + strings.Repeat("<x>", maxNesting), "", errs.Invalid},
		"a long text": {cvatText(cvatImage("a.jpg", "<tag><attribute>"+strings.Repeat("x", maxText+1)+"</attribute></tag>")), "", errs.Invalid},
		"a video":     {cvatText(`<track id="0"><box/></track>`), "", errs.Unsupported},
		"another":     {"<annotation/>", "", errs.NotFound},
		"one asked":   {"<annotation/>", "annotations.xml", errs.Invalid},
		"nothing":     {"", "", errs.NotFound},
		"a name":      {whole, "b.xml", errs.NotFound},
	} {
		p := tree{"a.jpg": "", "annotations.xml": c.text}.place()
		p.File = c.file
		if _, _, err := Open(context.Background(), "cvat", p); !errs.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Open(ctx, "cvat", tree{"annotations.xml": whole}.place()); !errs.Is(err, errs.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// The tag has one byte more than fits.
	s := newXMLStream(strings.NewReader("<x>" + strings.Repeat(" ", maxElement+1) + "</x>"))
	if _, err := s.root(); err != nil {
		t.Fatal(err)
	}
	if err := s.skip(); !errs.Is(err, errs.Invalid) {
		t.Errorf("a long text: %v", err)
	}
}

func TestTurned(t *testing.T) {
	half := float32(math.Sqrt(2))
	for degrees, want := range map[float64][]float32{
		0: {-1, -1, 1, -1, 1, 1, -1, 1}, 90: {1, -1, 1, 1, -1, 1, -1, -1}, -90: {-1, 1, -1, -1, 1, -1, 1, 1}, 540: {1, 1, -1, 1, -1, -1, 1, -1},
		45: {0, -half, half, 0, 0, half, -half, 0},
	} {
		got := turned(-1, -1, 1, 1, 0, 0, degrees)
		for i, v := range want {
			if math.Abs(float64(got[i]-v)) > 1e-6 {
				t.Errorf("%v degrees: %v, want %v", degrees, got, want)
			}
		}
	}
}

// checkDrawn fails if a row's values do not belong to the same objects.
func checkDrawn(t *testing.T, set Set, p Picture) {
	if !set.Has(p.Key) {
		return
	}
	r, err := set.Read(context.Background(), p)
	if err != nil {
		return
	}
	if len(r.Values) > len(set.Tensors()) {
		t.Fatalf("%d values of %d tensors", len(r.Values), len(set.Tensors()))
	}
	n := int64(-1)
	for _, v := range r.Values {
		if v.Tensor == "labels" {
			n = int64(len(v.Names))
		}
	}
	for _, v := range r.Values {
		got := n
		switch v.Tensor {
		case "boxes", "occluded":
			got = v.Sample.Shape[0]
		case "masks":
			got = v.Sample.Shape[2]
		case "polygons":
			got = int64(len(v.Items))
		}
		if got != n {
			t.Fatalf("%d values in %s of %d objects", got, v.Tensor, n)
		}
		if v.Tensor == "boxes" && slices.ContainsFunc(numbers(t, v.Sample), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			t.Fatalf("boxes: %v", numbers(t, v.Sample))
		}
	}
}

// FuzzCVAT reads forged files. A row has as many boxes as labels, outlines and masks.
func FuzzCVAT(f *testing.F) {
	f.Add([]byte(cvatText(cvatImage("a.jpg", cvatBox, cvatTurned, cvatPolygon, cvatMask))))
	f.Add([]byte(`<annotations><image name="a.jpg"><tag label="x"/><points label="x" points="1,2"/><polyline label="y" points="1,2"/></image></annotations>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tree{"a.jpg": "", "annotations.xml": string(data)}.place()
		p.Masks = true
		set, _, err := Open(context.Background(), "cvat", p)
		if err != nil {
			return
		}
		checkDrawn(t, set, Picture{"x/a.jpg", 9, 7})
		set.Lost("", func(string) {})
	})
}
