package tests

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

var redraw = flag.Bool("redraw", false, "write docs/architecture.svg anew")

// TestArchitectureDrawing holds docs/architecture.svg against the import table: the boxes are the
// rows of the package table of ARCHITECTURE.md, the arrows the imports that packageRules permits.
// An arrow is left out where a longer way says the same. `-redraw` writes the drawing again.
func TestArchitectureDrawing(t *testing.T) {
	t.Parallel()
	want := draw(architecture(t))
	const file = "../../docs/architecture.svg"
	if *redraw {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/architecture.svg differs from the import table; run: go test ./go/tests -run TestArchitectureDrawing -args -redraw")
	}
}

// box is one row of the package table, or a bend of an arrow that crosses a layer.
type box struct {
	name, owns string
	members    []string // the packages that the box stands for; none for a bend
	imports    []*box
	layer      int // 0 is at the top
	x          float64
}

// architecture returns the boxes of the drawing with their imports, without those that other
// imports imply.
func architecture(t *testing.T) []*box {
	boxes := packageTable(t)
	owner := map[string]*box{}
	for _, b := range boxes {
		for _, dir := range b.members {
			owner[dir] = b
		}
	}
	for _, r := range packageRules {
		from := owner[r.dir]
		for _, dir := range r.project {
			if to := owner[dir]; from != nil && to != nil && to != from && !slices.Contains(from.imports, to) {
				from.imports = append(from.imports, to)
			}
		}
	}
	layers := [][2]string{{"python/deeplake", "python/src"}, {"python/src", "capi"}}
	for _, pair := range layers {
		owner[pair[0]].imports = append(owner[pair[0]].imports, owner[pair[1]])
	}
	for _, b := range boxes {
		direct := b.imports
		b.imports = slices.DeleteFunc(slices.Clone(direct), func(to *box) bool {
			return slices.ContainsFunc(direct, func(by *box) bool { return by != to && reaches(by, to) })
		})
	}
	return boxes
}

// reaches tells whether from imports to, directly or through others.
func reaches(from, to *box) bool {
	return slices.ContainsFunc(from.imports, func(next *box) bool { return next == to || reaches(next, to) })
}

// packageTable reads the package table of ARCHITECTURE.md, without packages that only serve tests
// or that every other package uses.
func packageTable(t *testing.T) []*box {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| package | owns | does not touch |\n|---|---|---|\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no package table")
	}
	var boxes []*box
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		name := strings.Trim(cells[1], " `")
		if strings.Contains(name, "internal") || strings.HasSuffix(name, "test") || name == "cuda" {
			continue
		}
		b := &box{name: name, owns: strings.ReplaceAll(strings.TrimSpace(cells[2]), "`", ""), members: []string{name}}
		if base, list, several := strings.Cut(strings.TrimSuffix(name, "}"), "{"); several {
			b.members = nil
			for _, last := range strings.Split(list, ",") {
				b.members = append(b.members, base+last)
			}
		}
		boxes = append(boxes, b)
	}
	return boxes
}

const (
	boxWidth, bendWidth, boxGap = 206.0, 6.0, 16.0
	boxHeight, layerHeight      = 76.0, 124.0
	drawingMargin               = 20.0
)

// draw lays the boxes out in layers, importers above the packages that they import, and returns
// the picture as SVG.
func draw(boxes []*box) string {
	layers := layered(boxes)
	for range 12 {
		for _, layer := range layers {
			arrange(layers, layer)
		}
		for _, layer := range slices.Backward(layers) {
			arrange(layers, layer)
		}
	}
	left, right := math.Inf(1), math.Inf(-1)
	for _, layer := range layers {
		for _, b := range layer {
			left, right = min(left, b.x-width(b)/2), max(right, b.x+width(b)/2)
		}
	}
	var out strings.Builder
	w, h := right-left+2*drawingMargin, float64(len(layers))*layerHeight-layerHeight+boxHeight+2*drawingMargin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="system-ui, sans-serif" role="img" aria-label="Packages and the direction of their imports">
<style>
  .bg{fill:#fff} .box{fill:#eef4fb;stroke:#2b6cb0;stroke-width:1.5} .n{font-size:13px;font-weight:600;fill:#1a202c} .t{font-size:11px;fill:#4a5568}
  .a{stroke:#718096;stroke-width:1.3;fill:none} .e{marker-end:url(#h)} .hd{fill:#718096}
  @media (prefers-color-scheme: dark){.bg{fill:#11161d}.box{fill:#1b2a3d;stroke:#63a4e6}.n{fill:#edf2f7}.t{fill:#a0aec0}.a{stroke:#8a97a8}.hd{fill:#8a97a8}}
</style>
<defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="hd" d="M0 0 L8 4 L0 8 Z"/></marker></defs>
<rect class="bg" width="%.0f" height="%.0f"/>
`, w, h, w, h)
	for _, layer := range layers {
		for _, b := range layer {
			drawImports(&out, b, left)
		}
	}
	for _, layer := range layers {
		for _, b := range layer {
			drawBox(&out, b, left)
		}
	}
	return out.String() + "</svg>\n"
}

// layered returns the boxes by layer. A box lies directly above the highest box that it imports.
// Arrows that cross a layer get a bend there.
func layered(boxes []*box) [][]*box {
	depth := 0
	for _, b := range boxes {
		depth = max(depth, height(b))
	}
	layers := make([][]*box, depth+1)
	add := func(b *box, layer int) {
		b.layer = layer
		layers[layer] = append(layers[layer], b)
	}
	for _, b := range boxes {
		add(b, depth-height(b))
	}
	for _, b := range boxes {
		for i, to := range b.imports {
			for layer := to.layer - 1; layer > b.layer; layer-- {
				bend := &box{imports: []*box{to}}
				add(bend, layer)
				to = bend
			}
			b.imports[i] = to
		}
	}
	return layers
}

// height is the length of the longest way down from b.
func height(b *box) int {
	h := 0
	for _, to := range b.imports {
		h = max(h, height(to)+1)
	}
	return h
}

// arrange sorts the boxes of a layer by the mean place of their neighbours, and spreads them.
func arrange(layers [][]*box, layer []*box) {
	wish := map[*box]float64{}
	for i, b := range layer {
		sum, n := 0.0, 0
		for _, to := range b.imports {
			sum, n = sum+to.x, n+1
		}
		if b.layer > 0 {
			for _, from := range layers[b.layer-1] {
				if slices.Contains(from.imports, b) {
					sum, n = sum+from.x, n+1
				}
			}
		}
		wish[b] = float64(i) // only the first round has boxes without a place
		if n > 0 {
			wish[b] = sum / float64(n)
		}
	}
	slices.SortStableFunc(layer, func(a, b *box) int {
		return int(math.Copysign(1, wish[a]-wish[b])) * boolInt(wish[a] != wish[b])
	})
	total, shift := -boxGap, 0.0
	for _, b := range layer {
		b.x = total + boxGap + width(b)/2
		total += boxGap + width(b)
		shift += wish[b] - b.x
	}
	for _, b := range layer {
		b.x += shift / float64(len(layer))
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// width is the width of a box or bend.
func width(b *box) float64 {
	if b.members == nil {
		return bendWidth
	}
	return boxWidth
}

// top is the upper edge of a box or bend.
func (b *box) top() float64 {
	return drawingMargin + float64(b.layer)*layerHeight
}

func (b *box) bottom() float64 {
	return b.top() + boxHeight
}

// drawImports writes the arrows that leave b. An arrow passes a layer upright, between its boxes.
func drawImports(out *strings.Builder, b *box, left float64) {
	if b.members == nil {
		x := b.x - left + drawingMargin
		fmt.Fprintf(out, "<path class=\"a\" d=\"M%.0f %.0f V%.0f\"/>\n", x, b.top(), b.bottom())
	}
	for _, to := range b.imports {
		class := "a"
		if to.members != nil {
			class = "a e"
		}
		x0, x1 := b.x-left+drawingMargin, to.x-left+drawingMargin
		y0, y1 := b.bottom(), to.top()
		mid := (y0 + y1) / 2
		fmt.Fprintf(out, "<path class=\"%s\" d=\"M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", class, x0, y0, x0, mid, x1, mid, x1, y1)
	}
}

// drawBox writes a box with its name and, in up to two lines, the duty of its packages.
func drawBox(out *strings.Builder, b *box, left float64) {
	if b.members == nil {
		return
	}
	x := b.x - left + drawingMargin
	fmt.Fprintf(out, "<rect class=\"box\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"6\"/>", x-boxWidth/2, b.top(), boxWidth, boxHeight)
	lines := append(folded(strings.ReplaceAll(b.name, ",", ", "), 26, 2), "")
	y := b.top() + 18
	for _, line := range lines[:len(lines)-1] {
		fmt.Fprintf(out, "<text class=\"n\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>", x, y, line)
		y += 15
	}
	for _, line := range folded(b.owns, 32, 5-len(lines)) {
		fmt.Fprintf(out, "<text class=\"t\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>", x, y, line)
		y += 14
	}
	out.WriteByte('\n')
}

// folded breaks a text into lines of n characters, and ends the last permitted line with "...".
func folded(text string, n, lines int) []string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= n:
			line += " " + word
		case len(out)+1 == lines:
			return append(out, escape(strings.TrimRight(line, ",;:"))+" ...")
		default:
			out, line = append(out, escape(line)), word
		}
	}
	return append(out, escape(line))
}
