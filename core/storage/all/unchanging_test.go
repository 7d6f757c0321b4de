package all

import "testing"

func TestUnchanging(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef0123456789abcdef"
	for key, want := range map[string]bool{
		"data/" + id + "/7": true, "map/" + id: true, "txn/" + id: true, "log/" + id + "/00000000000000000001": true,
		// A tensor of Deep Lake 3 may have any of these names, and its files change.
		"data/tensor_meta.json": false, "data/chunks/0123456789abcdef": false, "log/chunks_index/unsharded": false, "map/" + id + "0": false,
		"tsf.json": false, "hint/" + id: false, "refs/tags/data": false, "x/data/" + id: false,
	} {
		if got := unchanging(key); got != want {
			t.Errorf("unchanging(%q) is %v, want %v", key, got, want)
		}
	}
}
