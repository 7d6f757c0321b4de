package media_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/media"
	"deeplake/core/media/matroska"
	"deeplake/core/media/mp4"
)

// TestExtensions: files get the extension of their content, and names are told in any case.
func TestExtensions(t *testing.T) {
	t.Parallel()
	all := media.Containers{mp4.File{}, matroska.File{}}
	files, err := filepath.Glob("m*/testdata/*.m*")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	webm, err := filepath.Glob("matroska/testdata/*.webm")
	if err != nil || len(webm) < 5 {
		t.Fatalf("%d files: %v", len(webm), err)
	}
	for _, name := range append(files, webm...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(filepath.Ext(name), ".json")
		if want == "" || want == ".mka" {
			continue
		}
		if got := all.Extension(data); got != want {
			t.Errorf("%s: %q", name, got)
		}
		if got := all.Extension(data[:media.HeadBytes]); got != want {
			t.Errorf("%s: %q by its first bytes", name, got)
		}
	}
	for head, want := range map[string]string{
		"\x00\x00\x00\x14ftypM4V \x00\x00\x00\x01": ".m4v", "\x00\x00\x00\x14ftypqt  ": ".mov", "\x00\x00\x10\x00moov\x00\x00\x00\x6cmvhd": ".mov",
		"\x00\x00\x00\x18styp\x00\x00\x00\x00": ".mp4", "\x1aE\xdf\xa3": ".mkv", "\x1aE\xdf\xa3\x81B\x82": ".mkv", "": "", "a text that is none": "",
	} {
		if got := all.Extension([]byte(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
	for name, want := range map[string]bool{".mp4": true, ".MOV": true, ".M4v": true, ".mkv": true, ".WEBM": true, ".mka": false, ".jpg": false, "": false, "mp4": false} {
		if all.Named(name) != want || media.Containers(nil).Named(name) {
			t.Errorf("%q: named is %v, want %v", name, all.Named(name), want)
		}
	}
}
