package ingest

import "testing"

// TestFormatOf: archives are told by their extension; every other name may be a picture.
func TestFormatOf(t *testing.T) {
	t.Parallel()
	for key, members := range map[string]bool{
		"a/b.tar": true, "shard-0001.TAR": true, "a.jpg": false, "tar": false, "a.tar.gz": true, "a.Tar.GZ": true, "b.tgz": true,
		"a.gz": false, "tgz": false, "": false,
	} {
		if got := formatOf(key).Members; got != members {
			t.Errorf("%q: an archive is %v, want %v", key, got, members)
		}
	}
	all := formats()
	for i := range all {
		if f := &all[i]; f.Probe == nil || f.Cost == nil || f.Rows == nil {
			t.Errorf("format %d lacks a function", i)
		}
	}
	if !all[len(all)-1].Probe("anything") {
		t.Error("the last format does not take every name")
	}
}
