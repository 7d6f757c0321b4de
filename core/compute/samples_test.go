package compute

import (
	"testing"

	"deeplake/core/array/arraytest"
)

func TestSamplesAreSound(t *testing.T) {
	for name, c := range arraytest.Samples() {
		if s := arraytest.Flaw(c); s != "" {
			t.Error(name, s)
		}
		if s := arraytest.Flaw(arraytest.RaggedForm(c)); s != "" {
			t.Error(name, s)
		}
		if got, want := arraytest.Show(arraytest.RaggedForm(c), nil), arraytest.Show(c, nil); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
